//! The outgoing half of a stream: bytes wait here until they are acknowledged.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use crate::ranges::{RangeSet, length};
use crate::{StreamId, WriteError};

/// Bytes for which a stream keeps memory while it has nothing to send, if it is not the one that
/// keeps more: all of them together no more than their buffer has (F6).
const KEPT: usize = 16 << 10;

/// A piece of a stream as one packet carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) id: StreamId,
    pub(crate) range: Range<u64>,
    pub(crate) fin: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fin {
    Open,
    /// Finished, and the FIN is to be sent, for the first time or again.
    Due,
    InFlight,
    Acked,
}

/// The end by which the rest is not delivered (S6).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Reset {
    code: u64,
    acked: bool,
    /// The peer asked for it, and the application has not ended the half itself.
    stopped: bool,
    /// The peer asked for it.
    by_peer: bool,
}

/// Each byte is acknowledged, in flight, lost (to be sent again), or never sent.
#[derive(Debug)]
pub(crate) struct SendStream {
    id: StreamId,
    /// The bytes from offset `base` on.
    buffer: VecDeque<u8>,
    base: u64,
    acked: RangeSet, // above `base`
    lost: RangeSet,
    /// The first offset never sent.
    next: u64,
    /// What was sent again while an earlier packet with it was in flight, and the packet that has
    /// it now: only if that one is lost, it is lost.
    repeated: Vec<(Range<u64>, u64)>,
    /// Where the peer's window ends (F2).
    limit: u64,
    fin: Fin,
    /// The newest packet with the FIN.
    fin_in: u64,
    reset: Option<Reset>,
    acked_bytes: u64,
    /// When a message is given up (M4).
    pub(crate) deadline: Option<Duration>,
    /// The application waits until everything is acknowledged (S8).
    pub(crate) awaited: bool,
    /// A write was cut short: the application waits for room (F6).
    pub(crate) starved: bool,
}

impl SendStream {
    pub(crate) fn new(id: StreamId, limit: u64) -> Self {
        Self {
            id,
            buffer: VecDeque::new(),
            base: 0,
            acked: RangeSet::default(),
            lost: RangeSet::default(),
            next: 0,
            repeated: Vec::new(),
            limit,
            fin: Fin::Open,
            fin_in: 0,
            reset: None,
            acked_bytes: 0,
            deadline: None,
            awaited: false,
            starved: false,
        }
    }

    fn end(&self) -> u64 {
        self.base.saturating_add(self.buffer.len() as u64)
    }

    /// How many bytes it keeps.
    pub(crate) fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// How many bytes have never left.
    pub(crate) fn unsent(&self) -> u64 {
        self.end().saturating_sub(self.next)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.fin != Fin::Open || self.reset.is_some()
    }

    /// The peer's words, if it wants no more and the application did not end the half before (S7).
    pub(crate) fn stopped(&self) -> Option<u64> {
        let stopped = self.reset.filter(|reset| reset.stopped);
        stopped.map(|reset| reset.code)
    }

    pub(crate) fn is_reset(&self) -> bool {
        self.reset.is_some()
    }

    /// Whether nothing was written, and it was not ended.
    pub(crate) fn is_untouched(&self) -> bool {
        self.end() == 0 && !self.is_finished()
    }

    /// Takes what `room` allows.
    pub(crate) fn write(&mut self, data: &[u8], room: usize) -> usize {
        let (taken, left) = data.split_at(room.min(data.len()));
        self.buffer.extend(taken);
        self.starved |= !left.is_empty();
        taken.len()
    }

    /// The application writes no more.
    pub(crate) fn finish(&mut self) {
        self.starved = false;
        match &mut self.reset {
            Some(reset) => reset.stopped = false,
            None if self.fin == Fin::Open => self.fin = Fin::Due,
            None => {}
        }
    }

    /// Drops what is not acknowledged; the first code counts (S6). `stopped`: by the peer's wish.
    pub(crate) fn reset(&mut self, code: u64, stopped: bool) {
        let open = self.fin == Fin::Open;
        let reset = self.reset.get_or_insert(Reset {
            code,
            acked: false,
            stopped: stopped && open,
            by_peer: stopped,
        });
        reset.stopped &= stopped;
        self.starved = false;
        self.buffer = VecDeque::new();
        self.lost = RangeSet::default();
        self.acked = RangeSet::default();
        self.repeated = Vec::new();
        self.base = self.next;
        self.acked_bytes = self.next;
    }

    /// The code and the final size to tell, while the peer does not know (S6).
    pub(crate) fn reset_to_tell(&self) -> Option<(u64, u64)> {
        let reset = self.reset.filter(|reset| !reset.acked)?;
        Some((reset.code, self.next))
    }

    pub(crate) fn handle_reset_acked(&mut self) {
        if let Some(reset) = &mut self.reset {
            reset.acked = true;
        }
    }

    pub(crate) fn unacknowledged(&self) -> u64 {
        self.end().saturating_sub(self.acked_bytes)
    }

    /// Whether everything written so far, and the FIN if there is one, arrived; if not, that is
    /// awaited (S8).
    pub(crate) fn is_acknowledged(&mut self) -> Result<bool, WriteError> {
        match self.reset {
            Some(reset) if reset.by_peer => Err(WriteError::Stopped(reset.code)),
            Some(_) => Err(WriteError::Finished),
            None => {
                let fin = matches!(self.fin, Fin::Due | Fin::InFlight);
                self.awaited = fin || self.unacknowledged() > 0;
                Ok(!self.awaited)
            }
        }
    }

    /// Whether nothing is left to do: all that was written, and the FIN, arrived, or the peer
    /// knows of the reset and the application does.
    pub(crate) fn is_done(&self) -> bool {
        match self.reset {
            Some(reset) => reset.acked && !reset.stopped,
            None => self.fin == Fin::Acked && self.buffer.is_empty(),
        }
    }

    /// The peer's window ends at `limit`; it never shrinks (F2).
    pub(crate) fn handle_limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// What needs no window: lost bytes, lowest offset first, at most `max`; else the FIN alone.
    pub(crate) fn urgent_chunk(&self, max: u64) -> Option<Chunk> {
        if self.reset.is_some() {
            return None;
        }
        let due = self.fin == Fin::Due;
        let alone = || (due && self.next == self.end()).then_some(self.next..self.next);
        let Range { start, end } = self.lost.first().or_else(alone)?;
        self.chunk(start, end.min(start.saturating_add(max)))
    }

    /// New bytes, at most `max`, as far as the stream's window goes.
    pub(crate) fn fresh_chunk(&self, max: u64) -> Option<Chunk> {
        let end = self.end().min(self.limit); // (F2)
        let range = self.next..end.min(self.next.saturating_add(max));
        let chunk = self.chunk(range.start, range.end)?;
        (!range.is_empty()).then_some(chunk)
    }

    fn chunk(&self, start: u64, end: u64) -> Option<Chunk> {
        let fin = self.fin == Fin::Due && end == self.end();
        let id = self.id;
        let range = start..end;
        (fin || !range.is_empty()).then_some(Chunk { id, range, fin })
    }

    /// Appends the bytes of `range`, which must not be acknowledged yet.
    pub(crate) fn copy(&self, range: &Range<u64>, out: &mut Vec<u8>) {
        let at = |offset: u64| {
            let index = usize::try_from(offset.saturating_sub(self.base)).unwrap_or(usize::MAX);
            index.min(self.buffer.len())
        };
        let (front, back) = self.buffer.as_slices();
        let (start, end) = (at(range.start), at(range.end));
        let middle = front.len();
        out.extend_from_slice(front.get(start..end.min(middle)).unwrap_or(&[]));
        let back_range = start.max(middle).saturating_sub(middle)..end.saturating_sub(middle);
        out.extend_from_slice(back.get(back_range).unwrap_or(&[]));
    }

    /// Packet `number` carries `chunk`; answers how many of its bytes leave for the first time.
    pub(crate) fn handle_sent(&mut self, number: u64, chunk: &Chunk) -> u64 {
        let Range { start, end } = chunk.range;
        let again = start..end.min(self.next);
        if !again.is_empty() && !self.lost.covers(&again) {
            self.repeated.push((again, number));
        }
        self.lost.remove(chunk.range.clone());
        let fresh = end.saturating_sub(self.next);
        self.next = self.next.max(end);
        if chunk.fin {
            self.fin = Fin::InFlight;
            self.fin_in = number;
        }
        fresh
    }

    /// Returns how many bytes are acknowledged for the first time.
    pub(crate) fn handle_acked(&mut self, chunk: &Chunk) -> u64 {
        if self.reset.is_some() {
            return 0;
        }
        if chunk.fin {
            self.fin = Fin::Acked;
        }
        self.lost.remove(chunk.range.clone()); // a late ACK cancels the repetition (L5)
        let fresh = self
            .acked
            .insert(self.base.max(chunk.range.start)..chunk.range.end);
        self.acked_bytes = self.acked_bytes.saturating_add(fresh);
        if let Some(prefix) = self.acked.first().filter(|range| range.start <= self.base) {
            let gone = usize::try_from(prefix.end.saturating_sub(self.base)).unwrap_or(usize::MAX);
            self.buffer.drain(..gone.min(self.buffer.len()));
            self.base = prefix.end;
            self.acked.pop_first();
        }
        let (base, acked) = (self.base, &self.acked);
        let is_needed = |range: &Range<u64>| range.end > base && !acked.covers(range);
        self.repeated.retain(|(range, _)| is_needed(range));
        fresh
    }

    /// Whether it keeps memory for much, and has nothing to send.
    pub(crate) fn is_roomy(&self) -> bool {
        self.buffer.is_empty() && self.buffer.capacity() > KEPT
    }

    /// Gives memory back while it has nothing to send.
    pub(crate) fn tighten(&mut self) {
        if self.is_roomy() {
            self.buffer.shrink_to(KEPT);
        }
    }

    /// Packet `number` with `chunk` is lost: what is not acknowledged of it, and in no later
    /// packet, is to be sent again.
    pub(crate) fn handle_lost(&mut self, number: u64, chunk: &Chunk) {
        if self.reset.is_some() {
            return;
        }
        if chunk.fin && self.fin == Fin::InFlight && self.fin_in <= number {
            self.fin = Fin::Due;
        }
        let range = self.base.max(chunk.range.start)..chunk.range.end;
        self.lost.insert(range.clone());
        for acked in self.acked.overlapping(range) {
            self.lost.remove(acked);
        }
        self.repeated.retain(|(_, carrier)| *carrier != number);
        for (later, _) in self.repeated.iter().filter(|(_, it)| *it > number) {
            let start = later.start.max(chunk.range.start);
            self.lost.remove(start..later.end.min(chunk.range.end));
        }
    }

    /// Whether nothing of `chunk` is acknowledged.
    pub(crate) fn is_whole(&self, chunk: &Chunk) -> bool {
        let known = chunk.range.start < self.base || (chunk.fin && self.fin == Fin::Acked);
        let acked = self.acked.overlapping(chunk.range.clone()).next();
        self.reset.is_none() && !known && acked.is_none()
    }

    /// How far `chunk` is from the first byte that the peer lacks; `None` if it holds nothing that
    /// is not acknowledged yet.
    pub(crate) fn distance(&self, chunk: &Chunk) -> Option<u64> {
        if self.reset.is_some() {
            return None;
        }
        let rest = self.base.max(chunk.range.start)..chunk.range.end;
        let needed = (chunk.fin && self.fin != Fin::Acked)
            || (length(&rest) > 0 && !self.acked.covers(&rest));
        needed.then(|| rest.start.saturating_sub(self.base))
    }
}

#[cfg(test)]
mod tests;
