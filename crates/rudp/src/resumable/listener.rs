//! The server's side: sessions by name, and the clients that come back to them.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use rudp_proto::CloseReason;
use tokio::{
    io::AsyncReadExt,
    io::AsyncWriteExt,
    sync::{self, Semaphore, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{
    Resumable, ResumeError, ResumeEvent, Resuming,
    event::Teller,
    link::{End, Hello, Link, code},
    session::{Session, SessionId},
};
use crate::{Connection, Endpoint, Observer};

/// How long a client may take to say which session it wants: 10 s.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that wait to carry a session; only the last matters.
const MOST_WAITING: usize = 4;

/// Settings of a [`ResumableListener`].
#[derive(Clone)]
pub struct ListenerOptions {
    /// The most bytes kept in each direction of a session; default 4 MiB, 0 counts as 1.
    pub buffer: usize,
    /// How long a session waits for its client; default 10 minutes.
    pub lifetime: Duration,
    /// How many sessions there may be, and how many may wait for
    /// [`accept`](ResumableListener::accept), those that are over included; default 1,024. A client
    /// with one more is refused, and tries again later.
    pub max_sessions: usize,
    /// Hears of each connection that carries a session, and of its loss; default: nobody.
    pub observe: Option<Observer<ResumeEvent>>,
}

impl fmt::Debug for ListenerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenerOptions")
            .field("buffer", &self.buffer)
            .field("lifetime", &self.lifetime)
            .field("max_sessions", &self.max_sessions)
            .finish_non_exhaustive()
    }
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            buffer: 4 << 20,
            lifetime: Duration::from_secs(600),
            max_sessions: 1024,
            observe: None,
        }
    }
}

/// Accepts [`Resumable`]s, and the connections of clients that come back.
///
/// Dropping it ends all sessions at once: nobody could come back to them.
#[derive(Debug)]
pub struct ResumableListener {
    sessions: Arc<Sessions>,
    accepted: sync::Mutex<mpsc::Receiver<Resumable>>,
    serving: Mutex<Option<Serving>>,
}

/// A task that accepts at an endpoint; it ends when `stop` is dropped.
#[derive(Debug)]
struct Serving {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Sessions {
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
struct Arrival {
    link: Link,
    received: u64,
}

impl ResumableListener {
    /// Starts to accept at an endpoint. Must be called within a runtime.
    #[must_use]
    pub fn start(endpoint: Endpoint, options: ListenerOptions) -> Self {
        let (sessions, accepted) = Sessions::new(options);
        let listener = Self {
            sessions,
            accepted: sync::Mutex::new(accepted),
            serving: Mutex::new(None),
        };
        listener.replace(endpoint);
        listener
    }

    /// Waits for the next new session. Cancel-safe.
    pub async fn accept(&self) -> Option<Resumable> {
        self.accepted.lock().await.recv().await
    }

    /// Goes on with another endpoint, and the sessions with it. The old one and its connections end
    /// as by [`Endpoint::abandon`].
    pub fn replace(&self, endpoint: Endpoint) {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(endpoint, self.sessions.clone(), stopped));
        *self.serving() = Some(Serving { stop, task });
    }

    /// Ends the endpoint and its connections so, and returns when the port is free; the sessions
    /// wait for [`replace`](Self::replace).
    pub async fn stop(&self) {
        let serving = self.serving().take();
        if let Some(Serving { stop, task }) = serving {
            drop(stop);
            _ = task.await; // an error: the runtime ends
        }
    }

    fn serving(&self) -> MutexGuard<'_, Option<Serving>> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many sessions it knows.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.lock().by_id.len()
    }
}

impl Drop for ResumableListener {
    fn drop(&mut self) {
        *self.serving() = None;
        self.sessions.lock().by_id.clear(); // their tasks see that nobody can come back
    }
}

async fn serve(endpoint: Endpoint, sessions: Arc<Sessions>, mut stop: oneshot::Receiver<()>) {
    loop {
        let accepted = tokio::select! {
            accepted = endpoint.accept() => accepted,
            _ = &mut stop => None,
        };
        match accepted {
            Some(connection) => drop(tokio::spawn(greet(connection, sessions.clone()))),
            None => return endpoint.abandon().await,
        }
    }
}

/// Takes a client's hello and gives the connection to its session.
async fn greet(connection: Connection, sessions: Arc<Sessions>) {
    let hello = async {
        let (send, mut recv) = connection.accept_stream().await.ok()?;
        let mut hello = [0; Hello::LENGTH];
        recv.read_exact(&mut hello).await.ok()?;
        Some((send, recv, Hello::decode(&hello)))
    };
    let Ok(Some((send, recv, Some(hello)))) = timeout(HELLO_TIMEOUT, hello).await else {
        return connection.abort(code::PROTOCOL, "no hello of a session");
    };
    let way = match sessions.find(&hello) {
        Ok(way) => way,
        Err((code, why)) => return connection.abort(code, why),
    };
    let link = Link {
        connection,
        send,
        recv,
    };
    let received = hello.received;
    // An error: the session has ended just now, and the connection with it.
    _ = way.send(Arrival { link, received }).await;
}

impl Sessions {
    /// The second is where new ones come out.
    fn new(options: ListenerOptions) -> (Arc<Self>, mpsc::Receiver<Resumable>) {
        let most = options.max_sessions.clamp(1, Semaphore::MAX_PERMITS);
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

    /// The way to a session, which may be new.
    fn find(self: &Arc<Self>, hello: &Hello) -> Result<mpsc::Sender<Arrival>, (u64, &'static str)> {
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
                        session.teller.tell(Resuming::CutOff(CloseReason::Local));
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
