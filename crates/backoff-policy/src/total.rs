//! What all waits of a policy take together.

use crate::jitter::within;
use crate::{FirstDelay, Jitter, Policy, Ratio, Schedule};
use core::num::NonZeroU64;
use core::time::Duration;

/// The waits of all attempts together, where every one of them fails at once: without hints, and
/// before any deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Where every draw is the least.
    pub least: Duration,
    /// On average. Exact to a nanosecond per wait, but for [`Jitter::Decorrelated`], whose waits
    /// depend on each other: within 1 %.
    pub mean: Duration,
    /// Where every draw is the greatest.
    pub most: Duration,
}

impl Policy {
    /// What all waits take together; `None` where the attempts are not limited. It takes as many
    /// steps as there are waits below the cap.
    ///
    /// ```
    /// # use {backoff_policy::Policy, core::time::Duration};
    /// let total = Policy::CALLS.total().expect("5 attempts");
    /// assert_eq!(total.most, Duration::from_secs(1 + 2 + 4 + 8));
    /// assert_eq!(total.mean, total.most / 2);
    /// ```
    #[must_use]
    pub fn total(&self) -> Option<Total> {
        let waits = self.waits()?;
        let mut sums = Sums::default();
        let left = match self.first_delay {
            FirstDelay::Jittered => waits,
            FirstDelay::Immediate => waits.saturating_sub(1),
            FirstDelay::Exact => {
                let base = self.schedule.base.get();
                sums.add([base; 3], waits.min(1));
                waits.saturating_sub(1)
            }
        };
        match self.schedule.jitter {
            Jitter::Decorrelated => sums.add_decorrelated(&self.schedule, left),
            _ => {
                let first = u32::from(self.first_delay == FirstDelay::Exact);
                sums.add_independent(&self.schedule, first, left);
            }
        }
        let [least, mean, most] = sums.0.map(saturating);
        Some(Total { least, mean, most })
    }
}

fn saturating(nanos: u128) -> Duration {
    Duration::from_nanos_u128(nanos.min(Duration::MAX.as_nanos()))
}

/// Least, mean and most, in ns.
#[derive(Default)]
struct Sums([u128; 3]);

impl Sums {
    fn add(&mut self, wait: [u64; 3], times: u32) {
        for (sum, wait) in self.0.iter_mut().zip(wait) {
            *sum = sum.saturating_add(u128::from(wait).saturating_mul(times.into()));
        }
    }

    /// `waits` of them, from the `first` ceiling on.
    fn add_independent(&mut self, schedule: &Schedule, first: u32, waits: u32) {
        let (mut current, mut left) = (schedule.grown(first, schedule.multiplier), waits);
        while left > 0 {
            let (least, most) = schedule.interval(current);
            let next = schedule.grow(current, schedule.multiplier);
            let mean = mean_clipped(least, most, schedule.clip(u64::MAX));
            let wait = [schedule.clip(least), mean, schedule.clip(most)];
            let times = if next == current { left } else { 1 };
            self.add(wait, times);
            (current, left) = (next, left.saturating_sub(times));
        }
    }

    /// The mean by 256 paths. In the order of their values, neighbours take draws from all parts of
    /// the range, so that no randomness is needed.
    fn add_decorrelated(&mut self, schedule: &Schedule, waits: u32) {
        const LOG: u32 = 8; // of the number of paths
        const STEPS: u32 = 64; // by then the delays have their final distribution
        let mut paths = [schedule.base; 1 << LOG];
        let (base, mut longest) = (schedule.base.get(), schedule.base);
        let mut left = waits;
        for step in 1..=STEPS.min(waits) {
            paths.sort_unstable();
            let key = u64::from(step).wrapping_mul(0x9e37_79b9_7f4a_7c15); // each time another
            let mut sum = 0u128;
            for (path, at) in paths.iter_mut().zip(0u64..) {
                let place = (at.reverse_bits() ^ key) & !(u64::MAX >> LOG);
                let draw = place | (1 << (63 - LOG)); // the middle of its share
                let (least, most) = schedule.interval(*path);
                let delay = schedule.clip(within(least, most, draw));
                *path = NonZeroU64::new(delay).unwrap_or(schedule.base);
                sum = sum.saturating_add(delay.into());
            }
            longest = schedule.grow(longest, Ratio::new(3, 1));
            let times = if step == STEPS { left } else { 1 };
            let mean = u64::try_from(sum >> LOG).unwrap_or(u64::MAX);
            self.add([base, mean, longest.get()], times);
            left = left.saturating_sub(times);
        }
    }
}

/// The mean of an even draw from `least` to `most`, where what is above the cap becomes the cap.
fn mean_clipped(least: u64, most: u64, cap: u64) -> u64 {
    if least >= cap {
        return cap;
    }
    let sum = |a: u64, b: u64| u128::from(a).saturating_add(b.into());
    if most <= cap {
        return u64::try_from(sum(least, most) >> 1).unwrap_or(u64::MAX);
    }
    // Halves of the values, so that the products fit: below the cap their mean, above it the cap.
    let below = u128::from(cap.saturating_sub(least));
    let above = u128::from(most.saturating_sub(cap));
    let twice = (below.saturating_mul(sum(least, cap))) >> 1;
    let total = twice.saturating_add(above.saturating_mul(cap.into()));
    let mean = total.checked_div(below.saturating_add(above));
    u64::try_from(mean.unwrap_or(0)).unwrap_or(u64::MAX)
}
