//! What the application does to the outgoing halves of its streams.

use alloc::vec::Vec;

use super::Streams;
use super::control::Control;
use crate::sender::SendStream;
use crate::{StreamId, WriteError};

impl Streams {
    /// Changes an outgoing half, and in step with it what all of them share.
    pub(super) fn change<R>(
        &mut self,
        id: StreamId,
        change: impl FnOnce(&mut SendStream) -> R,
    ) -> Option<R> {
        let stream = self.sends.get_mut(&id)?;
        let before = (stream.buffered(), stream.unacknowledged());
        let answer = change(stream);
        self.sending.handle_change(id, before, stream);
        Some(answer)
    }

    fn check_writable(&self, id: StreamId) -> Result<(), WriteError> {
        if id.is_message() || !self.has_begun(id) {
            return Err(WriteError::NoStream);
        }
        let stream = self.sends.get(&id).ok_or(WriteError::Finished)?;
        match stream.stopped() {
            Some(code) => Err(WriteError::Stopped(code)),
            None if stream.is_finished() => Err(WriteError::Finished),
            None => Ok(()),
        }
    }

    pub(crate) fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        self.check_writable(id)?;
        let room = self.sends.get(&id).map_or(0, |it| self.sending.room(it));
        let taken = self.change(id, |stream| stream.write(data, room));
        taken.ok_or(WriteError::Finished)
    }

    pub(crate) fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        let writable = self.check_writable(id);
        if let Ok(()) | Err(WriteError::Stopped(_)) = writable {
            self.change(id, SendStream::finish);
            self.settle_send(id);
        }
        writable
    }

    /// Every outgoing half ends after what was written; where the peer opened the stream and
    /// nothing was, the CLOSE says enough (K3).
    pub(crate) fn finish_all(&mut self) {
        self.is_ending = true;
        let ids: Vec<StreamId> = self.sends.keys().copied().collect();
        for id in ids {
            let is_untouched = self.sends.get(&id).is_some_and(SendStream::is_untouched);
            if is_untouched && id.opener() != self.side {
                self.forget_send(id);
            } else {
                self.change(id, SendStream::finish);
                self.settle_send(id);
            }
        }
    }

    /// Whether the peer has all that was written and not given up.
    pub(crate) fn is_delivered(&self) -> bool {
        self.sends.is_empty()
    }

    /// How many written bytes are not acknowledged yet, of all streams and messages.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.sending.unacknowledged()
    }

    pub(crate) fn has_unsent(&self, id: StreamId) -> bool {
        self.sends.get(&id).is_some_and(|it| it.unsent() > 0)
    }

    pub(crate) fn is_acknowledged(&mut self, id: StreamId) -> Result<bool, WriteError> {
        let own = id.opener() == self.side || !id.is_message();
        if !own || !self.has_begun(id) {
            return Err(WriteError::NoStream);
        }
        match self.sends.get_mut(&id) {
            Some(stream) => stream.is_acknowledged(),
            None => Ok(true), // it is over
        }
    }

    pub(crate) fn reset(&mut self, id: StreamId, code: u64, stopped: bool) {
        let has_to_tell = self.change(id, |stream| {
            stream.reset(code, stopped);
            stream.reset_to_tell().is_some()
        });
        if has_to_tell == Some(true) {
            self.tell(Control::Reset(id));
        }
        self.settle_send(id);
    }
}
