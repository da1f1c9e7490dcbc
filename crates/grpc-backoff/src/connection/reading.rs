//! What is known of a machine.

use super::{Connection, Phase};
use crate::clock::{duration, nanos};
use crate::{Config, Snapshot, State};
use core::time::Duration;

impl Connection {
    /// The state, with its deadline where it has one (C1).
    #[must_use]
    pub fn state(&self) -> State {
        let attempt = self.latest();
        match self.phase {
            Phase::Idle { .. } => State::Idle,
            Phase::Connecting { deadline, .. } => State::Connecting {
                attempt,
                deadline: duration(deadline),
            },
            Phase::Ready { since, .. } => State::Ready {
                attempt,
                since: duration(since),
            },
            Phase::TransientFailure { until } => State::TransientFailure {
                until: duration(until),
            },
            Phase::GaveUp { limit, .. } => State::GaveUp { limit },
            Phase::Shutdown => State::Shutdown,
        }
    }

    /// Attempts started in the machine's life, and in that of the one it was restored from.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Failures since the series last restarted: attempts, and with
    /// [`Reset::AfterStable`](crate::Reset::AfterStable) connections that were lost too soon (D9).
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Says whether a connection is wanted and missing.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.wanted_since.is_some()
    }

    /// The config that the machine runs by. A span of 2^64 ns or more has no end.
    #[must_use]
    pub const fn config(&self) -> Config {
        self.params.config()
    }

    /// What to keep for [`restore`](Self::restore), as if the connection or attempt there is
    /// ended now: lost or cancelled. Take it before `shutdown`, which forgets the wait.
    #[must_use]
    pub fn snapshot(&self, now: Duration) -> Snapshot {
        let mut rest = self.clone();
        let _ = rest.withdraw(now);
        let _ = rest.handle_lost(now, self.latest());
        let next_start = match rest.phase {
            Phase::Idle { not_before } | Phase::GaveUp { not_before, .. } => not_before,
            _ => 0, // SHUTDOWN: all else was left just now
        };
        Snapshot {
            attempts: rest.attempts,
            failures: rest.failures,
            backoff: rest.series.map(|series| series.current()),
            wait: duration(next_start.saturating_sub(nanos(now))),
        }
    }
}
