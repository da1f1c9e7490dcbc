//! The incoming half of the stream: bytes wait here until they are in order and
//! the application reads them.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::wire::MAX_VARINT;

/// The most separate pieces kept beyond the first gap (F5).
pub(crate) const MAX_SEGMENTS: usize = 1024;

/// Why stream data is not taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unacceptable {
    /// No room for one more separate piece: the packet is not acknowledged, and
    /// comes again (F5).
    NoRoom,
    /// The peer broke a rule.
    Violation(&'static str),
}

#[derive(Debug)]
pub(crate) struct RecvStream {
    /// The bytes in order, from offset `read` on.
    ready: VecDeque<u8>,
    /// Beyond the first gap, by offset: disjoint, and only what arrived takes memory.
    pieces: BTreeMap<u64, Vec<u8>>,
    /// The offset of the next byte for the application.
    read: u64,
    window: u64,
    /// The largest limit told to the peer, and acknowledged by it.
    advertised: u64,
    confirmed: u64,
    /// The limit is to be told (again).
    update_due: bool,
    /// The stream's length, once the FIN arrived.
    end: Option<u64>,
    end_read: bool,
}

impl RecvStream {
    pub(crate) fn new(window: u64) -> Self {
        Self {
            ready: VecDeque::new(),
            pieces: BTreeMap::new(),
            read: 0,
            window,
            advertised: window,
            confirmed: window,
            update_due: false,
            end: None,
            end_read: false,
        }
    }

    /// The end of what is in order.
    fn in_order(&self) -> u64 {
        self.read.saturating_add(self.ready.len() as u64)
    }

    /// The end of the farthest piece.
    fn highest(&self) -> u64 {
        let last = self.pieces.last_key_value();
        last.map_or_else(|| self.in_order(), |(start, piece)| end_of(*start, piece))
    }

    /// The end of the piece that holds or touches `offset` from below.
    fn piece_before(&self, offset: u64) -> Option<u64> {
        let (start, piece) = self.pieces.range(..=offset).next_back()?;
        Some(end_of(*start, piece)).filter(|end| *end >= offset)
    }

    /// Whether something waits for an earlier piece (L7).
    pub(crate) fn has_gap(&self) -> bool {
        self.in_order() < self.highest()
    }

    /// Takes a piece of the stream and returns how many bytes are new.
    pub(crate) fn handle_data(
        &mut self,
        offset: u64,
        data: &[u8],
        fin: bool,
    ) -> Result<u64, Unacceptable> {
        let end = offset.saturating_add(data.len() as u64);
        if end > self.advertised {
            return Err(Unacceptable::Violation("data beyond the window (F1)"));
        }
        let length_moved = match self.end {
            Some(length) => end > length || (fin && end != length),
            None => fin && end < self.highest(),
        };
        if length_moved {
            return Err(Unacceptable::Violation("the stream's length changed (F4)"));
        }
        let start = offset.max(self.in_order());
        let full = self.pieces.len() >= MAX_SEGMENTS;
        if full && start > self.in_order() && self.piece_before(start).is_none() {
            return Err(Unacceptable::NoRoom);
        }
        if fin {
            self.end = Some(end);
        }
        Ok(self.store(start, data.get(index(offset, start)..).unwrap_or(&[])))
    }

    /// Keeps what is new of `data`, which begins at `offset`, and says how much that was.
    fn store(&mut self, offset: u64, data: &[u8]) -> u64 {
        let end = end_of(offset, data);
        let (mut start, mut fresh) = (offset, 0_u64);
        while start < end {
            if let Some(known) = self.piece_before(start).filter(|known| *known > start) {
                start = known;
                continue;
            }
            let next = self.pieces.range(start..).next();
            let next = next.map_or(end, |(next, _)| end.min(*next));
            let part = data.get(index(offset, start)..index(offset, next));
            self.keep(start, part.unwrap_or(&[]));
            fresh = fresh.saturating_add(next.saturating_sub(start));
            start = next;
        }
        while let Some(piece) = self.pieces.remove(&self.in_order()) {
            self.ready.extend(piece);
        }
        fresh
    }

    fn keep(&mut self, start: u64, data: &[u8]) {
        if start == self.in_order() {
            return self.ready.extend(data);
        }
        let before = self.pieces.range_mut(..start).next_back();
        match before.filter(|(at, piece)| end_of(**at, piece) == start) {
            Some((_, piece)) => piece.extend_from_slice(data),
            None => drop(self.pieces.insert(start, data.into())),
        }
    }

    /// Fills `out` with what is in order. `Some(0)` at the end of the stream,
    /// `None` if there is nothing now.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Option<usize> {
        let count = self.ready.len().min(out.len());
        if self.ready.is_empty() {
            let ended = self.end == Some(self.read);
            self.end_read |= ended;
            return ended.then_some(0);
        }
        let (front, back) = self.ready.as_slices();
        let (to_front, to_back) = out.split_at_mut(count.min(front.len()));
        to_front
            .iter_mut()
            .zip(front)
            .for_each(|(to, from)| *to = *from);
        to_back
            .iter_mut()
            .zip(back)
            .for_each(|(to, from)| *to = *from);
        self.ready.drain(..count);
        self.read = self.read.saturating_add(count as u64);
        let unused = self.advertised.saturating_sub(self.read);
        if unused <= self.window / 2 && self.end.is_none() {
            self.update_due = true; // (F3)
        }
        Some(count)
    }

    /// Whether the application has read all that can still be read.
    pub(crate) fn is_drained(&self) -> bool {
        self.ready.is_empty() && (self.end != Some(self.read) || self.end_read)
    }

    /// Whether `read` would return something.
    pub(crate) fn is_readable(&self) -> bool {
        !self.is_drained()
    }

    /// The limit to tell the peer, if it is due (F3).
    pub(crate) fn poll_limit(&self) -> Option<u64> {
        let limit = self.read.saturating_add(self.window).min(MAX_VARINT);
        self.update_due.then_some(limit)
    }

    pub(crate) fn handle_limit_sent(&mut self, limit: u64) {
        self.advertised = self.advertised.max(limit);
        self.update_due = false;
    }

    pub(crate) fn handle_limit_acked(&mut self, limit: u64) {
        self.confirmed = self.confirmed.max(limit);
    }

    /// Whether the peer may still not know of a limit as high as `limit`, which
    /// is the newest.
    pub(crate) fn needs_limit(&self, limit: u64) -> bool {
        limit == self.advertised && limit > self.confirmed && self.end.is_none()
    }

    /// A MAX_DATA is lost: the newest goes out again, with today's value (F3).
    pub(crate) fn handle_limit_lost(&mut self, limit: u64) {
        self.update_due |= self.needs_limit(limit);
    }

    /// Frees everything: nobody will read any more.
    pub(crate) fn give_up(&mut self) {
        self.ready = VecDeque::new();
        self.pieces = BTreeMap::new();
        self.update_due = false;
    }
}

/// How far `to` is above `from`, as an index into a buffer.
fn end_of(start: u64, data: &[u8]) -> u64 {
    start.saturating_add(data.len() as u64)
}

fn index(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn read_all(stream: &mut RecvStream, step: usize) -> Vec<u8> {
        let (mut all, mut out) = (Vec::new(), [0; 64]);
        while let Some(n) = stream.read(&mut out[..step]).filter(|n| *n > 0) {
            all.extend_from_slice(&out[..n]);
        }
        all
    }

    #[test]
    fn the_end_is_told_after_the_last_byte() {
        let mut stream = RecvStream::new(100);
        assert_eq!(stream.handle_data(2, b"c", true), Ok(1));
        assert_eq!(stream.read(&mut [0; 9]), None);
        assert_eq!(stream.handle_data(0, b"ab", false), Ok(2));
        assert_eq!(read_all(&mut stream, 2), b"abc");
        assert_eq!(stream.read(&mut [0; 9]), Some(0));
        assert!(stream.is_drained());
    }

    #[test]
    fn only_what_arrived_takes_memory() {
        let mut stream = RecvStream::new(1 << 40);
        assert_eq!(stream.handle_data((1 << 40) - 1, b"x", false), Ok(1));
        let kept: usize = stream.pieces.values().map(Vec::capacity).sum();
        assert!(stream.ready.capacity() + kept < 1_000);
    }

    #[test]
    fn data_beyond_the_window_and_a_moving_end_are_violations() {
        let mut stream = RecvStream::new(4);
        let window = Unacceptable::Violation("data beyond the window (F1)");
        let length = Unacceptable::Violation("the stream's length changed (F4)");
        assert_eq!(stream.handle_data(2, b"cde", false), Err(window));
        assert_eq!(stream.handle_data(2, b"cd", true), Ok(2));
        assert_eq!(stream.handle_data(2, b"c", true), Err(length));
        let mut stream = RecvStream::new(4);
        assert_eq!(stream.handle_data(2, b"cd", false), Ok(2));
        assert_eq!(stream.handle_data(0, b"ab", true), Err(length));
    }

    #[test]
    fn pieces_are_bounded_but_the_missing_one_is_always_taken() {
        let mut stream = RecvStream::new(10_000);
        for piece in 0..MAX_SEGMENTS as u64 {
            assert_eq!(stream.handle_data(2 + 2 * piece, b"x", false), Ok(1));
        }
        let full = Err(Unacceptable::NoRoom);
        assert_eq!(stream.handle_data(9_000, b"x", false), full);
        assert_eq!(stream.handle_data(0, b"abc", false), Ok(2));
        assert_eq!(read_all(&mut stream, 9), b"abx"); // what came first stays
    }

    #[test]
    fn the_window_is_renewed_when_half_of_it_is_read_and_again_when_the_news_is_lost() {
        let mut stream = RecvStream::new(8);
        assert_eq!(stream.handle_data(0, b"abcd", false), Ok(4));
        assert_eq!(stream.read(&mut [0; 3]), Some(3));
        assert_eq!(stream.poll_limit(), None);
        assert_eq!(stream.read(&mut [0; 3]), Some(1));
        assert_eq!(stream.poll_limit(), Some(12));
        stream.handle_limit_sent(12);
        assert_eq!(stream.poll_limit(), None);
        stream.handle_limit_lost(12);
        assert_eq!(stream.poll_limit(), Some(12));
        stream.handle_limit_acked(12);
        stream.handle_limit_sent(12);
        stream.handle_limit_lost(12);
        assert_eq!(stream.poll_limit(), None, "the peer knows");
    }

    proptest! {
        #[test]
        fn bytes_come_out_once_in_order_and_intact(
            pieces in prop::collection::vec((0_usize..60, 1_usize..12, 1_usize..9), 1..120),
        ) {
            let data: Vec<u8> = (0..60).collect();
            let mut stream = RecvStream::new(60);
            let mut out = Vec::new();
            for (start, len, step) in pieces {
                let end = (start + len).min(60);
                let piece = &data[start..end];
                prop_assert!(stream.handle_data(start as u64, piece, end == 60).is_ok());
                let mut buf = [0; 9];
                if let Some(n) = stream.read(&mut buf[..step]) {
                    out.extend_from_slice(&buf[..n]);
                }
            }
            prop_assert!(stream.handle_data(0, &data, true).is_ok());
            out.extend(read_all(&mut stream, 7));
            prop_assert_eq!(out, data);
        }
    }
}
