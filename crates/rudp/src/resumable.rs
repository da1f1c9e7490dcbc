//! A byte stream that outlives its connections.
//!
//! ```text
//! Resumable ◀─▶ Session ◀─ carries ─ Link: a connection and its stream
//!               keeps what the peer's application has not read
//! client: dials again by grpc-backoff          server: a table of sessions by name
//! ```

mod client;
mod event;
mod link;
mod listener;
mod positions;
mod session;
mod sessions;

use std::{
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub use client::ResumableOptions;
pub use event::{ResumeEvent, Resuming};
pub use listener::{ListenerOptions, ResumableListener};
use session::Session;

/// A byte stream in both directions that goes on, byte for byte, when its connection is lost: after
/// an outage, from another address, at a server whose endpoint was replaced.
///
/// Each side keeps what it wrote until the *application* at the other end has read it, within a
/// bound; a writer that is at the bound waits. A client dials again when `grpc-backoff` says so,
/// and never gives up unless its config has limits. A server that no longer knows the session says
/// so, and both reading and writing end with [`ResumeError::SessionUnknown`]. Until a client has
/// heard from a server for the first time it begins anew with each: what one that died then had
/// read, the next one reads too.
///
/// `shutdown` (of `AsyncWriteExt`) ends this side's direction. Dropping the handle after that
/// leaves it to a task that the peer's application still reads everything, but what arrives is not
/// wanted; dropping it before gives the session up. Whatever the peer's application wants of a
/// session that is given up fails with [`ResumeError::Dropped`]. To know that the peer's
/// application has read everything, await [`delivered`](Self::delivered).
///
/// ```
/// # use {rudp::*, tokio::io::{AsyncReadExt, AsyncWriteExt}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::default())?;
/// let address = endpoint.local_addr();
/// let listener = ResumableListener::start(endpoint, ListenerOptions::default())?;
/// let mut client = Resumable::connect(address, ResumableOptions::default())?;
/// client.write_all(b"hello").await?; // returns before there is a connection
/// client.shutdown().await?;
/// let mut server = listener.accept().await;
/// let mut heard = String::new();
/// server.read_to_string(&mut heard).await?;
/// assert_eq!(heard, "hello");
/// client.delivered().await?; // the server has read it, and the end
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Resumable {
    session: Arc<Session>,
}

impl Resumable {
    fn new(session: Arc<Session>) -> Self {
        Self { session }
    }

    /// Its number in [`ResumeEvent`]s: that of a listener's counts from 0, a client's is 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.session.teller.session
    }

    /// How many connections have carried it so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.session.lock().connections()
    }

    /// Waits until `connections()` is at least `count`: 1 waits for the first. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The session ended before.
    pub async fn connected(&self, count: u64) -> Result<(), ResumeError> {
        let session = &self.session;
        session
            .until(|state| {
                let there = (state.connections() >= count).then_some(Ok(()));
                there.or_else(|| state.error().cloned().map(Err))
            })
            .await
    }

    /// Waits until the peer's application has read everything that was written, and the end after
    /// `shutdown`. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The session ended before.
    pub async fn delivered(&self) -> Result<(), ResumeError> {
        let session = &self.session;
        session
            .until(|state| {
                let read = state.outgoing.is_read().then_some(Ok(()));
                read.or_else(|| state.error().cloned().map(Err))
            })
            .await
    }
}

impl Drop for Resumable {
    fn drop(&mut self) {
        self.session.handle_drop();
    }
}

/// Why a [`Resumable`] ends before its time. What had arrived can still be read. As [`io::Error`]
/// it is found inside (`get_ref`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeError {
    /// The server does not know the session any more: it was restarted, or the session's lifetime
    /// passed. Kind `ConnectionReset`.
    SessionUnknown {
        /// So many bytes were written that its application may not have read.
        unread: u64,
    },
    /// The client did not come back within [`ListenerOptions::lifetime`]. Kind `TimedOut`.
    Expired {
        /// So many bytes were written that its application may not have read.
        unread: u64,
    },
    /// The peer's application dropped its handle before its end. Kind `ConnectionReset`.
    Dropped,
    /// The backoff's config has limits, and they are reached; says how it went. Kind `TimedOut`.
    GaveUp(String),
    /// The peer broke the rules of sessions. Kind `InvalidData`.
    Protocol,
    /// Written to after `shutdown`. Kind `BrokenPipe`.
    Finished,
    /// The listener is gone. Kind `ConnectionAborted`.
    Shutdown,
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SessionUnknown { unread } => write!(
                f,
                "the server does not know the session; up to {unread} bytes were not read"
            ),
            Self::Expired { unread } => write!(
                f,
                "the client did not come back; up to {unread} bytes were not read"
            ),
            Self::Dropped => f.write_str("the peer dropped the session"),
            Self::GaveUp(how) => write!(f, "no connection: {how}"),
            Self::Protocol => f.write_str("the peer broke the rules of sessions"),
            Self::Finished => f.write_str("the stream was ended by this side"),
            Self::Shutdown => f.write_str("the listener is gone"),
        }
    }
}

impl std::error::Error for ResumeError {}

impl From<ResumeError> for io::Error {
    fn from(error: ResumeError) -> Self {
        let kind = match error {
            ResumeError::SessionUnknown { .. } | ResumeError::Dropped => {
                io::ErrorKind::ConnectionReset
            }
            ResumeError::Expired { .. } | ResumeError::GaveUp(_) => io::ErrorKind::TimedOut,
            ResumeError::Protocol => io::ErrorKind::InvalidData,
            ResumeError::Finished => io::ErrorKind::BrokenPipe,
            ResumeError::Shutdown => io::ErrorKind::ConnectionAborted,
        };
        Self::new(kind, error)
    }
}

impl AsyncRead for Resumable {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.session.poll_read(cx, buffer.initialize_unfilled());
        read.map_ok(|count| buffer.advance(count))
            .map_err(io::Error::from)
    }
}

impl AsyncWrite for Resumable {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.session.poll_write(cx, data).map_err(io::Error::from)
    }

    /// Nothing is held back, so there is nothing to do; see [`delivered`](Self::delivered).
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.session.finish();
        Poll::Ready(Ok(()))
    }
}
