//! What the application does to the incoming halves of its streams.

use super::Streams;
use super::control::Control;
use super::receiving::Unread;
use crate::receiver::{Found, RecvStream};
use crate::{ReadError, StreamId};

impl Streams {
    pub(crate) fn read(
        &mut self,
        id: StreamId,
        buf: &mut [u8],
    ) -> Result<Option<usize>, ReadError> {
        if id.is_message() || !self.has_begun(id) {
            return Err(ReadError::NoStream);
        }
        let Some(stream) = self.recvs.get_mut(&id) else {
            return Ok(Some(0)); // it was read to its end, or stopped
        };
        let before = Unread::of(id, stream);
        let found = stream.read(buf);
        self.unread.replace(before, Unread::of(id, stream));
        match found {
            Found::Bytes(count) => {
                let due = stream.window.consume(count as u64) && stream.needs_window();
                if stream.is_roomy() && self.roomy != Some(id) {
                    let before = self.roomy.replace(id);
                    let before = before.and_then(|id| self.recvs.get_mut(&id));
                    before.into_iter().for_each(RecvStream::tighten);
                }
                if due {
                    self.tell(Control::MaxStreamData(id));
                }
                self.consume(count as u64);
                Ok(Some(count))
            }
            Found::Nothing => Ok(None),
            Found::End => {
                self.settle_recv(id);
                Ok(Some(0))
            }
            Found::Reset(code) => {
                self.settle_recv(id);
                Err(ReadError::Reset(code))
            }
        }
    }

    pub(crate) fn stop(&mut self, id: StreamId, code: u64) {
        let Some(stream) = self.recvs.get_mut(&id).filter(|_| !id.is_message()) else {
            return;
        };
        let before = Unread::of(id, stream);
        let unread = stream.stop(code);
        self.unread.replace(before, Unread::of(id, stream));
        let has_to_tell = stream.stop_to_tell().is_some();
        self.control.remove(&Control::MaxStreamData(id));
        if has_to_tell {
            self.tell(Control::Stop(id));
        }
        self.consume(unread);
        self.settle_recv(id);
    }

    /// So many more bytes are read, or nobody will read them: the peer may send as many more.
    pub(super) fn consume(&mut self, bytes: u64) {
        if self.window.consume(bytes) || self.window.is_tight(self.received) {
            self.tell(Control::MaxData);
        }
    }

    /// The window of a stream is so large: that of the connection is half as large again (F7).
    pub(super) fn follow(&mut self, size: u64) {
        let grows = self.window.grow(size.saturating_add(size / 2));
        if grows {
            self.tell(Control::MaxData);
        }
    }

    /// Whether the application has read all that can still be read.
    pub(crate) fn is_drained(&self) -> bool {
        self.inbox.is_empty() && self.unread.readable == 0
    }
}
