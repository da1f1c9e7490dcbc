//! The arithmetic of the machine: how an attempt's end decides when the next one may start.

use super::Params;
use super::machine::{Attempt, Machine, Phase};
use crate::clock::{NEVER, duration, is_due, nanos};
use crate::{FirstDelay, FlapGuard, Limit, Start, Timing};
use backoff_policy::Series;

impl Machine {
    /// Where the series stands.
    #[inline]
    fn place(&self, params: &Params) -> Series {
        (self.series).unwrap_or_else(|| Series::new(&params.schedule))
    }

    /// The delay that this draw gives there. Jitter is around the value before jitter (S7).
    #[inline]
    fn delay(&self, params: &Params, draw: u64) -> u64 {
        let schedule = &params.schedule;
        nanos(match (self.series, params.first_delay) {
            (None, FirstDelay::Exact) => schedule.base(), // (D1)
            _ => self.place(params).next(schedule, draw),
        })
    }

    /// Moves the series on: the value before jitter alone is capped and carried on (S8).
    #[inline]
    fn advance(&mut self, params: &Params, draw: u64) {
        let mut series = self.place(params);
        let _ = series.next(&params.schedule, draw);
        self.series = Some(series);
    }

    #[inline]
    pub(super) fn start(&mut self, params: &Params, now: u64, due_at: u64, draw: u64) -> Start {
        let backoff = self.delay(params, draw);
        let timeout = backoff.max(params.min_connect_timeout);
        let deadline = now.saturating_add(timeout).min(self.give_up_at(params)); // (S5) (D11)
        let attempt = Attempt {
            started_at: now,
            backoff,
            draw,
        };
        self.restart_at = NEVER;
        self.attempts = self.attempts.saturating_add(1);
        self.phase = Phase::Connecting { attempt, deadline };
        Start {
            attempt: self.latest(),
            due_at: duration(due_at),
            deadline: duration(deadline),
            backoff: duration(backoff),
        }
    }

    /// The earliest start after an attempt that ended now without a success.
    #[inline]
    pub(super) fn next_start(&self, params: &Params, now: u64, attempt: Attempt) -> u64 {
        let from = match params.timing {
            Timing::FromStart => attempt.started_at, // (S3)
            Timing::FromFailure => now,              // (D2)
        };
        let until = from.saturating_add(attempt.backoff).min(self.restart_at); // (D5) (D15)
        until.max(now) // (S6)
    }

    /// Counts a failure, moves the series on, and gives the earliest next start; `None` where
    /// that was the last failure allowed.
    fn back_off(&mut self, params: &Params, now: u64, attempt: Attempt) -> Option<u64> {
        let next_start = self.next_start(params, now, attempt);
        if !self.has_restarted() {
            self.advance(params, attempt.draw);
        }
        self.failures = self.failures.saturating_add(1);
        if (params.max_attempts).is_some_and(|limit| limit.get() <= self.failures) {
            self.give_up(Limit::Attempts, next_start);
            return None;
        }
        Some(next_start)
    }

    #[inline]
    pub(super) fn fail(&mut self, params: &Params, now: u64, attempt: Attempt) {
        match self.back_off(params, now, attempt) {
            None => {}
            Some(until) if self.elapses_by(params, until) => self.give_up(Limit::Elapsed, until),
            Some(until) => self.phase = Phase::TransientFailure { until }, // (C1)
        }
    }

    /// Ends a READY connection (C2), which one that was not stable does as a failure (D9).
    pub(super) fn lose(&mut self, params: &Params, now: u64, attempt: Attempt, since: u64) {
        let was_up = now.saturating_sub(since);
        let stable = was_up >= params.stable_time || self.has_restarted();
        let not_before = if stable {
            self.clear_failures();
            let first_delay = self.delay(params, attempt.draw);
            match params.flap_guard {
                FlapGuard::On => Some(attempt.started_at.saturating_add(first_delay)),
                FlapGuard::Off => Some(now), // (S14)
            }
        } else {
            self.back_off(params, now, attempt)
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
    pub(super) fn restart_series(&mut self, now: u64, point: u64) {
        self.clear_failures();
        self.restart_at = self.restart_at.min(point);
        if let Some(since) = &mut self.wanted_since {
            *since = now;
        }
    }

    /// Since the latest attempt started.
    const fn has_restarted(&self) -> bool {
        self.restart_at != NEVER
    }

    pub(super) fn give_up(&mut self, limit: Limit, not_before: u64) {
        self.phase = Phase::GaveUp { limit, not_before };
        self.wanted_since = None;
    }

    /// Says whether at this time a connection will have been wanted in vain for long enough:
    /// then no attempt starts, and no wait for one begins (D11).
    #[inline]
    pub(super) fn elapses_by(&self, params: &Params, time: u64) -> bool {
        is_due(self.give_up_at(params), time)
    }

    #[inline]
    fn give_up_at(&self, params: &Params) -> u64 {
        let limit = params.max_elapsed;
        (self.wanted_since).map_or(NEVER, |since| since.saturating_add(limit))
    }
}
