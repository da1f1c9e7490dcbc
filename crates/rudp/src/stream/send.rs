//! The outgoing half of a stream.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rudp_proto::{StreamId, WriteError};
use tokio::io::AsyncWrite;

use crate::{StreamError, connection::Inner, waiting::Settled};

/// The outgoing half of a stream.
///
/// Dropping it before it was finished resets it with code 0: only [`finish`](Self::finish) (or
/// `shutdown`) says that everything was written, so an early return or a panic never looks like the
/// end of the data.
#[derive(Debug)]
pub struct SendStream {
    connection: Arc<Inner>,
    id: StreamId,
    ended: bool,
}

impl SendStream {
    pub(crate) fn new(connection: Arc<Inner>, id: StreamId) -> Self {
        Self {
            connection,
            id,
            ended: false,
        }
    }

    /// The stream's name on its connection; both halves have the same.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Hands over some of `data`, waiting for room, and says how much. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The stream was ended by either side, or the connection is closing or closed.
    pub async fn write(&mut self, data: &[u8]) -> Result<usize, StreamError> {
        poll_fn(|cx| self.poll_writing(cx, data)).await
    }

    /// Hands over all of `data`, waiting for room. Not cancel-safe: part of it may have been
    /// handed over.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    pub async fn write_all(&mut self, data: &[u8]) -> Result<(), StreamError> {
        let mut left = data;
        while !left.is_empty() {
            let count = self.write(left).await?;
            left = &left[count..];
        }
        Ok(())
    }

    /// Ends the half; what was written still arrives.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.ended = true;
        let done = match self
            .connection
            .shared
            .lock()
            .connection(self.connection.handle)
        {
            Some(connection) => connection.finish(self.id),
            None => return Err(self.connection.ended()),
        };
        self.connection.shared.work.notify_one();
        done.map_err(|error| self.refused(error))
    }

    /// Ends the half at once: what is not delivered is dropped, and the peer's next read tells it
    /// `code`, of which 62 bits travel. Does nothing if all was delivered (S6).
    pub fn reset(&mut self, code: u64) {
        self.ended = true;
        let mut state = self.connection.shared.lock();
        if let Some((connection, waiting)) = state.open_connection(self.connection.handle) {
            connection.reset(self.id, code);
            waiting.forget(self.id);
        }
        drop(state);
        self.connection.shared.work.notify_one();
    }

    /// Waits until the peer's transport has everything that was written so far, and the end if the
    /// half is finished; this says nothing about its application. Cancel-safe; the future may
    /// outlive the stream.
    ///
    /// # Errors
    ///
    /// The peer stopped the stream, this side reset it, or the connection ended before.
    pub fn acknowledged(
        &self,
    ) -> impl Future<Output = Result<(), StreamError>> + Send + 'static + use<> {
        let (inner, id) = (self.connection.clone(), self.id);
        async move {
            let settled = match inner.shared.lock().open_connection(inner.handle) {
                None => return Err(inner.ended()),
                Some((connection, waiting)) => match connection.is_acknowledged(id) {
                    Ok(true) => return Ok(()),
                    Ok(false) => waiting.settled(id),
                    Err(error) => return Err(refused(&inner, error)),
                },
            };
            match settled.await {
                Ok(Settled::Stopped(code)) => Err(StreamError::Stopped(code)),
                Ok(_) => Ok(()),
                Err(_) if inner.is_open() => Err(StreamError::Finished), // it was reset
                Err(_) => Err(inner.ended()),
            }
        }
    }

    /// Waits until the peer wants no more, and says its code (S7). Cancel-safe.
    ///
    /// # Errors
    ///
    /// The half is ended by this side, or the connection ended before.
    pub async fn stopped(&mut self) -> Result<u64, StreamError> {
        let inner = self.connection.clone();
        loop {
            let settled = match inner.shared.lock().open_connection(inner.handle) {
                None => return Err(inner.ended()),
                Some((connection, waiting)) => match connection.write(self.id, &[]) {
                    Ok(_) => waiting.settled(self.id),
                    Err(WriteError::Stopped(code)) => return Ok(code),
                    Err(error) => return Err(self.refused(error)),
                },
            };
            match settled.await {
                Ok(Settled::Stopped(code)) => return Ok(code),
                Ok(_) => {} // somebody waited for an acknowledgement
                Err(_) => return Err(inner.ended()),
            }
        }
    }

    fn poll_writing(&mut self, cx: &Context<'_>, data: &[u8]) -> Poll<Result<usize, StreamError>> {
        let mut state = self.connection.shared.lock();
        let Some((connection, waiting)) = state.open_connection(self.connection.handle) else {
            return Poll::Ready(Err(self.connection.ended()));
        };
        let known = connection.has_unsent(self.id); // the driver sends it when it can
        match connection.write(self.id, data) {
            Ok(0) if !data.is_empty() => {
                waiting.writers.add(self.id, cx);
                Poll::Pending
            }
            Ok(count) => {
                drop(state);
                if !known {
                    self.connection.shared.work.notify_one();
                }
                Poll::Ready(Ok(count))
            }
            Err(error) => Poll::Ready(Err(self.refused(error))),
        }
    }

    fn refused(&self, error: WriteError) -> StreamError {
        refused(&self.connection, error)
    }
}

fn refused(connection: &Inner, error: WriteError) -> StreamError {
    match error {
        WriteError::Finished | WriteError::NoStream => StreamError::Finished,
        WriteError::Stopped(code) => StreamError::Stopped(code),
        WriteError::Closed => connection.ended(),
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        if !self.ended {
            return self.reset(0);
        }
        let mut state = self.connection.shared.lock();
        if let Some((_, waiting)) = state.open_connection(self.connection.handle) {
            waiting.prune(self.id);
        }
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, data).map_err(io::Error::from)
    }

    /// Nothing is held back, so there is nothing to do; see [`acknowledged`](Self::acknowledged).
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does the same as [`finish`](Self::finish).
    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.finish().map_err(io::Error::from))
    }
}
