//! What is known of a machine.

use super::Params;
use super::machine::{Machine, Phase};
use crate::clock::{duration, nanos};
use crate::{Snapshot, State};
use core::time::Duration;

impl Machine {
    pub(crate) fn state(&self) -> State {
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

    pub(crate) const fn attempts(&self) -> u64 {
        self.attempts
    }

    pub(crate) const fn failures(&self) -> u32 {
        self.failures
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.wanted_since.is_some()
    }

    pub(crate) fn snapshot(&self, params: &Params, now: Duration) -> Snapshot {
        let mut rest = self.clone();
        let _ = rest.withdraw(params, now);
        let _ = rest.handle_end(params, now, self.latest());
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
