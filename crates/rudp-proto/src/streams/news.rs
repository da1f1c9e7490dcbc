//! What the application has to hear of its streams: each thing once, so that it is bounded by the
//! streams there are (K9).

use alloc::collections::{BTreeSet, VecDeque};

use crate::queue::Line;
use crate::{Event, StreamId, StreamKind};

use super::Streams;

#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) opened: bool,
    pub(super) may_open: bool,
    pub(super) message: bool,
    pub(super) message_room: bool,
    /// A message was refused for want of room, or of permission to open one more.
    pub(super) message_refused: bool,
    pub(super) readable: Line<StreamId>,
    pub(super) writable: Line<StreamId>,
    pub(super) stopped: BTreeSet<StreamId>,
    pub(super) expired: VecDeque<StreamId>,
    pub(super) acknowledged: Line<StreamId>,
}

impl News {
    /// One more stream of this kind may be opened.
    pub(super) fn may_open(&mut self, kind: StreamKind) {
        match kind {
            StreamKind::Bytes => self.may_open = true,
            StreamKind::Message => self.message_room = true,
        }
    }

    pub(super) fn forget_send(&mut self, id: StreamId) {
        self.writable.set(id, false);
        self.stopped.remove(&id);
    }

    pub(super) fn forget_recv(&mut self, id: StreamId) {
        self.readable.set(id, false);
    }
}

impl Streams {
    /// The next thing to tell the application.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        use core::mem::take;
        let news = &mut self.news;
        if take(&mut news.opened) {
            return Some(Event::Opened);
        }
        if let Some(id) = news.readable.pop() {
            return Some(Event::Readable(id));
        }
        if take(&mut news.message) {
            return Some(Event::MessageReadable);
        }
        if let Some(id) = news.writable.pop() {
            return Some(Event::Writable(id));
        }
        if let Some(id) = news.stopped.pop_first() {
            return Some(Event::Stopped(id));
        }
        if let Some(id) = news.acknowledged.pop() {
            return Some(Event::Acknowledged(id));
        }
        if let Some(id) = news.expired.pop_front() {
            news.message_room |= take(&mut news.message_refused);
            return Some(Event::MessageExpired(id));
        }
        if take(&mut news.message_room) {
            return Some(Event::MessageWritable);
        }
        take(&mut news.may_open).then_some(Event::MayOpen)
    }
}
