//! Which packets arrived, and when to say so (L6, L7).

use alloc::collections::VecDeque;
use core::ops::Range;
use core::time::Duration;

use crate::ranges::RangeSet;
use crate::wire::{BASE_DATAGRAM, MAX_ACK_RANGES};
use crate::{Ecn, EcnCounts};

/// So many ranges an ACK may repeat (W7).
const REPEATED: usize = 32;
/// How far below the newest number ranges are kept: a sender remembers no more (L5), (L8).
const MEMORY: u64 = 2048;
/// While nobody marks packets, the first eight ACKs say so, and each eighth from then on (E2).
const MARKS_EVERY: u64 = 8;

#[derive(Debug)]
pub(crate) struct Acks {
    /// The oldest ranges are forgotten: a packet below may be new or not, and is
    /// taken, since frames may come twice (L8).
    received: RangeSet,
    newest: Option<(u64, Duration)>,
    /// The lowest number of which no ACK has told yet.
    untold: Option<u64>,
    /// What the peer knows of from ACKs that arrived, and what it knows to be missing (L16).
    known: RangeSet,
    /// Those that arrived behind a newer one, each with the number of our next packet by then; both
    /// ascend. An ACK in a packet before that one does not tell of them (L16).
    late: VecDeque<(u64, u64)>,
    /// The bytes of ack-eliciting packets that no ACK of ours covers yet.
    unacknowledged: usize,
    /// `Some` exactly while `unacknowledged > 0`.
    deadline: Option<Duration>,
    max_delay: Duration,
    marks: EcnCounts,
    /// The ACKs that left since a packet came with ECT(0).
    sent: u64,
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
            untold: None,
            known: RangeSet::default(),
            late: VecDeque::new(),
            unacknowledged: 0,
            deadline: None,
            max_delay,
            marks: EcnCounts::default(),
            sent: 0,
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

    /// A packet of so many bytes arrived and was taken, before our packet `own_next` leaves.
    pub(crate) fn handle_packet(
        &mut self,
        now: Duration,
        own_next: u64,
        number: u64,
        bytes: usize,
        urgency: Urgency,
    ) {
        let next = self.expected();
        if number >= next {
            self.newest = Some((number, now));
        } else {
            self.handle_late(own_next, number);
        }
        self.received.insert(number..number.saturating_add(1));
        let newest = self.newest.map_or(number, |(newest, _)| newest);
        self.forget_below(newest.saturating_sub(MEMORY));
        if self.received.len() > MAX_ACK_RANGES {
            self.received.pop_first();
        }
        if urgency == Urgency::None {
            return;
        }
        self.untold = Some(self.untold.map_or(number, |lowest| lowest.min(number)));
        let waited = self.unacknowledged;
        self.unacknowledged = waited.saturating_add(bytes).max(1);
        let is_second = waited > 0 && self.unacknowledged >= BASE_DATAGRAM;
        let out_of_order = number != next;
        if out_of_order || is_second || urgency == Urgency::AtOnce {
            self.acknowledge_now(now); // (L7)
        } else {
            let latest = now.saturating_add(self.max_delay);
            self.deadline.get_or_insert(latest);
        }
    }

    fn handle_late(&mut self, own_next: u64, number: u64) {
        self.known.remove(number..number.saturating_add(1));
        while self.late.pop_back_if(|(_, late)| *late >= number).is_some() {}
        self.late.push_back((own_next, number));
    }

    fn forget_below(&mut self, limit: u64) {
        self.received.remove_below(limit);
        self.known.remove_below(limit);
        while self.late.pop_front_if(|(_, late)| *late < limit).is_some() {}
    }

    /// A packet that is new arrived with this ECN field; a mark is told at once (E2).
    pub(crate) fn handle_ecn(&mut self, now: Duration, ecn: Option<Ecn>) {
        self.marks.handle_packet(ecn);
        if ecn == Some(Ecn::Ce) && self.unacknowledged > 0 {
            self.acknowledge_now(now);
        }
    }

    /// What the next ACK says of ECN fields, if it does (E2).
    pub(crate) fn marks(&self) -> Option<EcnCounts> {
        let EcnCounts { ect0, ect1, ce } = self.marks;
        let regular =
            ect0 > 0 && (self.sent < MARKS_EVERY || self.sent.is_multiple_of(MARKS_EVERY));
        (regular || ect1 > 0 || ce > 0).then_some(self.marks)
    }

    /// The peer is in doubt, for example because it sent something twice.
    pub(crate) fn acknowledge_now(&mut self, now: Duration) {
        self.unacknowledged = self.unacknowledged.max(1);
        self.deadline = Some(self.deadline.map_or(now, |deadline| deadline.min(now)));
    }

    /// An ACK leaves, whether or not it tells of anything new: how long nothing came does (L14).
    pub(crate) fn tell_again(&mut self, now: Duration) {
        if self.newest.is_some() {
            self.acknowledge_now(now);
        }
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
        let ranges = self.candidates().take(self.told_at_once());
        Some((now.saturating_sub(newest_at), ranges))
    }

    /// What the peer may not know of, newest first; the newest range always (L16).
    fn candidates(&self) -> impl Iterator<Item = Range<u64>> + Clone {
        let ranges = self.received.iter().rev().enumerate();
        let ranges = ranges.filter(|(index, range)| *index == 0 || !self.known.covers(range));
        ranges.map(|(_, range)| range)
    }

    /// How many of them the next ACK has: those of which none has told, and repeated ones (W7).
    fn told_at_once(&self) -> usize {
        let is_untold = |range: &Range<u64>| self.untold.is_some_and(|lowest| range.end > lowest);
        self.candidates()
            .take_while(is_untold)
            .count()
            .max(REPEATED)
    }

    /// The ACK of [`poll`](Self::poll) leaves. Answers of which numbers the peer knows all that
    /// arrived, once it has it.
    pub(crate) fn handle_sent(&mut self) -> Range<u64> {
        let left_out = self.candidates().nth(self.told_at_once());
        let end = self.expected();
        self.sent = self.sent.saturating_add(u64::from(self.marks.ect0 > 0));
        self.untold = None;
        self.unacknowledged = 0;
        self.deadline = None;
        left_out.map_or(0, |range| range.end)..end
    }

    /// Our packet `number`, whose ACK made `told` known, was acknowledged (L16).
    pub(crate) fn handle_acked(&mut self, number: u64, told: &Range<u64>) {
        let since = self.late.partition_point(|(next, _)| *next <= number);
        let end = self
            .late
            .get(since)
            .map_or(told.end, |(_, late)| told.end.min(*late));
        self.known.insert(told.start..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Urgency::{AtOnce, Normal};
    use alloc::vec::Vec;

    const DELAY: Duration = Duration::from_millis(25);
    const FULL: usize = 1_200;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn due(acks: &Acks, now: Duration) -> bool {
        acks.deadline().is_some_and(|deadline| deadline <= now)
    }

    #[test]
    fn one_packet_waits_for_the_delay_and_two_do_not() {
        let mut acks = Acks::new(DELAY);
        acks.handle_packet(ms(0), 0, 0, FULL, Normal);
        assert!(!due(&acks, ms(24)) && due(&acks, ms(25)));
        acks.handle_packet(ms(1), 0, 1, FULL, Normal);
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
    fn small_packets_wait_until_they_are_as_long_as_a_full_one() {
        let mut acks = Acks::new(DELAY);
        for number in 0..11 {
            acks.handle_packet(ms(number), 0, number, 100, Normal);
            assert_eq!(acks.deadline(), Some(ms(25)), "of the first");
        }
        acks.handle_packet(ms(11), 0, 11, 100, Normal);
        assert!(due(&acks, ms(11)));
    }

    #[test]
    fn a_full_packet_waits_however_long_it_is() {
        let mut acks = Acks::new(DELAY);
        acks.handle_packet(ms(0), 0, 0, 9_000, Normal);
        assert_eq!(acks.deadline(), Some(ms(25)));
    }

    #[test]
    fn gaps_their_filling_and_urgent_packets_are_acknowledged_at_once() {
        for (numbers, urgency) in [(&[0, 2][..], Normal), (&[2], Normal), (&[0], AtOnce)] {
            let mut acks = Acks::new(DELAY);
            for number in numbers {
                acks.handle_sent();
                acks.handle_packet(ms(0), 0, *number, FULL, urgency);
            }
            assert!(due(&acks, ms(0)), "{numbers:?}");
        }
        let mut acks = Acks::new(DELAY);
        acks.handle_packet(ms(0), 0, 1, FULL, Normal);
        acks.handle_sent();
        acks.handle_packet(ms(0), 0, 0, FULL, Normal);
        assert!(due(&acks, ms(0)), "the gap is filled");
    }

    /// (E2)
    #[test]
    fn marks_are_told_by_the_first_acks_by_each_eighth_and_by_all_once_there_are_some() {
        let mut acks = Acks::new(DELAY);
        let mut told = |number: u64, ecn: Option<Ecn>| {
            acks.handle_packet(ms(0), 0, number, FULL, AtOnce);
            acks.handle_ecn(ms(0), ecn);
            let told = acks.marks().is_some();
            acks.handle_sent();
            told
        };
        assert!((0..5).all(|number| !told(number, None)), "nothing to tell");
        let unmarked: Vec<_> = (0..25).filter(|n| told(5 + n, Some(Ecn::Ect0))).collect();
        assert_eq!(unmarked, [0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 24]);
        assert!((30..50).all(|number| told(number, Some(Ecn::Ce))));
    }

    #[test]
    fn acknowledgements_alone_are_never_answered() {
        let mut acks = Acks::new(DELAY);
        acks.handle_packet(ms(0), 0, 0, FULL, Urgency::None);
        acks.handle_packet(ms(0), 0, 7, FULL, Urgency::None);
        assert!(acks.poll(ms(0)).is_none() && acks.deadline().is_none());
    }

    fn ranges(acks: &Acks) -> Vec<Range<u64>> {
        acks.poll(ms(0)).unwrap().1.collect()
    }

    /// Packets in every second number, 0 to `2 * count - 2`.
    fn with_gaps(count: u64) -> Acks {
        let mut acks = Acks::new(DELAY);
        for number in 0..count {
            acks.handle_packet(ms(0), 0, 2 * number, FULL, AtOnce);
        }
        acks
    }

    #[test]
    fn what_an_ack_that_arrived_says_is_not_repeated() {
        let mut acks = with_gaps(3);
        assert_eq!(ranges(&acks), [4..5, 2..3, 0..1]);
        assert_eq!(acks.handle_sent(), 0..5);
        acks.handle_packet(ms(0), 1, 6, FULL, AtOnce);
        acks.handle_acked(0, &(0..5));
        assert_eq!(ranges(&acks), core::slice::from_ref(&(6..7)));
        acks.handle_acked(1, &(0..7));
        assert_eq!(ranges(&acks), core::slice::from_ref(&(6..7)), "never none");
        acks.handle_packet(ms(0), 2, 1, FULL, Normal);
        assert_eq!(ranges(&acks), [6..7, 0..3], "news");
    }

    #[test]
    fn an_ack_tells_nothing_of_what_arrived_late_after_it_left() {
        let mut acks = with_gaps(4);
        let told = acks.handle_sent(); // in our packet 0
        acks.handle_packet(ms(0), 1, 3, FULL, Normal);
        acks.handle_sent(); // in packet 1
        acks.handle_packet(ms(0), 2, 1, FULL, Normal);
        let newer = acks.handle_sent(); // in packet 2
        acks.handle_packet(ms(0), 3, 8, FULL, AtOnce);
        acks.handle_acked(0, &told);
        assert_eq!(ranges(&acks), [8..9, 6..7, 0..5]);
        acks.handle_acked(1, &told);
        assert_eq!(ranges(&acks), [8..9, 6..7, 0..5], "1 is younger");
        acks.handle_acked(2, &newer);
        assert_eq!(ranges(&acks), core::slice::from_ref(&(8..9)));
    }

    #[test]
    fn news_are_told_however_many_and_a_part_of_the_rest_is_repeated() {
        let mut acks = with_gaps(50);
        assert_eq!(ranges(&acks).len(), 50);
        assert_eq!(acks.handle_sent(), 0..99);
        acks.handle_packet(ms(0), 1, 100, FULL, AtOnce);
        assert_eq!(ranges(&acks).last(), Some(&(38..39)), "32 ranges");
        let told = acks.handle_sent();
        assert_eq!(told, 37..101);
        acks.handle_packet(ms(0), 2, 102, FULL, AtOnce);
        acks.handle_acked(1, &told);
        let rest: Vec<u64> = ranges(&acks).iter().map(|range| range.start).collect();
        let unknown = (0..19).rev().map(|number| 2 * number);
        assert!(rest.into_iter().eq([102].into_iter().chain(unknown)));
    }

    #[test]
    fn memory_is_bounded_and_what_is_too_old_is_no_duplicate() {
        let mut acks = Acks::new(DELAY);
        for number in 0..10_000 {
            acks.handle_packet(ms(0), number, 2 * number, FULL, Normal);
            let late = number.is_multiple_of(3) && number > 2000;
            if late {
                acks.handle_packet(ms(0), number, 2 * number - 3001, FULL, Normal);
            }
        }
        assert_eq!(acks.received.len(), MAX_ACK_RANGES);
        assert!(acks.late.len() as u64 <= MEMORY);
        assert!(acks.is_duplicate(19_998) && !acks.is_duplicate(0));
        acks.handle_packet(ms(0), 0, 0, FULL, Normal);
        assert_eq!(acks.received.len(), MAX_ACK_RANGES);
    }
}
