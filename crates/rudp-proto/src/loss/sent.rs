//! The packets that may still be acknowledged, in the order of their numbers.
//!
//! Numbers rise one by one, so a packet is found where its number says. What is acknowledged leaves
//! an empty slot, until all before it are empty too.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use super::packet::SentPacket;

/// How far below the newest acknowledged number lost packets are remembered (L5).
pub(super) const MEMORY: u64 = 2048;
/// So many are remembered in all, if nothing is acknowledged for days (L5).
const MOST_LOST: usize = 2048;
/// So many probes of a silent path are remembered (L13).
pub(super) const MOST_PROBES: usize = 128;
/// Packets for which memory is kept while nothing is sent.
pub(super) const KEPT: usize = 64;

#[derive(Debug)]
enum Slot {
    /// In flight, or declared lost and remembered.
    Sent(SentPacket),
    /// Of packet `number`, and so are the slots before it, `run` with this one.
    Empty { number: u64, run: usize },
}

impl Slot {
    fn number(&self) -> u64 {
        match self {
            Self::Sent(packet) => packet.number,
            Self::Empty { number, .. } => *number,
        }
    }

    fn in_flight(&self) -> Option<&SentPacket> {
        self.packet().filter(|packet| !packet.declared_lost)
    }

    fn packet(&self) -> Option<&SentPacket> {
        match self {
            Self::Sent(packet) => Some(packet),
            Self::Empty { .. } => None,
        }
    }

    /// Takes the packet out.
    fn empty(&mut self) -> Option<SentPacket> {
        let number = self.number();
        match core::mem::replace(self, Self::Empty { number, run: 1 }) {
            Self::Sent(packet) => Some(packet),
            Self::Empty { .. } => None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Of ascending numbers, the first one not empty. What nobody acknowledges has none, so
    /// there are no more than packets, however far numbers run.
    slots: VecDeque<Slot>,
    /// Where the oldest packet in flight is, and the oldest of these that [waits](SentPacket::waits):
    /// none before them ever is or does again.
    oldest: usize,
    waiting: usize,
    /// Of the packets in flight.
    bytes: u64,
}

impl Sent {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.oldest().is_none()
    }

    pub(super) fn oldest(&self) -> Option<&SentPacket> {
        self.slots.get(self.oldest)?.in_flight()
    }

    pub(super) fn oldest_waiting(&self) -> Option<&SentPacket> {
        self.slots.get(self.waiting)?.in_flight()
    }

    /// What is in flight, the oldest first.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = &SentPacket> {
        let slots = self.slots.iter().skip(self.oldest);
        slots.filter_map(Slot::in_flight)
    }

    /// Whether this packet is in flight.
    pub(super) fn has(&self, number: u64) -> bool {
        let slot = self.slots.get(self.index(number));
        let packet = slot.and_then(Slot::in_flight);
        packet.is_some_and(|packet| packet.number == number)
    }

    /// How many slots there are.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Its number is above all before.
    pub(super) fn push(&mut self, packet: SentPacket) {
        self.bytes = self.bytes.saturating_add(packet.bytes);
        self.slots.push_back(Slot::Sent(packet));
        self.advance();
    }

    /// Changes what is known of a packet in flight.
    pub(super) fn update<R>(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut SentPacket) -> R,
    ) -> Option<R> {
        let index = self.index(number);
        let changed = match self.slots.get_mut(index)? {
            Slot::Sent(packet) if packet.number == number && !packet.declared_lost => {
                Some(change(packet))
            }
            _ => None,
        };
        self.advance();
        changed
    }

    /// Takes the packets of these numbers out, in their order.
    pub(super) fn take(&mut self, numbers: &Range<u64>, out: &mut Vec<SentPacket>) {
        let (from, to) = (self.index(numbers.start), self.index(numbers.end));
        let begin = out.len();
        // ACKs repeat their ranges (L16): downwards, what one before emptied is passed at once.
        let mut start = to;
        while start > from
            && let Some(last) = start.checked_sub(1)
            && let Some(slot) = self.slots.get_mut(last)
        {
            start = match slot {
                Slot::Empty { run, .. } => start.saturating_sub(*run),
                Slot::Sent(_) => {
                    out.extend(slot.empty());
                    last
                }
            };
        }
        let run = to.saturating_sub(start);
        let last = to.checked_sub(1).and_then(|last| self.slots.get_mut(last));
        if let Some(Slot::Empty { run: known, .. }) = last.filter(|_| from < to) {
            *known = run;
        }
        let taken = out.get_mut(begin..).unwrap_or_default();
        taken.reverse();
        for packet in taken.iter().filter(|packet| !packet.declared_lost) {
            self.bytes = self.bytes.saturating_sub(packet.bytes);
        }
        self.advance();
    }

    /// Declares a packet in flight lost, and remembers it, unless it is a probe of the path.
    pub(super) fn lose(&mut self, number: u64) -> Option<SentPacket> {
        let index = self.index(number);
        let slot = self.slots.get_mut(index)?;
        let lost = slot.in_flight().filter(|it| it.number == number)?.clone();
        match slot {
            Slot::Sent(packet) if !lost.is_path_probe() => packet.declared_lost = true,
            _ => _ = slot.empty(),
        }
        self.bytes = self.bytes.saturating_sub(lost.bytes);
        self.advance();
        Some(lost)
    }

    /// Forgets what was lost so far below the newest acknowledged number that no ACK tells of it.
    pub(super) fn forget_below(&mut self, newest: u64) {
        let lowest = newest.saturating_sub(MEMORY);
        let is_gone = |slot: &Slot| match slot {
            Slot::Sent(packet) => packet.declared_lost && packet.number < lowest,
            Slot::Empty { .. } => true,
        };
        while self.slots.front().is_some_and(is_gone) {
            self.slots.pop_front();
            self.oldest = self.oldest.saturating_sub(1);
            self.waiting = self.waiting.saturating_sub(1);
        }
    }

    /// Gives memory back that a larger flight needed.
    pub(super) fn shrink(&mut self) {
        self.slots.shrink_to(KEPT);
    }

    /// Forgets what nothing else bounds: all probes of the path but the newest, and what an expiry
    /// repeated too many others ago.
    pub(super) fn sweep(&mut self, most_probes: usize) {
        let is_lost = |packet: &SentPacket| packet.declared_lost;
        let count = |is: fn(&SentPacket) -> bool| {
            let packets = self.slots.iter().filter_map(Slot::packet);
            packets.filter(|packet| is(packet)).count()
        };
        let mut lost = count(is_lost).saturating_sub(MOST_LOST);
        let mut probes = count(SentPacket::is_path_probe).saturating_sub(most_probes);
        self.slots.retain(|slot| {
            let Some(packet) = slot.packet() else {
                return false;
            };
            let too_many = match packet.is_path_probe() {
                true => &mut probes,
                false if packet.declared_lost => &mut lost,
                false => return true,
            };
            let stays = *too_many == 0;
            *too_many = too_many.saturating_sub(1);
            stays
        });
        (self.oldest, self.waiting) = (0, 0);
        self.advance();
    }

    /// Where the first number is that is not below this one.
    fn index(&self, number: u64) -> usize {
        let first = self.slots.front().map_or(number, Slot::number);
        let distance = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let most = distance.min(self.slots.len());
        let before = most.checked_sub(1).and_then(|last| self.slots.get(last));
        match before {
            // Numbers without a slot lie between.
            Some(slot) if slot.number() >= number => {
                self.slots.partition_point(|slot| slot.number() < number)
            }
            _ => most,
        }
    }

    fn advance(&mut self) {
        let at = |index: usize| self.slots.get(index);
        let is_passed = |slot: &Slot| slot.in_flight().is_none();
        while at(self.oldest).is_some_and(is_passed) {
            self.oldest = self.oldest.saturating_add(1);
        }
        let is_passed = |slot: &Slot| !slot.in_flight().is_some_and(SentPacket::waits);
        self.waiting = self.waiting.max(self.oldest);
        while at(self.waiting).is_some_and(is_passed) {
            self.waiting = self.waiting.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
