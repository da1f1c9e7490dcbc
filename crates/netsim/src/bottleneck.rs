//! The one place where packets wait for each other: a first-in first-out queue before a sender of
//! limited rate.

use alloc::collections::VecDeque;
use core::time::Duration;

/// When the bottleneck starts and ends sending each packet. All is known as a packet enters, so
/// only numbers are kept here, not packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bottleneck {
    free_at: Duration,
    /// What the last packet took beyond whole nanoseconds, in 1 / rate ns: it is charged to the
    /// next one, so that rounding does not add up.
    carry: u64,
    /// Start and bytes of each packet still waiting, as of the last call; starts never decrease.
    waiting: VecDeque<(Duration, usize)>,
    waiting_bytes: usize,
}

impl Bottleneck {
    /// A packet enters: returns when it has left, or `None` if it must wait and the queue of
    /// `queue` bytes and `max_packets` packets has no room.
    pub(crate) fn enter(
        &mut self,
        now: Duration,
        bytes: usize,
        rate: Option<u64>,
        queue: usize,
        max_packets: usize,
    ) -> Option<Duration> {
        self.forget_started(now);
        if self.free_at > now {
            let room = queue.saturating_sub(self.waiting_bytes);
            if bytes > room || self.waiting.len() >= max_packets {
                return None;
            }
            self.waiting.push_back((self.free_at, bytes));
            self.waiting_bytes = self.waiting_bytes.saturating_add(bytes);
        } else {
            if self.free_at < now {
                self.carry = 0; // an idle sender owes nothing
            }
            self.free_at = now;
        }
        if let Some(rate) = rate {
            let (took, carry) = sending_time(bytes, rate, self.carry);
            self.carry = carry;
            self.free_at = self.free_at.saturating_add(took);
        }
        Some(self.free_at)
    }

    /// Bytes that waited once the last packet had entered, itself included.
    pub(crate) fn waiting_at_entry(&self) -> usize {
        self.waiting_bytes
    }

    /// Bytes that wait at `now`, without the packet being sent.
    pub(crate) fn waiting_bytes(&self, now: Duration) -> usize {
        let waiting = self.waiting.iter().filter(|(start, _)| *start > now);
        waiting.map(|(_, bytes)| bytes).sum()
    }

    /// The clock went back by this much: so does everything here.
    pub(crate) fn step_back(&mut self, by: Duration) {
        self.free_at = self.free_at.saturating_sub(by);
        for (start, _) in &mut self.waiting {
            *start = start.saturating_sub(by);
        }
    }

    /// The rate changes: what is carried over is in terms of the old one.
    pub(crate) fn rate_changed(&mut self) {
        self.carry = 0;
    }

    fn forget_started(&mut self, now: Duration) {
        while let Some(&(start, bytes)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
        }
    }
}

/// Whole nanoseconds to send `bytes` at `rate` bits per second after `carry`, rounded down; and what
/// that leaves over, in 1 / rate ns.
pub(crate) fn sending_time(bytes: usize, rate: u64, carry: u64) -> (Duration, u64) {
    const BITS_X_NS_PER_BYTE: u64 = 8 * 1_000_000_000;
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let work = u128::from(bytes)
        .saturating_mul(u128::from(BITS_X_NS_PER_BYTE))
        .saturating_add(u128::from(carry));
    let per_ns = u128::from(rate.max(1));
    let whole = work.checked_div(per_ns).unwrap_or(0);
    let rest = work.checked_rem(per_ns).unwrap_or(0);
    let whole = Duration::from_nanos(u64::try_from(whole).unwrap_or(u64::MAX));
    (whole, u64::try_from(rest).unwrap_or(0))
}
