//! The only place that reads the clock.

use std::time::Duration;

use tokio::time::Instant;

/// A monotonic clock that counts from its own start. A copy counts from the
/// same start, so endpoints that share a clock report comparable times.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts a clock: it is zero now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the driver's clock")]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// The time since the start.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// The time of an instant since the start; zero for an earlier one.
    #[must_use]
    pub fn of(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.start)
    }

    /// The instant of a deadline that was computed from [`now`](Self::now).
    /// One that is too far away for the system becomes one 30 years away.
    #[must_use]
    pub fn at(&self, deadline: Duration) -> Instant {
        const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
        self.start
            .checked_add(deadline)
            .unwrap_or_else(|| self.start + FAR)
    }
}
