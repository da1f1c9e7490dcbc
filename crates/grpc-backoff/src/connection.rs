use crate::clock::{NEVER, duration, is_due, nanos};
use crate::{Abort, Action, AttemptId, Config, ConfigError, Limit, Snapshot, Verdict};
use backoff_policy::{Series, uniform};
use core::time::Duration;
pub(crate) use params::Params;

mod params;
mod reading;
mod spacing;
#[cfg(test)]
mod tests;

/// One connection to one server: it says when to dial, you dial.
///
/// The [crate documentation](crate) shows its run loop. Any order of calls with any times is
/// allowed. After every call, call [`poll_action`](Self::poll_action) until it gives `None`: that
/// is at most one `Abort` and one `Start` for any instant. Time ends after 2^64 ns (584 years): a
/// deadline beyond that reads [`Duration::MAX`], and never comes (D7).
///
/// # Deviations
///
/// None from the document; where it leaves room, decisions D1 to D13 and D15 apply. It knows one
/// address and keeps no metrics: those are for what is built on it.
#[derive(Clone, Debug)]
pub struct Connection {
    params: Params,
    phase: Phase,
    /// Where the series of delays stands; `None` before the first failure of a series.
    series: Option<Series>,
    /// Since when a connection is wanted and missing. Always `Some` in CONNECTING and in
    /// TRANSIENT_FAILURE.
    wanted_since: Option<u64>,
    /// Failures since the series last restarted, for people and for `max_attempts`.
    failures: u32,
    /// The earliest start after the attempt in flight, should it fail, where the series has
    /// restarted since that one started (D5); [`NEVER`] where it has not.
    restart_at: u64,
    /// Attempts started so far: the latest has the id `attempts - 1`.
    attempts: u64,
}

/// Each phase holds exactly the instants that it needs, in ns.
#[derive(Clone, Copy, Debug)]
enum Phase {
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
struct Attempt {
    started_at: u64,
    /// The delay to the next one, should this one fail (S9).
    backoff: u64,
    /// What it was drawn by. Should this one succeed, a first delay is too (D9).
    draw: u64,
}

impl Connection {
    /// Makes a machine in IDLE that wants no connection yet.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub const fn new(config: Config) -> Result<Self, ConfigError> {
        match Params::new(&config) {
            Err(error) => Err(error),
            Ok(params) => Ok(Self::with_params(params)),
        }
    }

    pub(crate) const fn with_params(params: Params) -> Self {
        Self {
            params,
            phase: Phase::Idle { not_before: 0 },
            series: None,
            wanted_since: None,
            failures: 0,
            restart_at: NEVER,
            attempts: 0,
        }
    }

    /// Makes a machine in IDLE that goes on where a [`snapshot`](Self::snapshot) left off: it
    /// waits what is left, but never longer than the config's longest delay (D7, D10). One that
    /// gave up may try again, once per restart if its failures are at `max_attempts`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn restore(config: Config, now: Duration, snapshot: Snapshot) -> Result<Self, ConfigError> {
        Ok(Self::new(config)?.resumed(now, snapshot))
    }

    /// The same config, at the place of a snapshot.
    pub(crate) fn resumed(&self, now: Duration, snapshot: Snapshot) -> Self {
        let mut connection = Self::with_params(self.params.clone());
        let schedule = &self.params.schedule;
        let wait = nanos(snapshot.wait.min(schedule.longest()));
        connection.phase = Phase::Idle {
            not_before: nanos(now).saturating_add(wait),
        };
        let resume = |current| Series::resume(schedule, current);
        connection.series = snapshot.backoff.map(resume);
        connection.failures = snapshot.failures;
        connection.attempts = snapshot.attempts;
        connection
    }

    // ---- What the application wants ----

    /// Wants a connection: the first attempt of a run starts at once (S4) (S14), any other when
    /// its wait is over. Gives up at once where that is not before `max_elapsed` (D11). Says
    /// nothing new while a connection is wanted or there, or after an end.
    pub fn connect(&mut self, now: Duration) {
        if let Phase::Idle { not_before } = self.phase {
            let now = nanos(now);
            self.wanted_since.get_or_insert(now);
            if self.elapses_by(not_before) {
                self.give_up(Limit::Elapsed, not_before);
            }
        }
    }

    /// Wants no connection any more: IDLE, where no attempt starts and the wait still counts
    /// (D8). A READY connection stays; an attempt in flight is cancelled, which is neither
    /// success nor failure (D12).
    #[must_use]
    pub fn withdraw(&mut self, now: Duration) -> Option<Abort> {
        self.wanted_since = None;
        let (not_before, abort) = match self.phase {
            Phase::Connecting { attempt, .. } => {
                (self.next_start(nanos(now), attempt), Some(self.abort()))
            }
            Phase::TransientFailure { until } => (until, None),
            _ => return None,
        };
        self.phase = Phase::Idle { not_before };
        abort
    }

    /// Restarts the series, and ends a wait (C4). An attempt in flight goes on; if it fails, the
    /// next one starts at once (D5). Leads out of `GaveUp`, to IDLE.
    pub fn reset(&mut self, now: Duration) {
        self.reset_at(nanos(now), nanos(now));
    }

    /// As [`reset`](Self::reset), but a wait ends at a point of `window` from now that `draw`,
    /// uniform over all of `u64`, chooses; or when it would have ended, if that is sooner. So a
    /// fleet that is reset together does not return together (D15).
    pub fn reset_within(&mut self, now: Duration, window: Duration, draw: u64) {
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

    /// The server to connect to has changed: starts afresh, at once if a connection is wanted and
    /// missing. What there is of the old one must be closed: from READY it leads to IDLE, where
    /// nothing starts before `connect`, as after a loss (C2). Leads out of `GaveUp`, to IDLE.
    #[must_use]
    pub fn retarget(&mut self, now: Duration) -> Option<Abort> {
        if matches!(self.phase, Phase::Shutdown) {
            return None;
        }
        let abort = self.has_connection().then(|| self.abort());
        let now = nanos(now);
        self.restart_series(now, now);
        self.phase = Phase::Idle { not_before: now };
        abort
    }

    /// Ends everything for good (C1): no deadline and no action follow.
    #[must_use]
    pub fn shutdown(&mut self) -> Option<Abort> {
        let abort = self.has_connection().then(|| self.abort());
        self.phase = Phase::Shutdown;
        self.wanted_since = None;
        abort
    }

    // ---- What happened ----

    /// The server's SETTINGS has arrived: success (S10). Only now has the server accepted the
    /// connection; a TCP or TLS handshake is no reason to call this (S11). Calls need not wait
    /// for it (D13). It counts as long as the machine has not asked to abort the attempt.
    #[must_use]
    pub fn handle_settings(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        match self.phase {
            Phase::Connecting {
                attempt: latest, ..
            } if self.is_latest(attempt) => {
                self.wanted_since = None;
                if self.params.stable_time == 0 {
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

    /// The attempt failed before SETTINGS arrived, for whatever reason: back off (S1). Of a
    /// connection that is READY it says what [`handle_lost`](Self::handle_lost) does.
    #[must_use]
    pub fn handle_failed(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        self.end(now, attempt)
    }

    /// The READY connection that this attempt made is gone: IDLE until it is wanted again (C2),
    /// then a new run (S14). Of an attempt in flight it says what
    /// [`handle_failed`](Self::handle_failed) does.
    #[must_use]
    pub fn handle_lost(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        self.end(now, attempt)
    }

    /// The machine knows how far the attempt had come, whatever the host calls its end (D6).
    fn end(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        let now = nanos(now);
        match self.phase {
            _ if !self.is_latest(attempt) => return Verdict::Stale,
            Phase::Connecting { attempt, .. } => self.fail(now, attempt),
            Phase::Ready { attempt, since } => self.lose(now, attempt, since),
            _ => return Verdict::Stale,
        }
        Verdict::Accepted
    }

    // ---- What to do ----

    /// The deadline by which to call [`poll_action`](Self::poll_action); it may lie in the past,
    /// and `None` asks for no call. Every other call that takes `&mut self` may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
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

    /// Says what to do now, if anything. Calling early is harmless, calling late is one action.
    /// Call it until it gives `None`. `draw`, uniform over all of `u64`, is called exactly once
    /// for each `Start` and not otherwise (S9).
    #[must_use]
    pub fn poll_action(&mut self, now: Duration, draw: impl FnOnce() -> u64) -> Option<Action> {
        let (now, due_at) = (nanos(now), self.due_at());
        if !is_due(due_at, now) {
            return None;
        }
        if let Phase::Connecting { attempt, .. } = self.phase {
            self.fail(now, attempt); // (S5)
            return Some(Action::Abort(self.abort()));
        }
        if self.elapses_by(now) {
            self.give_up(Limit::Elapsed, due_at); // the host is late (D11)
            return None;
        }
        Some(Action::Start(self.start(now, due_at, draw())))
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
