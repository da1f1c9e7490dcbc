//! The client's side: it dials, and dials again.

use std::{fmt, net::SocketAddr, sync::Arc};

use grpc_backoff::{Failure, Reconnector};
use rudp_proto::CloseReason;

use super::{
    Resumable, ResumeError, ResumeEvent, Resuming,
    event::Teller,
    link::{End, Hello, Link, code, read_answer},
    session::Session,
};
use crate::{
    ConnectError, Endpoint, EndpointOptions, Observer, OptionsError, StreamError,
    attempt::AttemptLog, last_rtt::LastRtt,
};

/// Settings of [`Resumable::connect`].
#[derive(Clone)]
pub struct ResumableOptions {
    /// Settings of the endpoint, one for each connection: the route, and with it this side's
    /// address, may change. `config.idle_timeout` is how long a dead path goes unnoticed, and a server
    /// that was restarted with another `reset_key`. In place of `config.rto.initial_rto` each
    /// connection but the first has the RTO that the last one's round trip makes: `min_rto` or more,
    /// and at most 3 s, or the initial RTO if that is longer (`rto-family.md` T5). The default, with a
    /// floor of 1 s, so repeats a Hello later on a slow path; [`rto::Config::GAMES`], with one of 200 ms,
    /// also sooner on a fast one.
    pub endpoint: EndpointOptions,
    /// When to dial again; default [`grpc_backoff::Config::GRPC`], without a limit. Nothing else
    /// decides that.
    pub backoff: grpc_backoff::Config,
    /// The most bytes kept in each direction; default 4 MiB, 0 counts as 1. The sum of both sides'
    /// is what a path can hold: its rate times its round trip.
    pub buffer: usize,
    /// Hears of every attempt to connect, of each connection that carries the session, and of its
    /// loss; default: nobody.
    pub observe: Option<Observer<ResumeEvent>>,
}

impl fmt::Debug for ResumableOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumableOptions")
            .field("endpoint", &self.endpoint)
            .field("backoff", &self.backoff)
            .field("buffer", &self.buffer)
            .finish_non_exhaustive()
    }
}

impl Default for ResumableOptions {
    fn default() -> Self {
        Self {
            endpoint: EndpointOptions::default(),
            backoff: grpc_backoff::Config::GRPC,
            buffer: 4 << 20,
            observe: None,
        }
    }
}

/// Why an attempt to go on failed.
#[derive(Debug)]
enum DialError {
    Socket(std::io::Error),
    Connect(ConnectError),
    Refused(CloseReason),
    Answer,
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) => error.fmt(f),
            Self::Connect(error) => error.fmt(f),
            Self::Refused(reason) => reason.fmt(f),
            Self::Answer => f.write_str("the server's answer breaks the rules of sessions"),
        }
    }
}

impl DialError {
    /// Why the session is over with this, if it is.
    fn verdict(&self, session: &Session) -> Option<ResumeError> {
        match self {
            Self::Refused(reason) => verdict(reason, session),
            Self::Answer => Some(ResumeError::Protocol),
            _ => None,
        }
    }
}

/// What the end of a connection means for the session, if it is not only a connection lost.
fn verdict(reason: &CloseReason, session: &Session) -> Option<ResumeError> {
    match reason {
        CloseReason::Peer { code, .. } => match *code {
            code::UNKNOWN => {
                let unread = session.lock().outgoing.unread();
                Some(ResumeError::SessionUnknown { unread })
            }
            code::DROPPED => Some(ResumeError::Dropped),
            code::PROTOCOL => Some(ResumeError::Protocol),
            _ => None, // among others FULL: there may be room later
        },
        _ => None,
    }
}

impl Resumable {
    /// Begins a session with a [`ResumableListener`](super::ResumableListener) at `server`, and
    /// connects in the background. Must be called within a runtime.
    ///
    /// # Errors
    ///
    /// The settings of the transport or of the backoff are refused.
    pub fn connect(server: SocketAddr, options: ResumableOptions) -> Result<Self, OptionsError> {
        options.endpoint.config.check()?;
        let teller = Teller {
            session: 0,
            observe: options.observe,
        };
        let log = AttemptLog::new(options.endpoint.clock);
        let session = Arc::new(Session::new(rand::random(), options.buffer, teller.clone()));
        let carried = session.clone();
        let last_rtt = LastRtt::default();
        let known = last_rtt.clone();
        let dial = move |_: grpc_backoff::Attempt| {
            let mut endpoint = options.endpoint.clone();
            known.hint(&mut endpoint.config);
            dial(server, endpoint, carried.clone())
        };
        let reconnector = Reconnector::new(options.backoff, dial)?;
        let reconnector = reconnector.on_attempt(move |report| {
            let (_, attempt) = log.record(report);
            teller.tell(Resuming::Attempt(attempt));
        });
        tokio::spawn(run(session.clone(), reconnector, last_rtt));
        Ok(Self::new(session))
    }
}

/// Carries the session over one connection after the other.
async fn run<F, Fut>(
    session: Arc<Session>,
    mut reconnector: Reconnector<(), F, Fut>,
    last_rtt: LastRtt,
) where
    F: FnMut(grpc_backoff::Attempt) -> Fut,
    Fut: Future<Output = Result<Dialed, Failure<DialError>>>,
{
    loop {
        let abandoned = session.until(|state| state.is_abandoned().then_some(()));
        let dialed = tokio::select! {
            dialed = reconnector.connect() => dialed,
            () = abandoned => return, // the server hears it from nobody, and waits for a while
        };
        let Dialed {
            endpoint,
            link,
            carried,
        } = match dialed {
            Ok(dialed) => dialed,
            Err(_) if session.lock().is_over() => return, // the server has forgotten it: it knew
            Err(grpc_backoff::Error::Refused(error)) => {
                return session.fail(error.verdict(&session).unwrap_or(ResumeError::Protocol));
            }
            Err(error) => return session.fail(ResumeError::GaveUp(error.to_string())),
        };
        session.teller.tell(carried);
        let connection = link.connection.clone();
        let end = link.carry(&session).await;
        last_rtt.learn(&connection.stats());
        match end {
            End::Complete | End::Abandoned => return endpoint.idle().await,
            End::Protocol => {
                session.fail(ResumeError::Protocol);
                return endpoint.idle().await;
            }
            End::Lost(reason) => match verdict(&reason, &session) {
                Some(error) => return session.fail(error),
                None => {
                    session.teller.tell(Resuming::CutOff(reason));
                    reconnector.lost();
                }
            },
        }
    }
}

/// What an attempt gives.
struct Dialed {
    endpoint: Endpoint,
    link: Link,
    /// How the session goes on.
    carried: Resuming,
}

/// One attempt: it succeeds once the server has answered, so that one that accepts and then refuses
/// is left alone for longer and longer.
async fn dial(
    server: SocketAddr,
    options: EndpointOptions,
    session: Arc<Session>,
) -> Result<Dialed, Failure<DialError>> {
    let failed = |error: DialError| match error.verdict(&session) {
        Some(_) => Failure::Final(error),
        None => Failure::Retry(error),
    };
    let endpoint =
        Endpoint::client_to(server, options).map_err(|error| failed(DialError::Socket(error)))?;
    let connected = endpoint.connect(server).await;
    let connection = connected.map_err(|error| failed(DialError::Connect(error)))?;
    let greet = async {
        let (mut send, mut recv) = connection.open_stream().await?;
        let hello = {
            let state = session.lock();
            Hello {
                session: session.id,
                is_new: state.connections() == 0,
                received: state.incoming.received(),
            }
        };
        send.write_all(&hello.encode()).await?;
        let received = read_answer(&mut recv)
            .await
            .map_err(|_| StreamError::Closing)?;
        Ok::<_, StreamError>((send, recv, received))
    };
    let Ok((send, recv, received)) = greet.await else {
        connection.abort(0, "no answer"); // if it is not over already
        let reason = connection.closed().await;
        return Err(failed(DialError::Refused(reason)));
    };
    let Ok(carried) = session.resume(received) else {
        connection.abort(code::PROTOCOL, "not a position of this session");
        return Err(failed(DialError::Answer));
    };
    let link = Link {
        connection,
        send,
        recv,
    };
    Ok(Dialed {
        endpoint,
        link,
        carried,
    })
}
