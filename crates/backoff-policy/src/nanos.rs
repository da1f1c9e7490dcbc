use core::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// Gives a span in whole nanoseconds; what is above 2^64 - 1 ns, 584 years, is that (B1).
///
/// ```
/// # use {backoff_policy::nanos, core::time::Duration};
/// assert_eq!(nanos(Duration::new(2, 3)), 2_000_000_003);
/// assert_eq!(nanos(Duration::MAX), u64::MAX);
/// ```
#[inline]
#[must_use]
pub const fn nanos(duration: Duration) -> u64 {
    const MOST: u64 = u64::MAX / SECOND;
    let seconds = duration.as_secs();
    if seconds > MOST {
        return u64::MAX;
    }
    (seconds.wrapping_mul(SECOND)).saturating_add(duration.subsec_nanos() as u64)
}
