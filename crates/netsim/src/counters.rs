//! What a link did so far.

use core::fmt;

/// What a [`Link`](crate::Link) did so far, in packets where nothing else is said.
///
/// `entered + duplicated == delivered + lost() + in flight` at all times, until a count reaches its
/// maximum, where it stays. Displayed, it is one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Copies made.
    pub duplicated: u64,
    /// Packets with a bit flipped; their copies are not counted.
    pub corrupted: u64,
    /// Packets held back.
    pub reordered: u64,
}

impl Counters {
    /// Packets lost, for whatever reason.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost_random
            .saturating_add(self.lost_burst)
            .saturating_add(self.lost_blackout)
            .saturating_add(self.lost_queue)
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "entered {} ({} bytes), delivered {} ({} bytes), lost {} (random {}, burst {}, \
             blackout {}, queue {}), duplicated {}, corrupted {}, reordered {}",
            self.entered,
            self.entered_bytes,
            self.delivered,
            self.delivered_bytes,
            self.lost(),
            self.lost_random,
            self.lost_burst,
            self.lost_blackout,
            self.lost_queue,
            self.duplicated,
            self.corrupted,
            self.reordered,
        )
    }
}

/// Adds to a count that stays at its maximum.
pub(crate) fn add(count: &mut u64, more: usize) {
    *count = count.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
}
