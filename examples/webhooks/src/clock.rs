//! The one place that reads the wall clock: the only clock that goes on while the program does not.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[expect(
    clippy::disallowed_methods,
    reason = "a job's due time outlives the process, and any monotonic clock"
)]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Now, as jobs count.
pub(crate) fn since_epoch() -> Duration {
    now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}
