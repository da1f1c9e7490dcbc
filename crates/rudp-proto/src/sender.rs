//! The outgoing half of the stream: bytes wait here until they are acknowledged.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use crate::ranges::{RangeSet, length};

/// A piece of the stream as one packet carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
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

/// Each byte is in one of four states: acknowledged, in flight in exactly one
/// packet, lost (to be sent again), or never sent.
#[derive(Debug)]
pub(crate) struct SendStream {
    /// The bytes from offset `base` on.
    buffer: VecDeque<u8>,
    capacity: usize,
    base: u64,
    acked: RangeSet, // above `base`
    lost: RangeSet,
    /// The first offset never sent.
    next: u64,
    /// Where the peer's window ends (F2).
    limit: u64,
    fin: Fin,
    acked_bytes: u64,
    /// A write was cut short: the application waits for room (F6).
    starved: bool,
}

impl SendStream {
    pub(crate) fn new(capacity: usize, limit: u64) -> Self {
        Self {
            buffer: VecDeque::new(),
            capacity,
            base: 0,
            acked: RangeSet::default(),
            lost: RangeSet::default(),
            next: 0,
            limit,
            fin: Fin::Open,
            acked_bytes: 0,
            starved: false,
        }
    }

    fn end(&self) -> u64 {
        self.base.saturating_add(self.buffer.len() as u64)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.fin != Fin::Open
    }

    pub(crate) fn write(&mut self, data: &[u8]) -> usize {
        let room = self.capacity.saturating_sub(self.buffer.len());
        let (taken, left) = data.split_at(room.min(data.len()));
        self.buffer.extend(taken);
        self.starved |= !left.is_empty();
        taken.len()
    }

    pub(crate) fn finish(&mut self) {
        if self.fin == Fin::Open {
            self.fin = Fin::Due;
        }
    }

    pub(crate) fn unacknowledged(&self) -> u64 {
        self.end().saturating_sub(self.acked_bytes)
    }

    /// Whether all that was written, and the FIN, arrived.
    pub(crate) fn is_done(&self) -> bool {
        self.fin == Fin::Acked && self.buffer.is_empty()
    }

    /// The peer's window ends at `limit`; it never shrinks (F2).
    pub(crate) fn handle_limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// The next bytes to send, at most `max`: lost ones first, lowest offset
    /// first. The FIN may come alone.
    pub(crate) fn next_chunk(&self, max: u64) -> Option<Chunk> {
        let Range { start, end } = self.lost.first().unwrap_or_else(|| {
            self.next..self.end().min(self.limit).max(self.next) // (F2)
        });
        let range = start..end.min(start.saturating_add(max));
        let fin = self.fin == Fin::Due && range.end == self.end();
        (fin || !range.is_empty()).then_some(Chunk { range, fin })
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

    pub(crate) fn handle_sent(&mut self, chunk: &Chunk) {
        self.lost.remove(chunk.range.clone());
        self.next = self.next.max(chunk.range.end);
        if chunk.fin {
            self.fin = Fin::InFlight;
        }
    }

    /// Returns how many bytes are acknowledged for the first time.
    pub(crate) fn handle_acked(&mut self, chunk: &Chunk) -> u64 {
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
        fresh
    }

    /// The packet that carried `chunk` is lost: what is not acknowledged of it
    /// is to be sent again.
    pub(crate) fn handle_lost(&mut self, chunk: &Chunk) {
        if chunk.fin && self.fin == Fin::InFlight {
            self.fin = Fin::Due;
        }
        let range = self.base.max(chunk.range.start)..chunk.range.end;
        self.lost.insert(range.clone());
        for acked in self.acked.overlapping(range) {
            self.lost.remove(acked);
        }
    }

    /// Whether `chunk` holds anything that is not acknowledged yet.
    pub(crate) fn needs(&self, chunk: &Chunk) -> bool {
        let rest = self.base.max(chunk.range.start)..chunk.range.end;
        (chunk.fin && self.fin != Fin::Acked) || (length(&rest) > 0 && !self.acked.covers(&rest))
    }

    /// Whether a starved writer has room again; tells so once.
    pub(crate) fn take_room(&mut self) -> bool {
        let room = self.buffer.len() < self.capacity;
        room && core::mem::take(&mut self.starved)
    }

    /// Drops what is not delivered: nobody waits for it any more.
    pub(crate) fn give_up(&mut self) {
        self.buffer = VecDeque::new();
        self.lost = RangeSet::default();
        self.base = self.next;
        self.fin = Fin::Acked;
        self.acked = RangeSet::default();
        self.acked_bytes = self.next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunk(range: Range<u64>) -> Chunk {
        Chunk { range, fin: false }
    }

    #[test]
    fn a_late_acknowledgement_cancels_the_repetition() {
        let mut stream = SendStream::new(100, 100);
        assert_eq!(stream.write(b"abcdefgh"), 8);
        let first = stream.next_chunk(4).unwrap();
        stream.handle_sent(&first);
        stream.handle_lost(&first);
        assert_eq!(stream.next_chunk(4), Some(first.clone()));
        assert_eq!(stream.handle_acked(&first), 4);
        assert_eq!(stream.next_chunk(9), Some(chunk(4..8)));
    }

    #[test]
    fn the_window_holds_new_data_back_but_not_lost_data() {
        let mut stream = SendStream::new(100, 3);
        stream.write(b"abcdefgh");
        let first = stream.next_chunk(100).unwrap();
        assert_eq!(first, chunk(0..3));
        stream.handle_sent(&first);
        assert_eq!(stream.next_chunk(100), None);
        stream.handle_lost(&first);
        assert_eq!(stream.next_chunk(100), Some(first));
        stream.handle_limit(8);
        stream.handle_limit(4);
        assert_eq!(stream.limit, 8);
    }

    #[test]
    fn a_starved_writer_hears_of_room_once() {
        let mut stream = SendStream::new(4, 100);
        assert_eq!(stream.write(b"abcdef"), 4);
        assert!(!stream.take_room());
        let sent = stream.next_chunk(2).unwrap();
        stream.handle_sent(&sent);
        stream.handle_acked(&sent);
        assert!(stream.take_room());
        assert!(!stream.take_room());
    }

    proptest! {
        /// Whatever is lost, late or split, each byte goes out until it is
        /// acknowledged, with the right contents, and then never again.
        #[test]
        fn every_byte_is_sent_until_it_is_acknowledged(
            fates in prop::collection::vec((1_u64..9, 0_u8..4), 1..200),
        ) {
            let data: Vec<u8> = (0..100).collect();
            let mut stream = SendStream::new(64, 1000);
            let (mut written, mut acked) = (0, RangeSet::default());
            let mut late: Vec<Chunk> = Vec::new();
            let all_arrive = core::iter::repeat_n((7, 0), 200);
            for (max, fate) in fates.into_iter().chain(all_arrive) {
                written += stream.write(&data[written..]);
                if written == data.len() {
                    stream.finish();
                }
                let Some(chunk) = stream.next_chunk(max) else { continue };
                let mut out = Vec::new();
                stream.copy(&chunk.range, &mut out);
                prop_assert_eq!(&out, &data[chunk.range.start as usize..chunk.range.end as usize]);
                prop_assert!(chunk.range.clone().all(|n| !acked.contains(n)));
                stream.handle_sent(&chunk);
                match fate {
                    0 | 1 => {
                        let fresh = acked.insert(chunk.range.clone());
                        prop_assert_eq!(stream.handle_acked(&chunk), fresh);
                    }
                    2 => stream.handle_lost(&chunk),
                    _ => {
                        stream.handle_lost(&chunk);
                        late.push(chunk);
                        let chunk = late.swap_remove(late.len() / 2);
                        let fresh = acked.insert(chunk.range.clone());
                        prop_assert_eq!(stream.handle_acked(&chunk), fresh);
                        prop_assert!(!stream.needs(&chunk));
                    }
                }
            }
            prop_assert!(stream.is_done());
            prop_assert_eq!(stream.unacknowledged(), 0);
        }
    }
}
