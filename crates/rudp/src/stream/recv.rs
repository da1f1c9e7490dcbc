//! The incoming half of a stream.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rudp_proto::{ReadError, StreamId};
use tokio::io::{AsyncRead, ReadBuf};

use crate::{StreamError, connection::Inner};

/// What [`RecvStream::read_to_end`] asks for at once.
const CHUNK: usize = 64 << 10;

/// The incoming half of a stream.
///
/// Dropping it before the end was read stops it with code 0: what arrives is dropped, and the
/// peer's writes fail.
#[derive(Debug)]
pub struct RecvStream {
    connection: Arc<Inner>,
    id: StreamId,
    end: Option<Result<(), StreamError>>, // what every further read says
}

impl RecvStream {
    pub(crate) fn new(connection: Arc<Inner>, id: StreamId) -> Self {
        Self {
            connection,
            id,
            end: None,
        }
    }

    /// The stream's name on its connection; both halves have the same.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Reads what is there, or waits for it. 0: the peer finished the stream, or `buffer` is
    /// empty. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The peer reset the stream, this side stopped it, or the connection ended before the stream.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        poll_fn(|cx| self.poll_reading(cx, buffer)).await
    }

    /// Reads everything up to the end, at most `limit` bytes. Not cancel-safe: what was read is
    /// lost with the future.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read), and [`StreamError::TooLong`].
    pub async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, StreamError> {
        let (mut all, mut chunk) = (Vec::new(), vec![0; CHUNK]);
        loop {
            let count = self.read(&mut chunk).await?;
            if count == 0 {
                return Ok(all);
            }
            all.extend_from_slice(&chunk[..count]);
            let length = all.len();
            if length > limit {
                return Err(StreamError::TooLong { length, limit });
            }
        }
    }

    /// Wants no more: what arrives is dropped, and the peer's writes fail with `code`, of which 62
    /// bits travel. Does nothing if the end was read (S7).
    pub fn stop(&mut self, code: u64) {
        self.end.get_or_insert(Err(StreamError::Finished));
        let mut state = self.connection.shared.lock();
        if let Some((connection, waiting)) = state.open_connection(self.connection.handle) {
            connection.stop(self.id, code);
            waiting.readers.forget(self.id);
        }
        drop(state);
        self.connection.shared.work.notify_one();
    }

    fn poll_reading(
        &mut self,
        cx: &Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize, StreamError>> {
        if let Some(end) = self.end.clone() {
            return Poll::Ready(end.map(|()| 0));
        }
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let mut state = self.connection.shared.lock();
        let Some((connection, waiting)) = state.open_connection(self.connection.handle) else {
            return Poll::Ready(Err(self.connection.ended()));
        };
        let read = match connection.read(self.id, buffer) {
            Ok(None) => {
                waiting.readers.add(self.id, cx);
                return Poll::Pending;
            }
            Ok(Some(count)) => Ok(count),
            Err(ReadError::Reset(code)) => Err(StreamError::Reset(code)),
            Err(ReadError::Closed | ReadError::NoStream) => Err(self.connection.ended()),
        };
        drop(state);
        // The peer may be waiting for a larger window, or to hear that the stream is over.
        self.connection.shared.work.notify_one();
        match &read {
            Ok(0) => self.end = Some(Ok(())),
            Ok(_) => {}
            Err(error) => self.end = Some(Err(error.clone())),
        }
        Poll::Ready(read)
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        if self.end.is_none() {
            self.stop(0);
        }
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.poll_reading(cx, buffer.initialize_unfilled());
        read.map_ok(|count| buffer.advance(count))
            .map_err(io::Error::from)
    }
}
