//! Explicit Congestion Notification: what the IP header says beside the datagram (E1 to E4).

use core::fmt;

use crate::stats::add;

/// The two bits of RFC 3168 that a datagram crosses the network with, if they are not zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// The sender understands marks: `10`.
    Ect0,
    /// The same, for another kind of sender: `01`.
    Ect1,
    /// A router marked it instead of dropping it: `11`.
    Ce,
}

/// How many packets arrived with each value since the connection began (E2).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// With ECT(0).
    pub ect0: u64,
    /// With ECT(1).
    pub ect1: u64,
    /// Marked.
    pub ce: u64,
}

impl EcnCounts {
    pub(crate) fn handle_packet(&mut self, ecn: Option<Ecn>) {
        match ecn {
            Some(Ecn::Ect0) => add(&mut self.ect0, 1),
            Some(Ecn::Ect1) => add(&mut self.ect1, 1),
            Some(Ecn::Ce) => add(&mut self.ce, 1),
            None => {}
        }
    }

    /// Those that left with ECT(0), if nobody changed more than a mark.
    fn capable(&self) -> u64 {
        self.ect0.saturating_add(self.ce)
    }
}

/// What a sender knows of ECN on its path (E3), as in RFC 9000, A.4; displayed, a word as qlog has
/// it: `testing`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EcnState {
    /// Packets leave with ECT(0), and none was acknowledged yet.
    Testing,
    /// After an expiry, packets leave without until something is acknowledged.
    Unknown,
    /// The path or the peer failed: packets leave without for good.
    Failed,
    /// The path carries the field, and the peer reports it.
    Capable,
}

impl fmt::Display for EcnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Testing => "testing",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Capable => "capable",
        })
    }
}

/// So many of the first packets lost, and none acknowledged, look like a path that drops what is
/// marked (E3).
const MOST_LOST: u64 = 3;
/// So many ACKs without counts, where one of eight has them, are of a path that clears the field or a
/// peer that tells of none (E3).
const MOST_SILENT: u8 = 16;

/// Whether the path to the peer carries the field (E3): RFC 9000, 13.4.2.
#[derive(Debug, Default)]
pub(crate) struct EcnPath {
    /// The path or the peer failed; it stays so.
    off: bool,
    /// A packet that left with ECT(0) was acknowledged, with the right counts.
    confirmed: bool,
    /// Before that: they were lost, and what the timer repeats leaves without.
    lost: u64,
    doubted: bool,
    sent: u64,
    /// As last reported, by the ACK of the largest packet then.
    seen: EcnCounts,
    /// The ACKs without counts since, and what they acknowledged of packets that left with ECT(0).
    silent: u8,
    untold: u64,
    largest: Option<u64>,
}

impl EcnPath {
    /// Whether packets leave with ECT(0) (E1).
    pub(crate) fn is_used(&self) -> bool {
        !self.off && !self.doubted
    }

    /// Whether all packets do, or none: else only those that will be acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.off || self.confirmed
    }

    pub(crate) fn state(&self) -> EcnState {
        match self {
            Self { off: true, .. } => EcnState::Failed,
            Self {
                confirmed: true, ..
            } => EcnState::Capable,
            Self { doubted: true, .. } => EcnState::Unknown,
            _ => EcnState::Testing,
        }
    }

    /// A packet leaves with ECT(0).
    pub(crate) fn handle_sent(&mut self) {
        add(&mut self.sent, 1);
    }

    /// So many that left with ECT(0) were lost.
    pub(crate) fn handle_lost(&mut self, packets: u64) {
        if !self.confirmed {
            self.lost = self.lost.saturating_add(packets);
            self.off |= self.lost >= MOST_LOST;
        }
    }

    /// The timer expired.
    pub(crate) fn handle_expiry(&mut self) {
        self.doubted = !self.confirmed;
    }

    /// An ACK of packets up to `largest`, newly of so many that left with ECT(0), came with
    /// counts or without. Answers how many more were marked by the network.
    pub(crate) fn handle_ack(
        &mut self,
        largest: u64,
        packets: u64,
        counts: Option<EcnCounts>,
    ) -> u64 {
        self.doubted = false;
        if self.off || self.largest.is_some_and(|known| largest <= known) {
            return 0; // a late ACK has old counts
        }
        self.largest = Some(largest);
        self.untold = self.untold.saturating_add(packets);
        let Some(now) = counts else {
            self.silent = self.silent.saturating_add(1);
            self.off = self.silent >= MOST_SILENT;
            return 0;
        };
        let seen = self.seen;
        let shrinks = now.ect0 < seen.ect0 || now.ce < seen.ce;
        let more = now.capable().saturating_sub(seen.capable());
        if shrinks || now.ect1 > 0 || more < self.untold || now.capable() > self.sent {
            self.off = true;
            return 0;
        }
        (self.silent, self.untold) = (0, 0);
        self.confirmed |= packets > 0;
        self.seen = now;
        now.ce.saturating_sub(seen.ce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ect0: u64, ect1: u64, ce: u64) -> Option<EcnCounts> {
        Some(EcnCounts { ect0, ect1, ce })
    }

    /// Ten packets left; the first four were acknowledged, one of them marked.
    fn path() -> EcnPath {
        let mut path = EcnPath::default();
        (0..10).for_each(|_| path.handle_sent());
        assert_eq!(path.handle_ack(3, 4, counts(3, 0, 1)), 1);
        path
    }

    #[test]
    fn only_counts_that_can_be_true_are_believed() {
        for (counts, used) in [
            (counts(5, 0, 1), true),
            (counts(3, 0, 3), true),
            (counts(6, 0, 1), true), // another one arrived, and is acknowledged later
            (counts(4, 0, 1), false), // too few
            (counts(2, 0, 4), false), // one that was not marked is gone
            (counts(6, 0, 0), false), // a mark is gone
            (counts(5, 1, 1), false), // never sent
            (counts(9, 0, 2), false), // more than were sent
            (None, true),            // not each tells
        ] {
            let mut path = path();
            let marked = path.handle_ack(5, 2, counts);
            assert_eq!(path.is_used(), used, "{counts:?}");
            let more = counts.filter(|_| used).map_or(0, |counts| counts.ce - 1);
            assert_eq!(marked, more);
        }
    }

    #[test]
    fn counts_that_come_later_are_of_all_since_the_last_ones() {
        for (ect0, used) in [(6, false), (7, true)] {
            let mut path = path();
            path.handle_ack(5, 2, None);
            path.handle_ack(7, 2, counts(ect0, 0, 1));
            assert_eq!(path.is_used(), used);
        }
    }

    #[test]
    fn sixteen_acks_without_counts_end_it() {
        for mut path in [path(), EcnPath::default()] {
            for largest in 4..19 {
                path.handle_ack(largest, 1, None);
            }
            assert!(path.is_used());
            path.handle_ack(19, 0, None);
            assert!(!path.is_used());
        }
    }

    #[test]
    fn a_late_ack_and_one_of_unmarked_packets_change_nothing() {
        let mut path = path();
        assert_eq!(path.handle_ack(2, 1, counts(1, 0, 0)), 0);
        assert!(path.is_used());
        assert_eq!(path.handle_ack(4, 0, None), 0);
        assert!(path.is_used());
    }

    #[test]
    fn the_first_packets_decide_whether_the_path_takes_marks() {
        let mut path = EcnPath::default();
        path.handle_sent();
        path.handle_lost(1);
        path.handle_expiry();
        assert!(!path.is_used(), "what is repeated leaves without");
        path.handle_ack(1, 0, None);
        assert!(path.is_used(), "and the next ones try again");
        path.handle_lost(1);
        assert!(path.is_used());
        path.handle_lost(1);
        assert!(!path.is_used());
        let mut path = self::path();
        path.handle_lost(100);
        path.handle_expiry();
        assert!(path.is_used(), "a confirmed one loses packets as any other");
    }
}
