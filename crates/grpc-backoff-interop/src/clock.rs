use std::time::Duration;
use tokio::time::Instant;

/// A monotonic clock, as the time since it was made: in tests, tokio's virtual one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "a driver's clock, and the one place that reads it"
    )]
    fn read() -> Instant {
        Instant::now()
    }

    pub(crate) fn start() -> Self {
        Self(Self::read())
    }

    pub(crate) fn now(self) -> Duration {
        Self::read().saturating_duration_since(self.0)
    }
}
