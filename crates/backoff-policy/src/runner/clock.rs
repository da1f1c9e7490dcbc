//! The only place that reads a clock.

use core::time::Duration;
use std::sync::OnceLock;
use std::time::Instant;

/// Now, by the system's monotonic clock.
pub(crate) fn now() -> Duration {
    since_epoch(read())
}

/// Now, by tokio's clock.
#[cfg(feature = "tokio")]
#[expect(
    clippy::disallowed_methods,
    reason = "the driver's clock is the one place that reads it"
)]
pub(crate) fn tokio_now() -> Duration {
    since_epoch(tokio::time::Instant::now().into_std())
}

/// An instant as the time since an epoch that is the same for the whole program, as budgets that
/// many operations share need it.
fn since_epoch(instant: Instant) -> Duration {
    /// The epoch is so long before the first reading: a paused clock of tokio may be behind that.
    const BEFORE: Duration = Duration::from_secs(24 * 60 * 60);
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(read);
    match instant.checked_duration_since(first) {
        Some(later) => BEFORE.saturating_add(later),
        None => BEFORE.saturating_sub(first.saturating_duration_since(instant)),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the driver's clock is the one place that reads it"
)]
fn read() -> Instant {
    Instant::now()
}
