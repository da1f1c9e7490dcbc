//! What a link did so far.

use core::{fmt, ops::AddAssign};

/// What a [`Link`](crate::Link) did so far, in packets where nothing else is said.
///
/// `entered + duplicated == delivered + lost() + in flight` at all times, until a count reaches its
/// maximum, where it stays. Displayed, it is one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct Counters {
    /// Packets handed in.
    pub entered: u64,
    /// Bytes handed in.
    pub entered_bytes: u64,
    /// Packets taken out at the far end, copies included.
    pub delivered: u64,
    /// Bytes taken out at the far end, copies included.
    pub delivered_bytes: u64,
    /// Packets lost each by itself.
    pub lost_random: u64,
    /// Packets lost in bursts.
    pub lost_burst: u64,
    /// Packets lost in the dark, copies included.
    pub lost_blackout: u64,
    /// Packets that found the queue or the whole link full, copies included.
    pub lost_queue: u64,
    /// Packets that exceeded the rate of the policer.
    pub lost_policer: u64,
    /// Packets longer than the MTU.
    pub lost_mtu: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets with a bit flipped; their copies are not counted.
    pub corrupted: u64,
    /// Packets held back.
    pub reordered: u64,
    /// Packets marked by the queue (CE), whatever became of them.
    pub marked: u64,
}

impl Counters {
    /// Packets lost, for whatever reason.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost_random
            .saturating_add(self.lost_burst)
            .saturating_add(self.lost_blackout)
            .saturating_add(self.lost_queue)
            .saturating_add(self.lost_policer)
            .saturating_add(self.lost_mtu)
    }
}

/// Field by field, for the sum of several links; a count stays at its maximum.
impl AddAssign for Counters {
    fn add_assign(&mut self, more: Self) {
        let Self {
            entered,
            entered_bytes,
            delivered,
            delivered_bytes,
            lost_random,
            lost_burst,
            lost_blackout,
            lost_queue,
            lost_policer,
            lost_mtu,
            duplicated,
            corrupted,
            reordered,
            marked,
        } = self; // by name, so that no field is forgotten
        for (count, more) in [
            (entered, more.entered),
            (entered_bytes, more.entered_bytes),
            (delivered, more.delivered),
            (delivered_bytes, more.delivered_bytes),
            (lost_random, more.lost_random),
            (lost_burst, more.lost_burst),
            (lost_blackout, more.lost_blackout),
            (lost_queue, more.lost_queue),
            (lost_policer, more.lost_policer),
            (lost_mtu, more.lost_mtu),
            (duplicated, more.duplicated),
            (corrupted, more.corrupted),
            (reordered, more.reordered),
            (marked, more.marked),
        ] {
            *count = count.saturating_add(more);
        }
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "entered {} ({} bytes), delivered {} ({} bytes), lost {} (random {}, burst {}, \
             blackout {}, queue {}, policer {}, MTU {}), duplicated {}, corrupted {}, \
             reordered {}, marked {}",
            self.entered,
            self.entered_bytes,
            self.delivered,
            self.delivered_bytes,
            self.lost(),
            self.lost_random,
            self.lost_burst,
            self.lost_blackout,
            self.lost_queue,
            self.lost_policer,
            self.lost_mtu,
            self.duplicated,
            self.corrupted,
            self.reordered,
            self.marked,
        )
    }
}

/// Adds to a count that stays at its maximum.
pub(crate) fn add(count: &mut u64, more: usize) {
    *count = count.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A different number in each field.
    const ONE: Counters = Counters {
        entered: 1,
        entered_bytes: 2,
        delivered: 3,
        delivered_bytes: 4,
        lost_random: 5,
        lost_burst: 6,
        lost_blackout: 7,
        lost_queue: 8,
        lost_policer: 9,
        lost_mtu: 10,
        duplicated: 11,
        corrupted: 12,
        reordered: 13,
        marked: 14,
    };

    #[test]
    fn every_count_is_added_to_its_own() {
        let mut total = Counters::default();
        total += ONE;
        assert_eq!(total, ONE);
        total += ONE;
        let twice = Counters {
            entered: 2,
            entered_bytes: 4,
            delivered: 6,
            delivered_bytes: 8,
            lost_random: 10,
            lost_burst: 12,
            lost_blackout: 14,
            lost_queue: 16,
            lost_policer: 18,
            lost_mtu: 20,
            duplicated: 22,
            corrupted: 24,
            reordered: 26,
            marked: 28,
        };
        assert_eq!(total, twice);
    }

    #[test]
    fn a_sum_stays_at_its_maximum() {
        let full = Counters {
            entered: u64::MAX - 1,
            reordered: u64::MAX,
            ..ONE
        };
        let mut total = ONE;
        total += full;
        assert_eq!((total.entered, total.reordered), (u64::MAX, u64::MAX));
        total += ONE;
        assert_eq!((total.entered, total.reordered), (u64::MAX, u64::MAX));
    }
}
