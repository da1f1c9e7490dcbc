//! What the application may ask of streams and messages.

use alloc::vec::Vec;
use core::time::Duration;

use super::Connection;
use crate::{MessageError, OpenError, ReadError, StreamId, WriteError};

impl Connection {
    /// Opens a stream of bytes in both directions. The peer hears of it with the first bytes, or
    /// when it is finished. Streams may be opened before the connection is established; only one
    /// is certain to be allowed then (S3).
    ///
    /// # Errors
    /// The peer allows no more for now, or the connection is closing.
    pub fn open_stream(&mut self) -> Result<StreamId, OpenError> {
        if self.is_closing() {
            return Err(OpenError::Closed);
        }
        self.streams.open(self.now)
    }

    /// The next stream that the peer opened, in the order of their numbers; `None` says that there
    /// is none now: wait for [`Event::Opened`](crate::Event::Opened). A stream may be written to
    /// and read from without this, too, once it is there (S2).
    pub fn accept_stream(&mut self) -> Option<StreamId> {
        self.streams.accept()
    }

    /// Takes bytes to send and returns how many; fewer than offered means that enough waits to leave
    /// or the buffer is full: wait for [`Event::Writable`](crate::Event::Writable) (F6).
    /// Bytes may be written before the connection is established.
    ///
    /// # Errors
    /// There is no such stream, its outgoing half was ended by either side, or the connection is
    /// closing.
    pub fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        if self.is_closing() {
            return Err(WriteError::Closed);
        }
        self.streams.write(id, data)
    }

    /// Whether a stream has bytes that have never left: the endpoint waits with them, and more of
    /// them give it nothing to do.
    #[must_use]
    pub fn has_unsent(&self, id: StreamId) -> bool {
        self.streams.has_unsent(id)
    }

    /// Ends the outgoing half of a stream after what was written (FIN).
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        if self.is_closing() {
            return Err(WriteError::Closed);
        }
        self.streams.finish(id)
    }

    /// Whether the peer's transport has everything that was written to a stream or message, and its
    /// end if it is finished. `false`: wait for
    /// [`Event::Acknowledged`](crate::Event::Acknowledged) (S8).
    ///
    /// # Errors
    /// There is no such stream, it was reset by this side or stopped by the peer, or either side
    /// has ended the connection before.
    pub fn is_acknowledged(&mut self, id: StreamId) -> Result<bool, WriteError> {
        if self.is_over() || self.closing.has_peer_closed() {
            return Err(WriteError::Closed);
        }
        self.streams.is_acknowledged(id)
    }

    /// Ends the outgoing half of a stream at once: what is not delivered is dropped, and the peer
    /// is told `code`, of which 62 bits travel. Does nothing if all was delivered, for a message, and
    /// for a stream that was never opened (S6).
    pub fn reset(&mut self, id: StreamId, code: u64) {
        if !self.is_over() && !id.is_message() {
            self.streams.reset(id, code, false);
        }
    }

    /// Reads into `buf` what has arrived in order. `Some(0)` is the end of the
    /// peer's half (or an empty `buf`); `None` says that nothing is there now:
    /// wait for [`Event::Readable`](crate::Event::Readable). A stream is over, and its state is
    /// freed, when the application has read one half to its end, or stopped it, and the other half
    /// is finished and acknowledged, or reset (S4).
    ///
    /// # Errors
    /// There is no such stream, the peer reset it, or the connection ended before it did.
    pub fn read(&mut self, id: StreamId, buf: &mut [u8]) -> Result<Option<usize>, ReadError> {
        if self.is_over() {
            return Err(ReadError::Closed);
        }
        let read = self.streams.read(id, buf);
        if let Ok(Some(1..)) = read {
            self.closing.put_off(); // (K3)
        }
        self.conclude_if_drained();
        if read == Ok(None) && (self.closing.has_peer_closed() || self.is_over()) {
            return Err(ReadError::Closed);
        }
        read
    }

    /// Wants no more of a stream: what arrives is dropped, and the peer is told `code`, of which
    /// 62 bits travel. Does nothing if the end was read, for a message, and for a stream that was
    /// never opened (S7).
    pub fn stop(&mut self, id: StreamId, code: u64) {
        if !self.is_over() {
            self.streams.stop(id, code);
            self.conclude_if_drained();
        }
    }

    /// Sends a message of at most [`MAX_MESSAGE`](crate::MAX_MESSAGE) bytes: it arrives once and
    /// whole, in any order among others, unless `lifetime` passes first; then
    /// [`Event::MessageExpired`](crate::Event::MessageExpired) names it (M1 to M4).
    ///
    /// # Errors
    /// It is too long, there is no room for it now, or the connection is closing.
    pub fn send_message(
        &mut self,
        now: Duration,
        data: &[u8],
        lifetime: Option<Duration>,
    ) -> Result<StreamId, MessageError> {
        if self.is_closing() {
            return Err(MessageError::Closed);
        }
        self.streams.send_message(now, data, lifetime)
    }

    /// The next message that arrived, in the order in which they became whole; `None` says that
    /// there is none now: wait for [`Event::MessageReadable`](crate::Event::MessageReadable).
    pub fn read_message(&mut self) -> Option<Vec<u8>> {
        let message = self.streams.read_message()?;
        self.closing.put_off(); // (K3)
        self.conclude_if_drained();
        Some(message)
    }

    /// How many written bytes are not acknowledged yet, of all streams and messages.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        self.streams.unacknowledged()
    }

    /// How many streams and messages are not over: the connection keeps state for no others (S4).
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }
}
