//! The application's handle of a connection.

use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rudp_proto::{CloseReason, Handle, ReadError, Side, Stats, StreamId, StreamKind, WriteError};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::watch,
};

use crate::state::{Phase, Shared};

/// An ordered, reliable byte stream in each direction.
///
/// Reading and writing need only `&self`, so tasks may share it in an `Arc`;
/// one task at a time may wait for reading and one for writing. Dropping a
/// connection that is not closed aborts it with code 0.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    handle: Handle,
    phase: watch::Receiver<Phase>,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, handle: Handle, phase: watch::Receiver<Phase>) -> Self {
        Self {
            shared,
            handle,
            phase,
        }
    }

    /// The name of the connection in traces.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// The peer's address, while the connection is open.
    #[must_use]
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        let mut state = self.shared.lock();
        state
            .connection(self.handle)
            .map(|connection| connection.peer_addr())
    }

    /// The counters; those of the end once it is closed.
    #[must_use]
    pub fn stats(&self) -> Stats {
        if let Phase::Closed(_, stats) = &*self.phase.borrow() {
            return **stats;
        }
        let mut state = self.shared.lock();
        state
            .connection(self.handle)
            .map(|connection| *connection.stats())
            .unwrap_or_default()
    }

    /// What it is doing and why, in one line.
    #[must_use]
    pub fn explain(&self) -> String {
        if let Phase::Closed(reason, _) = &*self.phase.borrow() {
            return reason.to_string();
        }
        let mut state = self.shared.lock();
        let now = self.shared.clock.now();
        let connection = state.connection(self.handle);
        connection
            .map(|connection| connection.explain(now).to_string())
            .unwrap_or_default()
    }

    /// Reads what is there, or waits for it. 0: the peer finished its stream,
    /// or `buffer` is empty. Cancel-safe.
    ///
    /// # Errors
    ///
    /// `ConnectionReset` if the connection ended before the peer's stream.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_reading(cx, buffer)).await
    }

    /// Hands over all of `data`, waiting for room. Not cancel-safe: part of
    /// it may have been handed over.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` if the stream is finished or the connection closed.
    pub async fn write_all(&self, data: &[u8]) -> io::Result<()> {
        let mut left = data;
        while !left.is_empty() {
            let count = poll_fn(|cx| self.poll_writing(cx, left)).await?;
            left = &left[count..];
        }
        Ok(())
    }

    /// Ends this side's stream; what was written still arrives.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` if that was done already or the connection is closed.
    pub fn finish(&self) -> io::Result<()> {
        let finished = {
            let mut state = self.shared.lock();
            let connection = state.connection(self.handle);
            connection.map(finish)
        };
        self.shared.work.notify_one();
        finished.ok_or_else(|| self.ended())?.map_err(broken_pipe)
    }

    /// Waits until the peer's transport has everything that was written, which
    /// says nothing about its application. Cancel-safe.
    ///
    /// # Errors
    ///
    /// `ConnectionReset` if the connection ended before.
    pub async fn acknowledged(&self) -> io::Result<()> {
        poll_fn(|cx| {
            let mut state = self.shared.lock();
            let waiting = state.connection(self.handle).map(|it| it.unacknowledged());
            match waiting {
                None => Poll::Ready(Err(self.ended())),
                Some(0) => Poll::Ready(Ok(())),
                Some(_) => {
                    state.await_acknowledged(self.handle, cx);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// The bytes written that the peer's transport has not acknowledged yet.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        let mut state = self.shared.lock();
        state
            .connection(self.handle)
            .map_or(0, |connection| connection.unacknowledged())
    }

    /// Closes once everything written is acknowledged, and waits for that.
    /// Code 0 means "no error".
    pub async fn close(&self, code: u64, reason: &str) -> CloseReason {
        if let Some(connection) = self.shared.lock().connection(self.handle) {
            connection.close(code, reason);
        }
        self.shared.work.notify_one();
        self.closed().await
    }

    /// Closes at once; what is not delivered yet is dropped. A refusal is an
    /// abort with a code other than 0. Does nothing if it is closed.
    pub fn abort(&self, code: u64, reason: &str) {
        if let Some(connection) = self.shared.lock().connection(self.handle) {
            connection.abort(code, reason);
        }
        self.shared.work.notify_one();
    }

    /// Waits for the end of the connection. Cancel-safe.
    pub async fn closed(&self) -> CloseReason {
        let mut phase = self.phase.clone();
        let closed = phase
            .wait_for(|phase| matches!(phase, Phase::Closed(..)))
            .await;
        match closed.as_deref() {
            Ok(Phase::Closed(reason, _)) => reason.clone(),
            // The endpoint is gone.
            _ => CloseReason::Local,
        }
    }

    /// Waits for the end of the handshake.
    pub(crate) async fn connected(&self) -> Result<(), CloseReason> {
        let mut phase = self.phase.clone();
        let done = phase
            .wait_for(|phase| !matches!(phase, Phase::Connecting))
            .await;
        match done.as_deref() {
            Ok(Phase::Connected) => Ok(()),
            Ok(Phase::Closed(reason, _)) => Err(reason.clone()),
            Ok(Phase::Connecting) | Err(_) => Err(CloseReason::Local),
        }
    }

    fn poll_reading(&self, cx: &Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.shared.lock();
        let Some(connection) = state.connection(self.handle) else {
            return Poll::Ready(Err(self.ended()));
        };
        match read(connection, buffer) {
            Ok(Some(count)) => {
                drop(state);
                // The peer may be waiting for a larger window.
                self.shared.work.notify_one();
                Poll::Ready(Ok(count))
            }
            Ok(None) => {
                state.await_readable(self.handle, cx);
                Poll::Pending
            }
            Err(_) => Poll::Ready(Err(self.ended())),
        }
    }

    fn poll_writing(&self, cx: &Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.shared.lock();
        let Some(connection) = state.connection(self.handle) else {
            return Poll::Ready(Err(broken_pipe(WriteError::Closed)));
        };
        match write(connection, data) {
            Ok(0) if !data.is_empty() => {
                state.await_writable(self.handle, cx);
                Poll::Pending
            }
            Ok(count) => {
                drop(state);
                self.shared.work.notify_one();
                Poll::Ready(Ok(count))
            }
            Err(error) => Poll::Ready(Err(broken_pipe(error))),
        }
    }

    fn ended(&self) -> io::Error {
        let message = match &*self.phase.borrow() {
            Phase::Closed(reason, _) => reason.to_string(),
            _ => "the connection is closing".to_owned(),
        };
        io::Error::new(io::ErrorKind::ConnectionReset, message)
    }
}

/// Each side writes on the first stream that it opens, and reads from the peer's first.
const fn stream_of(side: Side) -> StreamId {
    StreamId::new(side, StreamKind::Bytes, 0)
}

fn write(connection: &mut rudp_proto::Connection, data: &[u8]) -> Result<usize, WriteError> {
    let id = stream_of(connection.side());
    match connection.write(id, data) {
        Err(WriteError::NoStream) => {
            let opened = connection.open_stream();
            opened.map_err(|_| WriteError::Closed)?; // the first one is always allowed
            connection.write(id, data)
        }
        other => other,
    }
}

fn finish(connection: &mut rudp_proto::Connection) -> Result<(), WriteError> {
    write(connection, b"")?;
    connection.finish(stream_of(connection.side()))
}

fn read(
    connection: &mut rudp_proto::Connection,
    buffer: &mut [u8],
) -> Result<Option<usize>, ReadError> {
    match connection.read(stream_of(connection.side().other()), buffer) {
        Err(ReadError::NoStream) => Ok(None),
        other => other,
    }
}

fn broken_pipe(error: WriteError) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, error)
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.abort(0, "");
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_read(cx, buffer)
    }
}

impl AsyncRead for &Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.poll_reading(cx, buffer.initialize_unfilled());
        read.map_ok(|count| buffer.advance(count))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write(cx, data)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_shutdown(cx)
    }
}

impl AsyncWrite for &Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, data)
    }

    /// Nothing is held back, so there is nothing to do; see
    /// [`acknowledged`](Connection::acknowledged).
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does the same as [`finish`](Connection::finish).
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.finish())
    }
}
