//! Which packets arrived, and when to say so (L6, L7).

use core::ops::Range;
use core::time::Duration;

use crate::ranges::RangeSet;
use crate::{Ecn, EcnCounts};

/// The most ranges of received packet numbers kept (L8).
const MAX_RANGES: usize = 256;
/// How far below the newest number ranges are kept: a sender remembers no more (L5), (L8).
const MEMORY: u64 = 2048;

#[derive(Debug)]
pub(crate) struct Acks {
    /// The oldest ranges are forgotten: a packet below may be new or not, and is
    /// taken, since frames may come twice (L8).
    received: RangeSet,
    newest: Option<(u64, Duration)>,
    /// Numbers below it are in an ACK that arrived, and not repeated (L16).
    settled: u64,
    /// Ack-eliciting packets that no ACK of ours covers yet.
    unacknowledged: u32,
    /// `Some` exactly while `unacknowledged > 0`.
    deadline: Option<Duration>,
    max_delay: Duration,
    marks: EcnCounts,
}

/// How much the sender of a packet wants an answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// Nothing but an ACK: no answer, ever.
    None,
    Normal,
    AtOnce,
}

impl Acks {
    pub(crate) fn new(max_delay: Duration) -> Self {
        Self {
            received: RangeSet::default(),
            newest: None,
            settled: 0,
            unacknowledged: 0,
            deadline: None,
            max_delay,
            marks: EcnCounts::default(),
        }
    }

    pub(crate) fn is_duplicate(&self, number: u64) -> bool {
        self.received.contains(number)
    }

    /// The number after the largest that arrived (W10).
    pub(crate) fn expected(&self) -> u64 {
        let next = |(newest, _): (u64, _)| newest.saturating_add(1);
        self.newest.map_or(0, next)
    }

    /// As if the packet before `number` had been the last to arrive.
    #[cfg(test)]
    pub(crate) fn skip_to(&mut self, number: u64) {
        self.newest = Some((number - 1, Duration::ZERO));
        self.received = RangeSet::default();
        self.received.insert(number - 1..number);
    }

    /// A packet arrived and was taken.
    pub(crate) fn handle_packet(&mut self, now: Duration, number: u64, urgency: Urgency) {
        let next = self.expected();
        if number >= next {
            self.newest = Some((number, now));
        }
        self.received.insert(number..number.saturating_add(1));
        self.settled = self.settled.min(number);
        let newest = self.newest.map_or(number, |(newest, _)| newest);
        self.received.remove_below(newest.saturating_sub(MEMORY));
        if self.received.len() > MAX_RANGES {
            self.received.pop_first();
        }
        if urgency == Urgency::None {
            return;
        }
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        let out_of_order = number != next;
        if out_of_order || self.unacknowledged >= 2 || urgency == Urgency::AtOnce {
            self.acknowledge_now(now); // (L7)
        } else {
            self.deadline = Some(now.saturating_add(self.max_delay));
        }
    }

    /// A packet that is new arrived with this ECN field; a mark is told at once (E2).
    pub(crate) fn handle_ecn(&mut self, now: Duration, ecn: Option<Ecn>) {
        self.marks.handle_packet(ecn);
        if ecn == Some(Ecn::Ce) && self.unacknowledged > 0 {
            self.acknowledge_now(now);
        }
    }

    /// What an ACK says of ECN fields, if any was set (E2).
    pub(crate) fn marks(&self) -> Option<EcnCounts> {
        let any = self.marks != EcnCounts::default();
        any.then_some(self.marks)
    }

    /// The peer is in doubt, for example because it sent something twice.
    pub(crate) fn acknowledge_now(&mut self, now: Duration) {
        self.unacknowledged = self.unacknowledged.max(1);
        self.deadline = Some(self.deadline.map_or(now, |deadline| deadline.min(now)));
    }

    /// When an ACK is due at the latest.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// The ACK to send, for free with another packet or because it is due.
    ///
    /// It is the delay of the newest packet, and the ranges, newest first.
    pub(crate) fn poll(
        &self,
        now: Duration,
    ) -> Option<(Duration, impl Iterator<Item = Range<u64>> + Clone)> {
        let (_, newest_at) = self.newest.filter(|_| self.unacknowledged > 0)?;
        let ranges = self.received.iter().rev().enumerate();
        let settled = self.settled;
        let ranges = ranges.filter(move |(index, range)| *index == 0 || range.end > settled); // (L16)
        let ranges = ranges.map(|(_, range)| range);
        Some((now.saturating_sub(newest_at), ranges))
    }

    /// An ACK of numbers below `end` arrived (L16).
    pub(crate) fn handle_acked(&mut self, end: u64) {
        self.settled = self.settled.max(end);
    }

    pub(crate) fn handle_sent(&mut self) {
        self.unacknowledged = 0;
        self.deadline = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Urgency::{AtOnce, Normal};

    const DELAY: Duration = Duration::from_millis(25);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn due(acks: &Acks, now: Duration) -> bool {
        acks.deadline().is_some_and(|deadline| deadline <= now)
    }

    #[test]
    fn one_packet_waits_for_the_delay_and_two_do_not() {
        let mut acks = Acks::new(DELAY);
        acks.handle_packet(ms(0), 0, Normal);
        assert!(!due(&acks, ms(24)) && due(&acks, ms(25)));
        acks.handle_packet(ms(1), 1, Normal);
        assert!(due(&acks, ms(1)));
        let (delay, mut ranges) = acks.poll(ms(3)).unwrap();
        assert_eq!(
            (delay, ranges.next(), ranges.next()),
            (ms(2), Some(0..2), None)
        );
        drop(ranges);
        acks.handle_sent();
        assert!(acks.poll(ms(9)).is_none() && acks.deadline().is_none());
    }

    #[test]
    fn gaps_their_filling_and_urgent_packets_are_acknowledged_at_once() {
        for (numbers, urgency) in [(&[0, 2][..], Normal), (&[2], Normal), (&[0], AtOnce)] {
            let mut acks = Acks::new(DELAY);
            for number in numbers {
                acks.handle_sent();
                acks.handle_packet(ms(0), *number, urgency);
            }
            assert!(due(&acks, ms(0)), "{numbers:?}");
        }
        let mut acks = Acks::new(DELAY);
        acks.handle_packet(ms(0), 1, Normal);
        acks.handle_sent();
        acks.handle_packet(ms(0), 0, Normal);
        assert!(due(&acks, ms(0)), "the gap is filled");
    }

    #[test]
    fn acknowledgements_alone_are_never_answered() {
        let mut acks = Acks::new(DELAY);
        acks.handle_packet(ms(0), 0, Urgency::None);
        acks.handle_packet(ms(0), 7, Urgency::None);
        assert!(acks.poll(ms(0)).is_none() && acks.deadline().is_none());
    }

    #[test]
    fn what_an_ack_that_arrived_says_is_not_repeated() {
        let ranges = |acks: &Acks| acks.poll(ms(0)).unwrap().1.collect::<alloc::vec::Vec<_>>();
        let mut acks = Acks::new(DELAY);
        for number in [0, 2, 4] {
            acks.handle_packet(ms(0), number, Urgency::AtOnce);
        }
        assert_eq!(ranges(&acks), [4..5, 2..3, 0..1]);
        acks.handle_acked(3);
        assert_eq!(ranges(&acks), core::slice::from_ref(&(4..5)));
        acks.handle_acked(5);
        assert_eq!(ranges(&acks), core::slice::from_ref(&(4..5)), "never none");
        acks.handle_packet(ms(0), 1, Urgency::Normal);
        assert_eq!(ranges(&acks)[..], [4..5, 0..3], "news");
    }

    #[test]
    fn memory_is_bounded_and_what_is_too_old_is_no_duplicate() {
        let mut acks = Acks::new(DELAY);
        for number in 0..10_000 {
            acks.handle_packet(ms(0), 2 * number, Normal);
        }
        assert_eq!(acks.received.len(), MAX_RANGES);
        assert!(acks.is_duplicate(19_998) && !acks.is_duplicate(0));
        acks.handle_packet(ms(0), 0, Normal);
        assert_eq!(acks.received.len(), MAX_RANGES);
    }
}
