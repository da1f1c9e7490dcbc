//! Which bytes leave next: what is lost first, then the streams in turn (S5).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use super::{MAX_MESSAGE, Streams};
use crate::queue::{Line, Queue};
use crate::ranges::length;
use crate::sender::{Chunk, SendStream};
use crate::wire::{self, Params};
use crate::{StreamId, StreamKind};

/// Fewer bytes of a longer piece are not worth a header.
const LEAST_PART: u64 = 64;

/// What a stream may hold in any case that has never left, in bytes (F6).
const LEAST_UNSENT: u64 = 1 << 20;

/// What takes turns with new bytes: every stream, and all messages as one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Messages,
    Stream(StreamId),
}

impl Turn {
    fn of(id: StreamId) -> Self {
        match id.kind() {
            StreamKind::Bytes => Self::Stream(id),
            StreamKind::Message => Self::Messages,
        }
    }
}

/// What all outgoing halves share.
#[derive(Debug)]
pub(super) struct Sending {
    /// Bytes kept for all streams, at most and now (F6).
    capacity: usize,
    buffered: usize,
    /// Of these, bytes of messages.
    message_bytes: usize,
    unacknowledged: u64,
    /// Bytes of all streams that the peer takes, and that left (F2).
    limit: u64,
    sent: u64,
    /// What `limit` was at first.
    first_limit: u64,
    /// Where the window of a new stream ends.
    stream_limit: u64,
    /// Streams with something that needs no window: lost bytes, or a FIN alone.
    urgent: Line<StreamId>,
    /// Who has new bytes that the windows of streams let through.
    fresh: Line<Turn>,
    /// The messages among them. The one that was begun first has the turn: several at once could
    /// fill the peer's window with parts, of which none can be read (M5).
    messages: BTreeSet<StreamId>,
    /// What a stream may hold that has never left (F6).
    pub(super) most_unsent: u64,
    /// Streams whose writer waits for room, and of whose bytes enough have left: for more than the
    /// stream itself has in the buffer (F6).
    pub(super) starved: Queue<usize, StreamId>,
    /// The one stream that may keep memory for much while it has nothing to send (F6).
    roomy: Option<StreamId>,
    /// When messages are given up (M4).
    pub(super) deadlines: BTreeSet<(Duration, StreamId)>,
}

impl Sending {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            buffered: 0,
            message_bytes: 0,
            unacknowledged: 0,
            limit: 0,
            sent: 0,
            first_limit: 0,
            stream_limit: 0,
            urgent: Line::default(),
            fresh: Line::default(),
            messages: BTreeSet::new(),
            most_unsent: LEAST_UNSENT,
            starved: Queue::default(),
            roomy: None,
            deadlines: BTreeSet::new(),
        }
    }

    pub(super) fn handle_params(&mut self, params: &Params) {
        self.limit = params.receive_window;
        self.first_limit = params.receive_window;
        self.stream_limit = params.stream_window;
    }

    pub(super) fn stream_limit(&self) -> u64 {
        self.stream_limit
    }

    /// Room in the buffer.
    pub(super) fn free(&self) -> usize {
        self.capacity.saturating_sub(self.buffered)
    }

    /// What a stream takes now: as much as it leaves to the others, and as soon leaves (F6).
    pub(super) fn room(&self, stream: &SendStream) -> usize {
        let left = self.free().saturating_sub(stream.buffered()) / 2;
        let unsent = self.most_unsent.saturating_sub(stream.unsent());
        left.min(usize::try_from(unsent).unwrap_or(usize::MAX))
    }

    /// Room for one more message: all of them together have as much as they leave (F6).
    pub(super) fn free_for_messages(&self) -> usize {
        self.free().saturating_sub(self.message_bytes) / 2
    }

    pub(super) fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// The longest message that the peer's window certainly lets through, whatever else waits in
    /// it: half of what it was at first, which no side makes less than a datagram (M2, M5).
    pub(super) fn longest_message(&self) -> usize {
        let half = self.first_limit.max(wire::BASE_DATAGRAM as u64) / 2;
        usize::try_from(half)
            .unwrap_or(MAX_MESSAGE)
            .min(MAX_MESSAGE)
    }

    /// A stream has changed, which kept so many bytes, and had so many unacknowledged, `before`.
    pub(super) fn handle_change(
        &mut self,
        id: StreamId,
        (kept, unacknowledged): (usize, u64),
        stream: &SendStream,
    ) {
        let with_it = |sum: usize| sum.saturating_sub(kept).saturating_add(stream.buffered());
        self.buffered = with_it(self.buffered);
        if id.is_message() {
            self.message_bytes = with_it(self.message_bytes);
        }
        let others = self.unacknowledged.saturating_sub(unacknowledged);
        self.unacknowledged = others.saturating_add(stream.unacknowledged());
        let waits = stream.starved && stream.unsent() <= self.most_unsent / 2;
        let starved = waits.then(|| stream.buffered());
        self.starved.set(id, starved);
        self.line_up(id, stream);
    }

    /// A stream is in line as long as it has something to send, and no longer.
    pub(super) fn line_up(&mut self, id: StreamId, stream: &SendStream) {
        let has_fresh = stream.fresh_chunk(1).is_some();
        self.stand(id, stream.urgent_chunk(1).is_some(), has_fresh);
    }

    fn stand(&mut self, id: StreamId, is_urgent: bool, has_fresh: bool) {
        self.urgent.set(id, is_urgent);
        let turn = Turn::of(id);
        if turn == Turn::Messages {
            match has_fresh {
                true => self.messages.insert(id),
                false => self.messages.remove(&id),
            };
        }
        let stands = has_fresh || (turn == Turn::Messages && !self.messages.is_empty());
        self.fresh.set(turn, stands);
    }

    /// The stream with the next new bytes.
    fn next_fresh(&self) -> Option<StreamId> {
        match self.fresh.first()? {
            Turn::Messages => self.messages.first().copied(),
            Turn::Stream(id) => Some(id),
        }
    }

    /// The stream is over.
    pub(super) fn forget(&mut self, id: StreamId, stream: &SendStream) {
        self.stand(id, false, false);
        if let Some(deadline) = stream.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        self.starved.set(id, None);
    }

    pub(super) fn clear(&mut self) {
        *self = Self {
            limit: self.limit,
            sent: self.sent,
            stream_limit: self.stream_limit,
            ..Self::new(self.capacity)
        };
    }
}

impl Streams {
    /// The peer takes so many bytes of all streams together (F2).
    pub(crate) fn handle_max_data(&mut self, limit: u64) {
        self.sending.limit = self.sending.limit.max(limit);
    }

    /// Bytes of all streams that the peer still takes.
    pub(super) fn credit(&self) -> u64 {
        self.sending.limit.saturating_sub(self.sending.sent)
    }

    /// The next piece to send, with its header within `room` bytes.
    pub(crate) fn next_chunk(&self, room: usize) -> Option<Chunk> {
        if let Some(id) = self.sending.urgent.first() {
            let stream = self.sends.get(&id)?;
            return fitting(room, u64::MAX, |max| stream.urgent_chunk(max));
        }
        let credit = self.credit();
        let id = self.sending.next_fresh().filter(|_| credit > 0)?;
        let stream = self.sends.get(&id)?;
        fitting(room, credit, |max| stream.fresh_chunk(max))
    }

    /// Appends the bytes of a chunk that [`next_chunk`](Self::next_chunk) gave.
    pub(crate) fn copy(&self, chunk: &Chunk, out: &mut Vec<u8>) {
        if let Some(stream) = self.sends.get(&chunk.id) {
            stream.copy(&chunk.range, out);
        }
    }

    /// Packet `number` carries `chunk`: then it is the turn of others (S5). Answers how many of its
    /// bytes leave for the first time.
    pub(crate) fn handle_sent(&mut self, number: u64, chunk: &Chunk) -> u64 {
        self.sending.urgent.pass(chunk.id);
        if self.sending.next_fresh() == Some(chunk.id) {
            self.sending.fresh.pass(Turn::of(chunk.id));
        }
        let fresh = self.change(chunk.id, |stream| stream.handle_sent(number, chunk));
        let fresh = fresh.unwrap_or(0);
        self.sending.sent = self.sending.sent.saturating_add(fresh);
        fresh
    }

    /// Whether more than one piece may be waiting: a packet may be full although the first is
    /// small.
    pub(crate) fn has_several(&self) -> bool {
        let (urgent, fresh) = (self.sending.urgent.len(), self.sending.fresh.len());
        urgent.saturating_add(fresh) > 1
    }

    /// Returns how many bytes are acknowledged for the first time.
    pub(crate) fn handle_acked(&mut self, chunk: &Chunk) -> u64 {
        let acked = self.change(chunk.id, |stream| {
            let fresh = stream.handle_acked(chunk);
            (
                fresh,
                stream.awaited && stream.is_acknowledged() == Ok(true),
                stream.is_roomy() && !stream.is_done(),
            )
        });
        let (fresh, is_answer, is_roomy) = acked.unwrap_or_default();
        if is_roomy && self.sending.roomy != Some(chunk.id) {
            let before = self.sending.roomy.replace(chunk.id);
            let before = before.and_then(|id| self.sends.get_mut(&id));
            before.into_iter().for_each(SendStream::tighten);
        }
        if is_answer {
            self.news.acknowledged.set(chunk.id, true); // (S8)
        }
        self.settle_send(chunk.id);
        fresh
    }

    /// Nothing was sent for a while: memory for much is not needed.
    pub(crate) fn handle_idle(&mut self) {
        let roomy = self.sending.roomy.take();
        let roomy = roomy.and_then(|id| self.sends.get_mut(&id));
        roomy.into_iter().for_each(SendStream::tighten);
    }

    /// Packet `number` with `chunk` is lost.
    pub(crate) fn handle_lost(&mut self, number: u64, chunk: &Chunk) {
        self.change(chunk.id, |stream| stream.handle_lost(number, chunk));
    }

    /// How far a chunk is from what its stream's reader waits for; `None` if it is not needed.
    pub(crate) fn distance(&self, chunk: &Chunk) -> Option<u64> {
        self.sends.get(&chunk.id)?.distance(chunk)
    }

    /// Whether the peer may lack all of `chunk`.
    pub(crate) fn is_whole(&self, chunk: &Chunk) -> bool {
        let stream = self.sends.get(&chunk.id);
        stream.is_some_and(|stream| stream.is_whole(chunk))
    }

    /// Congestion control lets so many bytes be in flight (F6).
    pub(crate) fn set_window(&mut self, window: u64) {
        self.sending.most_unsent = LEAST_UNSENT.max(window / 4);
    }

    /// Tells who was refused that there is room again, each once (F6).
    pub(crate) fn announce_room(&mut self) {
        if self.news.message_refused && self.sending.free_for_messages() > 0 {
            (self.news.message_refused, self.news.message_room) = (false, true);
        }
        self.announce_room_to_writers();
    }

    /// The same of those who write to streams, of which something has left.
    pub(crate) fn announce_room_to_writers(&mut self) {
        let free = self.sending.free();
        let news = &mut self.news;
        // As much as a write needs to take a byte.
        let has_room = |buffered| free.saturating_sub(buffered) >= 2;
        while let Some(id) = self.sending.starved.pop_if(has_room) {
            if let Some(stream) = self.sends.get_mut(&id) {
                stream.starved = false;
                news.writable.set(id, true);
            }
        }
    }
}

/// The piece that `take` gives, cut so that it fits into `room` with its header.
fn fitting(room: usize, credit: u64, take: impl Fn(u64) -> Option<Chunk>) -> Option<Chunk> {
    let whole = take(credit)?;
    let len = length(&whole.range).min(room as u64);
    let told = (len < wire::LEAST_LAST).then_some(len);
    let header = wire::stream_header_len(whole.id, whole.range.start, told);
    let room = room.checked_sub(header)? as u64;
    if length(&whole.range) <= room {
        return Some(whole);
    }
    (room >= LEAST_PART).then(|| take(room)).flatten()
}
