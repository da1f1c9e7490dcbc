//! A server's sessions by name, each with a task that carries it.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use rudp_proto::CloseReason;
use tokio::{
    io::AsyncWriteExt,
    sync::{Semaphore, mpsc},
    time::timeout,
};

use super::{
    ListenerOptions, Resumable, ResumeError, Resuming,
    event::Teller,
    link::{End, Hello, Link, code},
    session::{Session, SessionId},
};

/// Connections that wait to carry a session; only the last matters.
const MOST_WAITING: usize = 4;

/// The sessions that there are, and the way to who accepts them.
#[derive(Debug)]
pub(super) struct Sessions {
    options: ListenerOptions,
    known: Mutex<Known>,
    accept: mpsc::Sender<Resumable>, // at most `max_sessions`, of which some may be over
}

/// The ways to the sessions.
#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<SessionId, mpsc::Sender<Arrival>>,
    /// How many there have been.
    count: u64,
}

/// A client that wants to go on, and has everything up to `received`.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) link: Link,
    pub(super) received: u64,
}

impl Sessions {
    /// The second is where new ones come out.
    pub(super) fn new(options: ListenerOptions) -> (Arc<Self>, mpsc::Receiver<Resumable>) {
        let most = options.max_sessions.min(Semaphore::MAX_PERMITS);
        let (accept, accepted) = mpsc::channel(most);
        let sessions = Arc::new(Self {
            options,
            known: Mutex::default(),
            accept,
        });
        (sessions, accepted)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().by_id.len()
    }

    /// Ends all: their tasks see that nobody can come back.
    pub(super) fn end(&self) {
        self.lock().by_id.clear();
    }

    /// The way to a session, which may be new.
    pub(super) fn find(
        self: &Arc<Self>,
        hello: &Hello,
    ) -> Result<mpsc::Sender<Arrival>, (u64, &'static str)> {
        let mut known = self.lock();
        let Known { by_id, count } = &mut *known;
        let open = by_id.len();
        match by_id.entry(hello.session) {
            Entry::Occupied(way) => Ok(way.get().clone()),
            Entry::Vacant(_) if !hello.is_new => Err((code::UNKNOWN, "no such session")),
            Entry::Vacant(_)
                if open >= self.options.max_sessions || self.accept.capacity() == 0 =>
            {
                Err((code::FULL, "no room for one more session"))
            }
            Entry::Vacant(place) => {
                let (way, arrivals) = mpsc::channel(MOST_WAITING);
                place.insert(way.clone());
                let teller = Teller {
                    session: *count,
                    observe: self.options.observe.clone(),
                };
                *count += 1;
                let session = Session::new(hello.session, self.options.buffer, teller);
                let session = Arc::new(session);
                // An error: nobody accepts any more, and the handle is dropped.
                _ = self.accept.try_send(Resumable::new(session.clone()));
                let lifetime = self.options.lifetime;
                tokio::spawn(run(session, arrivals, lifetime, Arc::downgrade(self)));
                Ok(way)
            }
        }
    }
}

/// Carries a session over one connection after the other, and forgets it at last.
async fn run(
    session: Arc<Session>,
    mut arrivals: mpsc::Receiver<Arrival>,
    lifetime: Duration,
    sessions: Weak<Sessions>,
) {
    if let Some(error) = carry(&session, &mut arrivals, lifetime).await {
        session.fail(error);
    }
    if let Some(sessions) = sessions.upgrade() {
        sessions.lock().by_id.remove(&session.id);
    }
}

/// Says why the session ended before its time, if it did.
async fn carry(
    session: &Session,
    arrivals: &mut mpsc::Receiver<Arrival>,
    lifetime: Duration,
) -> Option<ResumeError> {
    let mut next = None;
    loop {
        let arrival = match next.take() {
            Some(arrival) => arrival,
            None => {
                let abandoned = session.until(|state| state.is_abandoned().then_some(()));
                tokio::select! {
                    arrival = timeout(lifetime, arrivals.recv()) => match arrival {
                        Ok(Some(arrival)) => arrival,
                        Ok(None) => return Some(ResumeError::Shutdown),
                        Err(_) if session.lock().is_over() => return None,
                        Err(_) => {
                            let unread = session.lock().outgoing.unread();
                            return Some(ResumeError::Expired { unread });
                        }
                    },
                    () = abandoned => return None,
                }
            }
        };
        let Arrival { mut link, received } = arrival;
        let answer = session.lock().incoming.received();
        let Ok(carried) = session.resume(received) else {
            link.connection
                .abort(code::PROTOCOL, "not a position of this session");
            return Some(ResumeError::Protocol);
        };
        session.teller.tell(carried);
        if link.send.write_u64(answer).await.is_err() {
            link.connection.abort(0, "no answer"); // if it is not over already
            let reason = link.connection.closed().await;
            session.teller.tell(Resuming::CutOff(reason));
            continue;
        }
        let connection = link.connection.clone();
        let end = tokio::select! {
            end = link.carry(session) => end,
            newer = arrivals.recv() => {
                connection.abort(0, "replaced by a newer connection");
                match newer {
                    Some(_) => {
                        let reason = connection.closed().await;
                        session.teller.tell(Resuming::CutOff(reason));
                        next = newer;
                    }
                    None => return Some(ResumeError::Shutdown),
                }
                continue;
            }
        };
        match end {
            End::Complete | End::Abandoned => return None,
            End::Protocol => return Some(ResumeError::Protocol),
            End::Lost(CloseReason::Peer { code, .. }) if code == code::DROPPED => {
                return Some(ResumeError::Dropped);
            }
            End::Lost(CloseReason::Peer { code, .. }) if code == code::PROTOCOL => {
                return Some(ResumeError::Protocol);
            }
            End::Lost(reason) => session.teller.tell(Resuming::CutOff(reason)), // it will come back
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sessions_that_end_before_they_are_accepted_do_not_pile_up() {
        let options = ListenerOptions {
            max_sessions: 2,
            ..ListenerOptions::default()
        };
        let (sessions, mut accepted) = Sessions::new(options);
        let find = |name| {
            let hello = Hello {
                session: [name; 16],
                received: 0,
                is_new: true,
            };
            sessions.find(&hello).map(drop).map_err(|(code, _)| code)
        };
        for name in 0..2 {
            assert_eq!(find(name), Ok(()));
            sessions.lock().by_id.clear(); // it is over
        }
        assert_eq!(find(2), Err(code::FULL));
        assert!(accepted.recv().await.is_some());
        assert_eq!(find(2), Ok(()));
    }
}
