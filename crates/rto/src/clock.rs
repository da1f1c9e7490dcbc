//! Instants and spans as nanoseconds in 64 bits, enough for 584 years.

use core::time::Duration;

/// An instant past the end of the clock.
pub(crate) const NEVER: u64 = u64::MAX;

const SECOND_NS: u64 = 1_000_000_000;

/// In whole nanoseconds; saturates.
#[inline]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    const MOST: u64 = u64::MAX / SECOND_NS;
    let seconds = duration.as_secs();
    if seconds > MOST {
        return u64::MAX;
    }
    (seconds.wrapping_mul(SECOND_NS)).saturating_add(duration.subsec_nanos() as u64)
}

/// Whether a deadline has come; one past the end of the clock never does.
#[inline]
pub(crate) const fn is_due(deadline_ns: u64, now_ns: u64) -> bool {
    deadline_ns <= now_ns && deadline_ns != NEVER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_saturate() {
        assert_eq!(nanos(Duration::MAX), u64::MAX);
        assert_eq!(nanos(Duration::from_nanos(u64::MAX)), u64::MAX);
        assert_eq!(nanos(Duration::from_nanos(u64::MAX - 1)), u64::MAX - 1);
        assert_eq!(nanos(Duration::new(2, 3)), 2_000_000_003);
    }
}
