//! The server's side: an endpoint, and which session each client wants.

use std::{
    fmt,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    sync::{self, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{
    Resumable, ResumeEvent,
    link::{Hello, Link, code},
    sessions::{Arrival, Sessions},
};
use crate::{Connection, Endpoint, Observer, OptionsError};

/// How long a client may take to say which session it wants: 10 s.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of a [`ResumableListener`].
#[derive(Clone)]
pub struct ListenerOptions {
    /// The most bytes kept in each direction of a session; default 4 MiB, 0 counts as 1.
    pub buffer: usize,
    /// How long a session waits for its client; default 10 minutes.
    pub lifetime: Duration,
    /// How many sessions there may be, and how many may wait for
    /// [`accept`](ResumableListener::accept), those that are over included; default 1,024, at least
    /// 1. A client with one more is refused, and tries again later.
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

impl ResumableListener {
    /// Starts to accept at an endpoint, one of [`Endpoint::bind`]. Must be called within a runtime.
    ///
    /// # Errors
    ///
    /// The settings are refused.
    pub fn start(endpoint: Endpoint, options: ListenerOptions) -> Result<Self, OptionsError> {
        if options.max_sessions == 0 {
            return Err(OptionsError::NoSessions);
        }
        let (sessions, accepted) = Sessions::new(options);
        let listener = Self {
            sessions,
            accepted: sync::Mutex::new(accepted),
            serving: Mutex::new(None),
        };
        listener.replace(endpoint);
        Ok(listener)
    }

    /// Waits for the next new session, also while it is without an endpoint. Cancel-safe.
    pub async fn accept(&self) -> Resumable {
        match self.accepted.lock().await.recv().await {
            Some(session) => session,
            None => pending().await, // never: `sessions` keeps the way in
        }
    }

    /// Goes on with another endpoint of [`Endpoint::bind`], and the sessions with it. The old one and its connections end
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
        self.sessions.count()
    }
}

impl Drop for ResumableListener {
    fn drop(&mut self) {
        *self.serving() = None;
        self.sessions.end();
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
