//! Streams that are one message each: unordered, whole, and perhaps only good for a while (M1 to
//! M5).

use alloc::vec::Vec;
use core::time::Duration;

use super::Streams;
use crate::{MessageError, StreamId, StreamKind};

/// The longest message, in bytes (M2).
pub const MAX_MESSAGE: usize = 65_536;
/// Expired messages of which the application has not heard, at most (K9).
const MOST_EXPIRED: usize = 1024;

impl Streams {
    pub(crate) fn send_message(
        &mut self,
        now: Duration,
        data: &[u8],
        lifetime: Option<Duration>,
    ) -> Result<StreamId, MessageError> {
        let (length, limit) = (data.len(), self.sending.longest_message());
        if length > limit {
            return Err(MessageError::TooLong { length, limit });
        }
        if length > self.sending.free_for_messages() {
            self.news.message_refused = true;
            return Err(MessageError::BufferFull);
        }
        if self.news.expired.len() >= MOST_EXPIRED {
            self.news.message_refused = true;
            return Err(MessageError::TooMany);
        }
        let index = self.own.message.open().ok_or(MessageError::TooMany)?;
        let id = StreamId::new(self.side, StreamKind::Message, index);
        let deadline = lifetime.map(|lifetime| now.saturating_add(lifetime));
        self.begin(now, id);
        self.change(id, |stream| {
            stream.write(data, length);
            stream.finish();
            stream.deadline = deadline;
        });
        if let Some(deadline) = deadline {
            self.sending.deadlines.insert((deadline, id));
        }
        Ok(id)
    }

    pub(crate) fn read_message(&mut self) -> Option<Vec<u8>> {
        let id = self.inbox.pop_front()?;
        let stream = self.recvs.get_mut(&id)?;
        let message = stream.take();
        self.consume(message.len() as u64);
        self.forget_recv(id);
        Some(message)
    }

    /// When the next message is given up (M4).
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.sending.deadlines.first().map(|(at, _)| *at)
    }

    /// Gives up what nobody needs any more (M4).
    pub(crate) fn handle_timeout(&mut self, now: Duration) {
        while let Some((at, id)) = self.sending.deadlines.first().copied()
            && at <= now
        {
            self.sending.deadlines.pop_first();
            self.news.expired.push_back(id);
            self.reset(id, 0, false);
        }
    }
}
