//! The machine apart from what it runs by, so that many may share that.

use super::Params;
use crate::clock::{NEVER, duration, is_due, nanos};
use crate::{Abort, Action, AttemptId, Limit, Snapshot, Verdict};
use backoff_policy::{Series, uniform};
use core::time::Duration;

/// A [`Connection`](crate::Connection) whose parameters are an argument, always the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(super) phase: Phase,
    /// Where the series of delays stands; `None` before the first failure of a series.
    pub(super) series: Option<Series>,
    /// Since when a connection is wanted and missing. Always `Some` in CONNECTING and in
    /// TRANSIENT_FAILURE.
    pub(super) wanted_since: Option<u64>,
    /// Failures since the series last restarted, for people and for `max_attempts`.
    pub(super) failures: u32,
    /// The earliest start after the attempt in flight, should it fail, where the series has
    /// restarted since that one started (D5); [`NEVER`] where it has not.
    pub(super) restart_at: u64,
    /// Attempts started so far: the latest has the id `attempts - 1`.
    pub(super) attempts: u64,
}

/// Each phase holds exactly the instants that it needs, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    Idle {
        not_before: u64,
    },
    Connecting {
        attempt: Attempt,
        deadline: u64,
    },
    Ready {
        attempt: Attempt,
        since: u64,
    },
    TransientFailure {
        until: u64,
    },
    GaveUp {
        limit: Limit,
        /// What was left to wait, for a snapshot.
        not_before: u64,
    },
    Shutdown,
}

/// The latest attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) started_at: u64,
    /// The delay to the next one, should this one fail (S9).
    pub(super) backoff: u64,
    /// What it was drawn by. Should this one succeed, a first delay is too (D9).
    pub(super) draw: u64,
}

impl Machine {
    /// In IDLE; it wants no connection yet.
    pub(crate) const NEW: Self = Self {
        phase: Phase::Idle { not_before: 0 },
        series: None,
        wanted_since: None,
        failures: 0,
        restart_at: NEVER,
        attempts: 0,
    };

    /// At the place of a snapshot.
    pub(crate) fn resumed(params: &Params, now: Duration, snapshot: Snapshot) -> Self {
        let schedule = &params.schedule;
        let wait = nanos(snapshot.wait.min(schedule.longest()));
        let resume = |current| Series::resume(schedule, current);
        Self {
            phase: Phase::Idle {
                not_before: nanos(now).saturating_add(wait),
            },
            series: snapshot.backoff.map(resume),
            failures: snapshot.failures,
            attempts: snapshot.attempts,
            ..Self::NEW
        }
    }

    // ---- What the application wants ----

    pub(crate) fn connect(&mut self, params: &Params, now: Duration) {
        if let Phase::Idle { not_before } = self.phase {
            let now = nanos(now);
            self.wanted_since.get_or_insert(now);
            if self.elapses_by(params, not_before) {
                self.give_up(Limit::Elapsed, not_before);
            }
        }
    }

    pub(crate) fn withdraw(&mut self, params: &Params, now: Duration) -> Option<Abort> {
        self.wanted_since = None;
        let (not_before, abort) = match self.phase {
            Phase::Connecting { attempt, .. } => {
                let not_before = self.next_start(params, nanos(now), attempt);
                (not_before, Some(self.abort()))
            }
            Phase::TransientFailure { until } => (until, None),
            _ => return None,
        };
        self.phase = Phase::Idle { not_before };
        abort
    }

    pub(crate) fn reset(&mut self, now: Duration) {
        self.reset_at(nanos(now), nanos(now));
    }

    pub(crate) fn reset_within(&mut self, now: Duration, window: Duration, draw: u64) {
        let wait = nanos(uniform(window, draw));
        self.reset_at(nanos(now), nanos(now).saturating_add(wait));
    }

    fn reset_at(&mut self, now: u64, point: u64) {
        self.restart_series(now, point);
        match &mut self.phase {
            Phase::Idle { not_before: at } | Phase::TransientFailure { until: at } => {
                *at = point.min(*at);
            }
            Phase::GaveUp { .. } => self.phase = Phase::Idle { not_before: point },
            Phase::Connecting { .. } | Phase::Ready { .. } | Phase::Shutdown => {}
        }
    }

    pub(crate) fn retarget(&mut self, now: Duration) -> Option<Abort> {
        if matches!(self.phase, Phase::Shutdown) {
            return None;
        }
        let abort = self.has_connection().then(|| self.abort());
        let now = nanos(now);
        self.restart_series(now, now);
        self.phase = Phase::Idle { not_before: now };
        abort
    }

    pub(crate) fn shutdown(&mut self) -> Option<Abort> {
        let abort = self.has_connection().then(|| self.abort());
        self.phase = Phase::Shutdown;
        self.wanted_since = None;
        abort
    }

    // ---- What happened ----

    pub(crate) fn handle_settings(
        &mut self,
        params: &Params,
        now: Duration,
        attempt: AttemptId,
    ) -> Verdict {
        match self.phase {
            Phase::Connecting {
                attempt: latest, ..
            } if self.is_latest(attempt) => {
                self.wanted_since = None;
                if params.stable_time == 0 {
                    self.clear_failures(); // (S11)
                }
                self.phase = Phase::Ready {
                    attempt: latest,
                    since: nanos(now),
                };
                Verdict::Accepted
            }
            _ => Verdict::Stale,
        }
    }

    /// The machine knows how far the attempt had come, whatever the host calls its end (D6).
    #[inline]
    pub(crate) fn handle_end(
        &mut self,
        params: &Params,
        now: Duration,
        attempt: AttemptId,
    ) -> Verdict {
        let now = nanos(now);
        match self.phase {
            _ if !self.is_latest(attempt) => return Verdict::Stale,
            Phase::Connecting { attempt, .. } => self.fail(params, now, attempt),
            Phase::Ready { attempt, since } => self.lose(params, now, attempt, since),
            _ => return Verdict::Stale,
        }
        Verdict::Accepted
    }

    // ---- What to do ----

    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        match self.due_at() {
            NEVER => None, // the end of time never comes (D7)
            due_at => Some(duration(due_at)),
        }
    }

    #[inline]
    fn due_at(&self) -> u64 {
        match self.phase {
            Phase::Connecting { deadline, .. } => deadline, // (D7)
            Phase::Idle { not_before: at } | Phase::TransientFailure { until: at } => {
                self.wanted_since.map_or(NEVER, |since| at.max(since))
            }
            Phase::Ready { .. } | Phase::GaveUp { .. } | Phase::Shutdown => NEVER,
        }
    }

    #[inline]
    pub(crate) fn poll_action(
        &mut self,
        params: &Params,
        now: Duration,
        draw: impl FnOnce() -> u64,
    ) -> Option<Action> {
        let (now, due_at) = (nanos(now), self.due_at());
        if !is_due(due_at, now) {
            return None;
        }
        if let Phase::Connecting { attempt, .. } = self.phase {
            self.fail(params, now, attempt); // (S5)
            return Some(Action::Abort(self.abort()));
        }
        if self.elapses_by(params, now) {
            self.give_up(Limit::Elapsed, due_at); // the host is late (D11)
            return None;
        }
        Some(Action::Start(self.start(params, now, due_at, draw())))
    }

    /// Lets the next attempt have this number, for a host that counts over several machines (A2).
    #[cfg(feature = "alloc")]
    pub(crate) const fn number_from(&mut self, attempts: u64) {
        self.attempts = attempts;
    }

    const fn has_connection(&self) -> bool {
        matches!(self.phase, Phase::Connecting { .. } | Phase::Ready { .. })
    }

    pub(crate) const fn latest(&self) -> AttemptId {
        AttemptId(self.attempts.saturating_sub(1))
    }

    /// One outcome per attempt, and at most one attempt in flight: any other id is old (D6).
    fn is_latest(&self, attempt: AttemptId) -> bool {
        attempt == self.latest()
    }

    const fn abort(&self) -> Abort {
        Abort {
            attempt: self.latest(),
        }
    }
}
