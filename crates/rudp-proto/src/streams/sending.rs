//! Which bytes leave next: what is lost first, then the streams in turn (S5).

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use super::{MAX_MESSAGE, Streams};
use crate::StreamId;
use crate::queue::Queue;
use crate::ranges::length;
use crate::sender::{Chunk, SendStream};
use crate::wire::{self, Params};

/// Fewer bytes of a longer piece are not worth a header.
const LEAST_PART: u64 = 64;

/// What all outgoing halves share.
#[derive(Debug)]
pub(super) struct Sending {
    /// Bytes kept for all streams, at most and now (F6).
    capacity: usize,
    buffered: usize,
    /// Of these, bytes of messages.
    messages: usize,
    unacknowledged: u64,
    /// Bytes of all streams that the peer takes, and that left (F2).
    limit: u64,
    sent: u64,
    /// What `limit` was at first.
    first_limit: u64,
    /// Where the window of a new stream ends.
    stream_limit: u64,
    /// Streams with something that needs no window: lost bytes, or a FIN alone.
    urgent: VecDeque<StreamId>,
    /// Streams with new bytes, and one message of those that have.
    fresh: VecDeque<StreamId>,
    /// The other messages with new bytes: begun before another is done, they could fill the
    /// peer's window with parts, of which none can be read (M5).
    messages_behind: VecDeque<StreamId>,
    has_message: bool,
    /// Streams whose writer waits for room: for more than the stream itself has in the buffer (F6).
    starved: Queue<usize, StreamId>,
    /// When messages are given up (M4).
    pub(super) deadlines: BTreeSet<(Duration, StreamId)>,
}

impl Sending {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            buffered: 0,
            messages: 0,
            unacknowledged: 0,
            limit: 0,
            sent: 0,
            first_limit: 0,
            stream_limit: 0,
            urgent: VecDeque::new(),
            fresh: VecDeque::new(),
            messages_behind: VecDeque::new(),
            has_message: false,
            starved: Queue::default(),
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

    /// Room for one more message: all of them together have as much as they leave (F6).
    pub(super) fn free_for_messages(&self) -> usize {
        self.free().saturating_sub(self.messages) / 2
    }

    pub(super) fn handle_written(&mut self, bytes: usize) {
        self.buffered = self.buffered.saturating_add(bytes);
        self.unacknowledged = self.unacknowledged.saturating_add(bytes as u64);
    }

    pub(super) fn handle_message(&mut self, bytes: usize) {
        self.messages = self.messages.saturating_add(bytes);
        self.handle_written(bytes);
    }

    /// The longest message that the peer's window certainly lets through, whatever else waits in
    /// it: half of what it was at first, which no side makes less than a datagram (M2, M5).
    pub(super) fn longest_message(&self) -> usize {
        let half = self.first_limit.max(wire::BASE_DATAGRAM as u64) / 2;
        usize::try_from(half)
            .unwrap_or(MAX_MESSAGE)
            .min(MAX_MESSAGE)
    }

    fn handle_freed(&mut self, id: StreamId, bytes: usize) {
        self.buffered = self.buffered.saturating_sub(bytes);
        if id.is_message() {
            self.messages = self.messages.saturating_sub(bytes);
        }
    }

    /// What the stream keeps is about to be dropped.
    pub(super) fn forget_bytes(&mut self, id: StreamId, stream: &SendStream) {
        self.handle_freed(id, stream.buffered());
        self.unacknowledged = self.unacknowledged.saturating_sub(stream.unacknowledged());
    }

    /// Notes what the writer of a stream waits for, if it does.
    pub(super) fn note_starved(&mut self, id: StreamId, stream: &SendStream) {
        let buffered = stream.starved.then(|| stream.buffered());
        self.starved.set(id, buffered);
    }

    /// Puts a stream in line for what it has to send.
    pub(super) fn line_up(&mut self, id: StreamId, stream: &mut SendStream) {
        if !stream.in_urgent && stream.urgent_chunk(1).is_some() {
            stream.in_urgent = true;
            self.urgent.push_back(id);
        }
        if !stream.in_fresh && stream.fresh_chunk(1).is_some() {
            stream.in_fresh = true;
            if id.is_message() && self.has_message {
                return self.messages_behind.push_back(id);
            }
            self.has_message |= id.is_message();
            self.fresh.push_back(id);
        }
    }

    /// The stream has left the line of new bytes: if it is a message, the next one steps in.
    fn leave_fresh(&mut self, id: StreamId) {
        if id.is_message() {
            let next = self.messages_behind.pop_front();
            self.has_message = next.is_some();
            self.fresh.extend(next);
        }
    }

    /// The stream is over.
    pub(super) fn forget(&mut self, id: StreamId, stream: &SendStream) {
        if stream.in_urgent {
            self.urgent.retain(|other| *other != id);
        }
        if stream.in_fresh {
            let before = self.fresh.len();
            self.fresh.retain(|other| *other != id);
            self.messages_behind.retain(|other| *other != id);
            if self.fresh.len() < before {
                self.leave_fresh(id);
            }
        }
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
    /// How many written bytes are not acknowledged yet, of all streams and messages.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.sending.unacknowledged
    }

    /// The application did something to its half.
    pub(super) fn handle_change(&mut self, id: StreamId) {
        if let Some(stream) = self.sends.get_mut(&id) {
            self.sending.line_up(id, stream);
            self.sending.note_starved(id, stream);
        }
    }

    /// The peer takes so many bytes of all streams together (F2).
    pub(crate) fn handle_max_data(&mut self, limit: u64) {
        self.sending.limit = self.sending.limit.max(limit);
    }

    /// Bytes of all streams that the peer still takes.
    fn credit(&self) -> u64 {
        self.sending.limit.saturating_sub(self.sending.sent)
    }

    /// The next piece to send, with its header within `room` bytes.
    pub(crate) fn next_chunk(&mut self, room: usize) -> Option<Chunk> {
        while let Some(id) = self.sending.urgent.front() {
            let stream = self.sends.get_mut(id)?;
            if stream.urgent_chunk(1).is_some() {
                return fitting(room, u64::MAX, |max| stream.urgent_chunk(max));
            }
            stream.in_urgent = false; // what it had is acknowledged after all
            self.sending.urgent.pop_front();
        }
        let credit = self.credit();
        while let Some(id) = self.sending.fresh.front().filter(|_| credit > 0) {
            let stream = self.sends.get_mut(id)?;
            if stream.fresh_chunk(1).is_some() {
                return fitting(room, credit, |max| stream.fresh_chunk(max));
            }
            stream.in_fresh = false; // it was reset
            let gone = self.sending.fresh.pop_front();
            gone.into_iter().for_each(|id| self.sending.leave_fresh(id));
        }
        None
    }

    /// Appends the bytes of a chunk that [`next_chunk`](Self::next_chunk) gave.
    pub(crate) fn copy(&self, chunk: &Chunk, out: &mut Vec<u8>) {
        if let Some(stream) = self.sends.get(&chunk.id) {
            stream.copy(&chunk.range, out);
        }
    }

    /// Packet `number` carries `chunk`: then it is the turn of others (S5).
    pub(crate) fn handle_sent(&mut self, number: u64, chunk: &Chunk) {
        let Some(stream) = self.sends.get_mut(&chunk.id) else {
            return;
        };
        let fresh = stream.handle_sent(number, chunk);
        let sending = &mut self.sending;
        sending.sent = sending.sent.saturating_add(fresh);
        if sending.urgent.front() == Some(&chunk.id) {
            sending.urgent.pop_front();
            stream.in_urgent = false;
        }
        if sending.fresh.front() == Some(&chunk.id) {
            sending.fresh.pop_front();
            stream.in_fresh = stream.fresh_chunk(1).is_some();
            match stream.in_fresh {
                true => sending.fresh.push_back(chunk.id),
                false => sending.leave_fresh(chunk.id),
            }
        }
        sending.line_up(chunk.id, stream);
    }

    /// Whether more than one piece may be waiting: a packet may be full although the first is
    /// small.
    pub(crate) fn has_several(&self) -> bool {
        let waiting = self
            .sending
            .urgent
            .len()
            .saturating_add(self.sending.fresh.len());
        waiting > 1
    }

    /// Returns how many bytes are acknowledged for the first time.
    pub(crate) fn handle_acked(&mut self, chunk: &Chunk) -> u64 {
        let Some(stream) = self.sends.get_mut(&chunk.id) else {
            return 0;
        };
        let before = stream.buffered();
        let fresh = stream.handle_acked(chunk);
        let freed = before.saturating_sub(stream.buffered());
        self.sending.handle_freed(chunk.id, freed);
        self.sending.note_starved(chunk.id, stream);
        let left = self.sending.unacknowledged.saturating_sub(fresh);
        self.sending.unacknowledged = left;
        if stream.awaited && stream.is_acknowledged() == Ok(true) {
            self.news.acknowledged.push_back(chunk.id); // (S8)
        }
        self.settle_send(chunk.id);
        fresh
    }

    /// Packet `number` with `chunk` is lost.
    pub(crate) fn handle_lost(&mut self, number: u64, chunk: &Chunk) {
        if let Some(stream) = self.sends.get_mut(&chunk.id) {
            stream.handle_lost(number, chunk);
            self.sending.line_up(chunk.id, stream);
        }
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

    /// Tells starved writers that there is room again, each once (F6).
    pub(crate) fn announce_room(&mut self) {
        let free = self.sending.free();
        let news = &mut self.news;
        if news.message_refused && self.sending.free_for_messages() > 0 {
            (news.message_refused, news.message_room) = (false, true);
        }
        // As much as a write needs to take a byte.
        let has_room = |buffered| free.saturating_sub(buffered) >= 2;
        while let Some(id) = self.sending.starved.pop_if(has_room) {
            if let Some(stream) = self.sends.get_mut(&id) {
                stream.starved = false;
                news.writable(id, stream);
            }
        }
    }
}

/// The piece that `take` gives, cut so that it fits into `room` with its header.
fn fitting(room: usize, credit: u64, take: impl Fn(u64) -> Option<Chunk>) -> Option<Chunk> {
    let whole = take(credit)?;
    let len = length(&whole.range).min(room as u64);
    let header = wire::stream_header_len(whole.id, whole.range.start, len);
    let room = room.checked_sub(header)? as u64;
    if length(&whole.range) <= room {
        return Some(whole);
    }
    (room >= LEAST_PART).then(|| take(room)).flatten()
}
