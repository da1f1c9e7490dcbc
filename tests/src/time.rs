//! Spans and instants of virtual time by their unit.

use std::time::Duration;

/// This many seconds.
#[must_use]
pub const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// This many milliseconds.
#[must_use]
pub const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// This many microseconds.
#[must_use]
pub const fn us(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

/// This many nanoseconds.
#[must_use]
pub const fn ns(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
}

/// A span in nanoseconds, for what counts in 64 bits of them.
///
/// # Panics
///
/// With more than they hold.
#[must_use]
pub fn to_ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).expect("64 bits are enough")
}

/// Holds starts in tokio's paused time to planned ones. Its timer ticks each millisecond, so
/// every start may be one later than planned, counted from the start before.
///
/// # Panics
///
/// Where one is early, or later than that.
#[track_caller]
pub fn assert_close(actual: &[Duration], planned: &[Duration]) {
    let close = |(n, (actual, planned)): (u64, (&Duration, &Duration))| {
        (*planned..=*planned + ms(n)).contains(actual)
    };
    let close = actual.len() == planned.len() && (0..).zip(actual.iter().zip(planned)).all(close);
    assert!(close, "{actual:?}, planned {planned:?}");
}
