use core::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// In whole nanoseconds; saturates at 584 years (B1).
#[inline]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    const MOST: u64 = u64::MAX / SECOND;
    let seconds = duration.as_secs();
    if seconds > MOST {
        return u64::MAX;
    }
    (seconds.wrapping_mul(SECOND)).saturating_add(duration.subsec_nanos() as u64)
}
