//! What arrives on streams.

use core::time::Duration;

use super::control::Control;
use super::{MAX_MESSAGE, Streams};
use crate::ack::Urgency;
use crate::receiver::{RecvStream, Unacceptable};
use crate::{StreamId, StreamKind};

/// The most separate pieces of all streams of a connection (F5).
const MAX_PIECES: usize = 8192;

/// What incoming halves hold: one of them, or all together.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Unread {
    /// Separate pieces, which wait for earlier ones (F5).
    pub(super) pieces: usize,
    /// Streams of bytes with something to read.
    pub(super) readable: usize,
}

impl Unread {
    pub(super) fn of(id: StreamId, stream: &RecvStream) -> Self {
        Self {
            pieces: stream.pieces(),
            readable: usize::from(!id.is_message() && stream.is_readable()),
        }
    }

    /// One half held `before`, and holds `after`.
    pub(super) fn replace(&mut self, before: Self, after: Self) {
        let others = self.pieces.saturating_sub(before.pieces);
        self.pieces = others.saturating_add(after.pieces);
        let others = self.readable.saturating_sub(before.readable);
        self.readable = others.saturating_add(after.readable);
    }

    pub(super) fn forget(&mut self, id: StreamId, stream: &RecvStream) {
        self.replace(Self::of(id, stream), Self::default());
    }
}

const fn violation<T>(what: &'static str) -> Result<T, Unacceptable> {
    Err(Unacceptable::Violation(what))
}

impl Streams {
    /// Sees to it that the peer may name this stream, and opens it if it is new (S2, S3).
    fn admit(&mut self, now: Duration, id: StreamId) -> Result<(), Unacceptable> {
        if id.opener() == self.side {
            return match self.has_begun(id) {
                true => Ok(()),
                false => violation("a stream that was never opened (S2)"),
            };
        }
        let kind = id.kind();
        if id.index() >= self.peers.get(kind).limit() {
            return violation("more streams than allowed (S3)");
        }
        // Those before it are open too: their frames are late.
        while self.peers.get(kind).opened() <= id.index() {
            let next = StreamId::new(id.opener(), kind, self.peers.get(kind).opened());
            self.begin(now, next);
            self.news.opened |= kind == StreamKind::Bytes;
            self.peers.get_mut(kind).open();
        }
        Ok(())
    }

    /// The same for frames that only a stream's sender sends.
    fn admit_from_sender(
        &mut self,
        now: Duration,
        id: StreamId,
        end: u64,
    ) -> Result<(), Unacceptable> {
        self.admit(now, id)?;
        if id.is_message() && id.opener() == self.side {
            return violation("an answer on a message (M1)");
        }
        if id.is_message() && end > MAX_MESSAGE as u64 {
            return violation("a message of more than 65,536 bytes (M2)");
        }
        let known = self.recvs.get(&id).map(RecvStream::highest);
        let more = known.map_or(0, |known| end.saturating_sub(known));
        if self.received.saturating_add(more) > self.window.limit() {
            return violation("data beyond the connection's window (F1)");
        }
        Ok(())
    }

    /// The same for frames that only a stream's receiver sends.
    fn admit_from_receiver(&mut self, now: Duration, id: StreamId) -> Result<(), Unacceptable> {
        self.admit(now, id)?;
        if id.is_message() {
            return violation("a message has no window and is not stopped (M1)");
        }
        Ok(())
    }

    /// A STREAM frame; says how many bytes are new.
    pub(crate) fn handle_data(
        &mut self,
        now: Duration,
        id: StreamId,
        (offset, data, fin): (u64, &[u8], bool),
    ) -> Result<(u64, Urgency), Unacceptable> {
        let end = offset.saturating_add(data.len() as u64);
        self.admit_from_sender(now, id, end)?;
        let Some(stream) = self.recvs.get_mut(&id) else {
            return Ok((0, Urgency::Normal)); // it is over, and this comes late (S2)
        };
        let (was_readable, was_complete) = (stream.is_readable(), stream.is_complete());
        let (had_gap, highest) = (stream.has_gap(), stream.highest());
        let (before, room) = (Unread::of(id, stream), self.unread.pieces < MAX_PIECES);
        let fresh = stream.handle_data(offset, data, fin, room)?;
        self.unread.replace(before, Unread::of(id, stream));
        if id.is_message() {
            if stream.is_complete() && !was_complete {
                self.inbox.push_back(id);
                self.news.message = true;
            }
        } else if stream.is_readable() && (fresh > 0 || !was_readable) {
            self.news.readable.set(id, true);
        }
        let urgent = had_gap || stream.has_gap() || (fin && !id.is_message());
        if !stream.needs_window() {
            self.control.remove(&Control::MaxStreamData(id));
        }
        let grows = stream.needs_window() && stream.window.handle_waiting(stream.waiting());
        let size = stream.window.size();
        let more = stream.highest().saturating_sub(highest);
        let is_cut = stream.is_cut();
        self.received = self.received.saturating_add(more);
        if grows {
            self.tell(Control::MaxStreamData(id));
            self.follow(size);
        }
        self.consume(if is_cut { more } else { 0 }); // what is cut, nobody reads
        if is_cut {
            self.settle_recv(id);
        }
        let urgency = if urgent {
            Urgency::AtOnce
        } else {
            Urgency::Normal
        };
        Ok((fresh, urgency))
    }

    /// A RESET_STREAM frame; says whether it is the first one and cuts the stream (S6).
    pub(crate) fn handle_reset(
        &mut self,
        now: Duration,
        id: StreamId,
        code: u64,
        size: u64,
    ) -> Result<bool, Unacceptable> {
        self.admit_from_sender(now, id, size)?;
        let Some(stream) = self.recvs.get_mut(&id) else {
            return Ok(false);
        };
        let (was_cut, highest) = (stream.is_cut(), stream.highest());
        let before = Unread::of(id, stream);
        let unread = stream.handle_reset(code, size)?;
        self.unread.replace(before, Unread::of(id, stream));
        let more = stream.highest().saturating_sub(highest);
        let is_cut = stream.is_cut();
        if is_cut && !id.is_message() {
            self.news.readable.set(id, true);
        }
        self.received = self.received.saturating_add(more);
        self.consume(unread);
        if is_cut {
            self.control.remove(&Control::MaxStreamData(id));
            match id.kind() {
                StreamKind::Bytes => self.settle_recv(id),
                StreamKind::Message => self.forget_recv(id), // nobody hears of it (M4)
            }
        }
        Ok(is_cut && !was_cut)
    }

    /// A STOP_SENDING frame (S7).
    pub(crate) fn handle_stop(
        &mut self,
        now: Duration,
        id: StreamId,
        code: u64,
    ) -> Result<(), Unacceptable> {
        self.admit_from_receiver(now, id)?;
        // The frame may come again, and for what was given up here already.
        if self.sends.get(&id).is_some_and(|stream| !stream.is_reset()) {
            self.news.stopped.insert(id);
            self.reset(id, code, true);
        }
        Ok(())
    }

    /// A MAX_STREAM_DATA frame (F2).
    pub(crate) fn handle_max_stream_data(
        &mut self,
        now: Duration,
        id: StreamId,
        limit: u64,
    ) -> Result<(), Unacceptable> {
        self.admit_from_receiver(now, id)?;
        self.change(id, |stream| stream.handle_limit(limit));
        Ok(())
    }

    /// A MAX_STREAMS frame (S3).
    pub(crate) fn handle_max_streams(&mut self, kind: StreamKind, count: u64) {
        if self.own.get_mut(kind).handle_limit(count) {
            self.news.may_open(kind);
        }
    }
}
