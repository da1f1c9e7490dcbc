//! The arithmetic of the machine: how an attempt's end decides when the next one may start.

use super::{Attempt, Connection, Phase};
use crate::{FirstDelay, FlapGuard, Limit, Reset, Start, Timing};
use backoff_policy::Series;
use core::time::Duration;

impl Connection {
    /// The delay that this draw gives at the series' place, and the place after it. Jitter is
    /// around the value before jitter (S7), which alone is capped and carried on (S8).
    pub(super) fn drawn(&self, draw: u64) -> (Duration, Series) {
        let mut series = self.series.unwrap_or_else(|| Series::new(&self.schedule));
        let delay = series.next(&self.schedule, draw);
        match (self.series, self.config.first_delay) {
            (None, FirstDelay::Exact) => (self.config.initial_backoff, series), // (D1)
            _ => (delay, series),
        }
    }

    pub(super) fn start(&mut self, now: Duration, due_at: Duration, draw: u64) -> Start {
        let (backoff, _) = self.drawn(draw);
        let timeout = backoff.max(self.config.min_connect_timeout);
        let deadline = now.saturating_add(timeout); // (S5)
        let deadline = self
            .give_up_at()
            .map_or(deadline, |limit| deadline.min(limit));
        let attempt = Attempt {
            started_at: now,
            draw,
            backoff,
        };
        self.restarted = None;
        self.attempts = self.attempts.saturating_add(1);
        self.phase = Phase::Connecting { attempt, deadline };
        Start {
            attempt: self.latest(),
            due_at,
            deadline,
            backoff,
        }
    }

    /// The earliest start after an attempt that ended now without a success.
    pub(super) fn next_start(&self, now: Duration, attempt: Attempt) -> Duration {
        let from = match self.config.timing {
            Timing::FromStart => attempt.started_at, // (S3)
            Timing::FromFailure => now,              // (D2)
        };
        let next_start = from.saturating_add(attempt.backoff);
        let restart = self.restarted.unwrap_or(next_start); // (D5) (D15)
        next_start.min(restart).max(now) // (S6)
    }

    /// Counts a failure, moves the series on, and gives the earliest next start; `None` where
    /// that was the last failure allowed.
    fn back_off(&mut self, now: Duration, attempt: Attempt) -> Option<Duration> {
        let next_start = self.next_start(now, attempt);
        let (_, after) = self.drawn(attempt.draw);
        if self.restarted.is_none() {
            self.series = Some(after);
        }
        self.failures = self.failures.saturating_add(1);
        if (self.config.max_attempts).is_some_and(|limit| limit.get() <= self.failures) {
            self.give_up(Limit::Attempts, next_start);
            return None;
        }
        Some(next_start)
    }

    pub(super) fn fail(&mut self, now: Duration, attempt: Attempt) {
        match self.back_off(now, attempt) {
            None => {}
            Some(until) if self.elapses_by(until) => self.give_up(Limit::Elapsed, until),
            Some(until) => self.phase = Phase::TransientFailure { until }, // (C1)
        }
    }

    /// Ends a READY connection (C2), which one that was not stable does as a failure (D9).
    pub(super) fn lose(&mut self, now: Duration, attempt: Attempt, since: Duration) {
        let stable = match self.config.reset {
            Reset::OnSettings => true,
            Reset::AfterStable(_) if self.restarted.is_some() => true,
            Reset::AfterStable(time) => now.saturating_sub(since) >= time,
        };
        let not_before = if stable {
            self.clear_failures();
            let (first_delay, _) = self.drawn(attempt.draw);
            match self.config.flap_guard {
                FlapGuard::On => Some(attempt.started_at.saturating_add(first_delay)),
                FlapGuard::Off => Some(now), // (S14)
            }
        } else {
            self.back_off(now, attempt)
        };
        if let Some(not_before) = not_before {
            self.phase = Phase::Idle { not_before };
        }
    }

    pub(super) fn clear_failures(&mut self) {
        self.series = None;
        self.failures = 0;
    }

    /// The next start after an attempt in flight needs to wait no longer than until `point`.
    pub(super) fn restart_series(&mut self, now: Duration, point: Duration) {
        self.clear_failures();
        let earlier = self.restarted.unwrap_or(point);
        self.restarted = Some(point.min(earlier));
        if let Some(since) = &mut self.wanted_since {
            *since = now;
        }
    }

    pub(super) fn give_up(&mut self, limit: Limit, not_before: Duration) {
        self.phase = Phase::GaveUp { limit, not_before };
        self.wanted_since = None;
    }

    /// Says whether at this time a connection will have been wanted in vain for long enough:
    /// then no attempt starts, and no wait for one begins (D11).
    pub(super) fn elapses_by(&self, time: Duration) -> bool {
        self.give_up_at().is_some_and(|limit| limit <= time)
    }

    fn give_up_at(&self) -> Option<Duration> {
        let since = self.wanted_since?;
        Some(since.saturating_add(self.config.max_elapsed?))
    }
}
