//! The only place that reads the clocks.

use core::time::Duration;
use std::sync::OnceLock;
use tokio::time::Instant;

/// Tokio's clock as the time since the reconnector was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the driver's clock is the one place that reads it"
    )]
    pub(crate) fn read() -> Instant {
        Instant::now()
    }

    pub(super) fn start() -> Self {
        Self {
            start: Self::read(),
        }
    }

    pub(super) fn now(self) -> Duration {
        self.of(Self::read())
    }

    pub(super) fn of(self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.start)
    }

    /// The instant of a deadline, if tokio can count to it.
    pub(super) fn at(self, deadline: Duration) -> Option<Instant> {
        self.start.checked_add(deadline)
    }

    /// The same, but one that tokio cannot count to is 30 years away.
    pub(super) fn at_most(self, deadline: Duration) -> Instant {
        const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
        let far = || {
            let now = Self::read();
            now.checked_add(FAR).unwrap_or(now)
        };
        self.at(deadline).unwrap_or_else(far)
    }
}

/// The next instant, from `at` on, that all of this process with this slack share (D19).
pub(super) fn shared_end(at: Instant, slack_ns: u32) -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let origin = *ORIGIN.get_or_init(Clock::read);
    let since = at.saturating_duration_since(origin).as_nanos();
    let slack = u128::from(slack_ns);
    let rest = since
        .checked_next_multiple_of(slack)
        .map_or(0, |end| end.saturating_sub(since));
    at.checked_add(Duration::from_nanos_u128(rest))
        .unwrap_or(at)
}

/// The time that this machine has spent suspended since it booted: what its boot-time clock counts
/// and its monotonic clock does not (D16). Always zero where the system has no such clock.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn time_suspended() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let monotonic = Duration::try_from(clock_gettime(ClockId::Monotonic));
    let boot = Duration::try_from(clock_gettime(ClockId::Boottime));
    match (boot, monotonic) {
        (Ok(boot), Ok(monotonic)) => boot.saturating_sub(monotonic),
        _ => Duration::ZERO,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn time_suspended() -> Duration {
    Duration::ZERO
}
