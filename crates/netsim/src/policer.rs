//! A limit on the rate that drops what exceeds it, and delays nothing.

use core::time::Duration;

use crate::bottleneck::sending_time;

/// A token bucket: what it has no tokens for is dropped, the rest passes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// How fast the bucket fills, in bits per second.
    pub rate: u64,
    /// How many bytes it holds: so many pass in a row.
    pub burst: usize,
}

/// The state of the bucket: full at first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    /// When it will be full if nothing more passes.
    full_at: Duration,
}

impl Bucket {
    /// Whether a packet passes at `now`; if so, it takes its tokens.
    ///
    /// Its time to fill again is rounded down to whole nanoseconds.
    pub(crate) fn admits(&mut self, now: Duration, bytes: usize, policer: Policer) -> bool {
        let to_fill = |bytes| sending_time(bytes, policer.rate, 0).0;
        let full_at = self.full_at.max(now).saturating_add(to_fill(bytes));
        let fits = full_at.saturating_sub(now) <= to_fill(policer.burst);
        if fits {
            self.full_at = full_at;
        }
        fits
    }

    /// The clock went back by this much: so does the bucket.
    pub(crate) fn step_back(&mut self, by: Duration) {
        self.full_at = self.full_at.saturating_sub(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// 125 bytes a millisecond, four packets of 125 bytes in a row.
    const SLOW: Policer = Policer {
        rate: 1_000_000,
        burst: 500,
    };

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut bucket = Bucket::default();
        let passed = |bucket: &mut Bucket, now| {
            let tries = core::iter::from_fn(|| bucket.admits(now, 125, SLOW).then_some(()));
            tries.count()
        };
        assert_eq!(passed(&mut bucket, ms(10)), 4);
        assert_eq!(passed(&mut bucket, ms(11)), 1);
        assert_eq!(passed(&mut bucket, ms(13)), 2);
        assert_eq!(
            passed(&mut bucket, ms(100)),
            4,
            "it holds no more than a burst"
        );
    }

    #[test]
    fn what_is_refused_takes_nothing() {
        let mut bucket = Bucket::default();
        assert!(!bucket.admits(ms(0), 501, SLOW));
        assert!(bucket.admits(ms(0), 500, SLOW));
        assert!(!bucket.admits(ms(3), 500, SLOW) && bucket.admits(ms(4), 500, SLOW));
    }

    #[test]
    fn a_rate_of_odd_nanoseconds_admits_its_whole_burst() {
        let mut bucket = Bucket::default();
        let odd = Policer {
            rate: 7_000_000,
            burst: 1_000,
        };
        assert!((0..10).all(|_| bucket.admits(ms(0), 100, odd)));
        assert!(!bucket.admits(ms(0), 1, odd));
    }
}
