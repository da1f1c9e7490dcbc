//! The incoming half of a stream: bytes wait here until they are in order and
//! the application reads them.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::streams::Window;

/// The most separate pieces kept beyond the first gap of a stream (F5).
const MAX_PIECES: usize = 1024;

/// Bytes for which a stream keeps memory while it has nothing to read: all of them together no more
/// than the window of the connection (F5).
const KEPT: usize = 8 << 10;

/// Why a frame is not taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unacceptable {
    /// No room for one more separate piece: the packet is not acknowledged, and
    /// comes again (F5).
    NoRoom,
    /// It is about another connection: the packet is not acknowledged (H7).
    Foreign,
    /// The peer broke a rule.
    Violation(&'static str),
}

/// What a read found.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Bytes(usize),
    /// The end; there is nothing more, ever.
    End,
    /// The peer gave up, with this code (S6).
    Reset(u64),
    Nothing,
}

/// How a stream ended before it was read to its end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Cut {
    /// The peer does not send the rest (S6).
    Reset(u64),
    /// The application does not want it, and said so with this code (S7).
    Stopped(u64),
}

#[derive(Debug)]
pub(crate) struct RecvStream {
    /// The bytes in order, from offset `read` on.
    ready: VecDeque<u8>,
    /// Beyond the first gap, by offset: disjoint, and only what arrived takes memory.
    pieces: BTreeMap<u64, Vec<u8>>,
    /// The offset of the next byte for the application.
    read: u64,
    /// The end of the farthest byte that arrived.
    highest: u64,
    pub(crate) window: Window,
    /// The stream's length, once the FIN or a reset told it.
    end: Option<u64>,
    cut: Option<Cut>,
    /// The application has heard of the end.
    end_read: bool,
}

impl RecvStream {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            ready: VecDeque::new(),
            pieces: BTreeMap::new(),
            read: 0,
            highest: 0,
            window,
            end: None,
            cut: None,
            end_read: false,
        }
    }

    /// The end of what is in order.
    fn in_order(&self) -> u64 {
        self.read.saturating_add(self.ready.len() as u64)
    }

    /// The end of the farthest byte that arrived.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// How many separate pieces wait for earlier ones.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The end of the piece that holds or touches `offset` from below.
    fn piece_before(&self, offset: u64) -> Option<u64> {
        let (start, piece) = self.pieces.range(..=offset).next_back()?;
        Some(end_of(*start, piece)).filter(|end| *end >= offset)
    }

    /// How far what arrived reaches beyond the first gap.
    pub(crate) fn waiting(&self) -> u64 {
        self.highest.saturating_sub(self.in_order())
    }

    /// Whether something waits for an earlier piece (L7).
    pub(crate) fn has_gap(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Whether the stream's length is known.
    fn has_end(&self) -> bool {
        self.end.is_some()
    }

    /// Whether everything up to the end is there, or was read.
    pub(crate) fn is_complete(&self) -> bool {
        self.end == Some(self.in_order())
    }

    /// Whether nobody wants what arrives.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Whether nothing is left to do, so that it can be forgotten.
    pub(crate) fn is_done(&self) -> bool {
        self.end_read || (matches!(self.cut, Some(Cut::Stopped(_))) && self.has_end())
    }

    /// Takes a piece of the stream and returns how many bytes are new. Without `room`, it takes
    /// none that would be a separate one (F5).
    pub(crate) fn handle_data(
        &mut self,
        offset: u64,
        data: &[u8],
        fin: bool,
        room: bool,
    ) -> Result<u64, Unacceptable> {
        let end = offset.saturating_add(data.len() as u64);
        self.check_end(end, fin)?;
        if self.is_cut() {
            self.arrived(end, fin);
            return Ok(0);
        }
        let start = offset.max(self.in_order());
        let full = !room || self.pieces.len() >= MAX_PIECES;
        let separate = start > self.in_order() && self.piece_before(start).is_none();
        if full && separate && start < end {
            return Err(Unacceptable::NoRoom);
        }
        self.arrived(end, fin);
        Ok(self.store(start, data.get(index(offset, start)..).unwrap_or(&[])))
    }

    fn arrived(&mut self, end: u64, is_last: bool) {
        self.highest = self.highest.max(end);
        if is_last {
            self.end = Some(end);
        }
    }

    /// Whether data may reach to `end` and, if it `is_last`, end there.
    fn check_end(&self, end: u64, is_last: bool) -> Result<(), Unacceptable> {
        if end > self.window.limit() {
            return Err(Unacceptable::Violation("data beyond the window (F1)"));
        }
        let length_moved = match self.end {
            Some(length) => end > length || (is_last && end != length),
            None => is_last && end < self.highest,
        };
        if length_moved {
            return Err(Unacceptable::Violation("the stream's length changed (F4)"));
        }
        Ok(())
    }

    /// The peer sends nothing beyond what makes `size` bytes, and not all of these. Of no meaning
    /// if all of them are there. Returns how many bytes nobody will read.
    pub(crate) fn handle_reset(&mut self, code: u64, size: u64) -> Result<u64, Unacceptable> {
        self.check_end(size, true)?;
        if self.is_complete() {
            return Ok(0);
        }
        self.arrived(size, true);
        self.cut.get_or_insert(Cut::Reset(code));
        Ok(self.discard())
    }

    /// The application wants no more. Returns how many bytes nobody will read.
    pub(crate) fn stop(&mut self, code: u64) -> u64 {
        self.cut = Some(Cut::Stopped(code));
        self.discard()
    }

    /// The code to tell a peer that may go on sending.
    pub(crate) fn stop_to_tell(&self) -> Option<u64> {
        match self.cut {
            Some(Cut::Stopped(code)) if !self.has_end() => Some(code),
            _ => None,
        }
    }

    /// Whether the peer may need a larger window.
    pub(crate) fn needs_window(&self) -> bool {
        !self.has_end() && !self.is_cut()
    }

    /// Drops what arrived and was not read; says how much of the window that was.
    fn discard(&mut self) -> u64 {
        self.ready = VecDeque::new();
        self.pieces = BTreeMap::new();
        let unread = self.highest.saturating_sub(self.read);
        self.read = self.highest;
        unread
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

    /// Fills `out` with what is in order.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Found {
        match self.cut {
            Some(Cut::Reset(code)) => {
                self.end_read = true;
                return Found::Reset(code);
            }
            Some(Cut::Stopped(_)) => return Found::End, // the peer has to hear of it all the same
            None => {}
        }
        if self.ready.is_empty() {
            let ended = self.is_complete();
            self.end_read |= ended;
            return if ended { Found::End } else { Found::Nothing };
        }
        let count = self.ready.len().min(out.len());
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
        Found::Bytes(count)
    }

    /// Whether it keeps memory for much, and has nothing to read.
    pub(crate) fn is_roomy(&self) -> bool {
        self.ready.is_empty() && self.ready.capacity() > KEPT
    }

    /// Gives memory back while it has nothing to read.
    pub(crate) fn tighten(&mut self) {
        if self.is_roomy() {
            self.ready.shrink_to(KEPT);
        }
    }

    /// Takes all that is in order at once.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.read = self.in_order();
        core::mem::take(&mut self.ready).into()
    }

    /// Whether [`read`](Self::read) would find something that it did not tell before.
    pub(crate) fn is_readable(&self) -> bool {
        let reset = matches!(self.cut, Some(Cut::Reset(_)));
        !self.ready.is_empty() || ((reset || self.end == Some(self.read)) && !self.end_read)
    }
}

fn end_of(start: u64, data: &[u8]) -> u64 {
    start.saturating_add(data.len() as u64)
}

/// How far `to` is above `from`, as an index into a buffer.
fn index(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
