//! Instants and spans as nanoseconds in 64 bits, enough for 584 years (D7).

pub(crate) use backoff_policy::nanos;
use core::time::Duration;

/// An instant past the end of the clock.
pub(crate) const NEVER: u64 = u64::MAX;

/// The way back: what never comes is at the end of time.
#[inline]
pub(crate) const fn duration(nanos: u64) -> Duration {
    if nanos == NEVER {
        return Duration::MAX;
    }
    Duration::from_nanos(nanos)
}

/// Whether a deadline has come; one past the end of the clock never does.
#[inline]
pub(crate) const fn is_due(deadline: u64, now: u64) -> bool {
    deadline <= now && deadline != NEVER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_saturate() {
        let ns = Duration::from_nanos;
        for (span, expected) in [
            (Duration::MAX, NEVER),
            (ns(NEVER), NEVER),
            (ns(NEVER - 1), NEVER - 1),
            (Duration::new(2, 3), 2_000_000_003),
        ] {
            assert_eq!(nanos(span), expected);
        }
        assert_eq!(duration(NEVER), Duration::MAX);
        assert_eq!(duration(NEVER - 1), ns(NEVER - 1));
    }
}
