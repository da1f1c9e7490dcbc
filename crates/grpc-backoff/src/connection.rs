use crate::{
    Abort, Action, AttemptId, Config, ConfigError, FirstDelay, FlapGuard, Limit, Reset, Schedule,
    Snapshot, Start, State, Timing, Verdict,
};
use backoff_policy::Series;
use core::time::Duration;

/// One connection to one server: it says when to dial, you dial.
///
/// The [crate documentation](crate) shows its run loop. Any order of calls with any times is
/// allowed. After every call, call [`poll_action`](Self::poll_action) until it gives `None`:
/// that is at most one `Abort` and one `Start` for any instant.
///
/// # Deviations
///
/// None from the document; where it leaves room, decisions D1 to D13 apply. Having several
/// addresses and keeping metrics is left to the host.
#[derive(Clone, Debug)]
pub struct Connection {
    config: Config,
    schedule: Schedule,
    phase: Phase,
    /// Where the series of delays stands; `None` before the first failure of a series.
    series: Option<Series>,
    /// Since when a connection is wanted and missing. Always `Some` while connecting.
    wanted_since: Option<Duration>,
    /// Failures in a row, for people and for `max_attempts`.
    failures: u32,
    /// Attempts started so far: the latest has the id `attempts - 1`.
    attempts: u64,
}

/// Each phase holds exactly the instants that it needs.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Idle {
        not_before: Duration,
    },
    Connecting {
        attempt: Attempt,
        deadline: Duration,
    },
    Ready {
        attempt: Attempt,
        since: Duration,
    },
    TransientFailure {
        until: Duration,
    },
    GaveUp(Limit),
    Shutdown,
}

/// The latest attempt. Its delay is a pure function of the draw and the series, which does not
/// move before the attempt has ended.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    started_at: Duration,
    draw: u64,
    /// The series was restarted while this attempt was in flight (D5).
    restarted: bool,
}

impl Connection {
    /// Makes a machine in IDLE that wants no connection yet.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub const fn new(config: Config) -> Result<Self, ConfigError> {
        match config.schedule() {
            Err(error) => Err(error),
            Ok(schedule) => Ok(Self {
                config,
                schedule,
                phase: Phase::Idle {
                    not_before: Duration::ZERO,
                },
                series: None,
                wanted_since: None,
                failures: 0,
                attempts: 0,
            }),
        }
    }

    /// Makes a machine in IDLE that goes on where a [`snapshot`](Self::snapshot) left off: it
    /// waits what is left, but never longer than the config's longest delay (D7, D10).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn restore(config: Config, now: Duration, snapshot: Snapshot) -> Result<Self, ConfigError> {
        let mut connection = Self::new(config)?;
        let schedule = connection.schedule;
        let wait = snapshot.wait.min(schedule.longest());
        connection.phase = Phase::Idle {
            not_before: now.saturating_add(wait),
        };
        connection.series = snapshot
            .backoff
            .map(|current| Series::resume(&schedule, current));
        connection.failures = snapshot.failures;
        Ok(connection)
    }

    // ---- What the application wants ----

    /// Wants a connection: the first attempt of a run starts at once (S4, S14), any other when
    /// its wait is over. Says nothing new while one is wanted or there, or after an end.
    pub fn connect(&mut self, now: Duration) {
        if let Phase::Idle { .. } | Phase::TransientFailure { .. } = self.phase {
            self.wanted_since.get_or_insert(now);
        }
    }

    /// Wants no connection any more: no attempt starts, while the wait still counts (D8). A
    /// READY connection stays; an attempt in flight is cancelled, which is neither success nor
    /// failure (D12).
    #[must_use]
    pub fn withdraw(&mut self, now: Duration) -> Option<Abort> {
        self.wanted_since = None;
        let Phase::Connecting { attempt, .. } = self.phase else {
            return None;
        };
        let (delay, _) = self.drawn(attempt.draw);
        let not_before = self.next_start(now, attempt, delay);
        self.phase = Phase::Idle { not_before };
        Some(self.abort())
    }

    /// Restarts the series, and ends a wait (C4). An attempt in flight goes on; if it fails, the
    /// next one starts at once (D5). Leads out of `GaveUp`, to IDLE.
    pub fn reset(&mut self, now: Duration) {
        self.restart_series(now);
        match &mut self.phase {
            Phase::Idle { not_before: at } | Phase::TransientFailure { until: at } => *at = now,
            Phase::Connecting { attempt, .. } | Phase::Ready { attempt, .. } => {
                attempt.restarted = true;
            }
            Phase::GaveUp(_) => self.phase = Phase::Idle { not_before: now },
            Phase::Shutdown => {}
        }
    }

    /// The server to connect to has changed: starts afresh, at once if a connection is wanted.
    /// What there is of the old one must be closed. Leads out of `GaveUp`, to IDLE.
    #[must_use]
    pub fn retarget(&mut self, now: Duration) -> Option<Abort> {
        if matches!(self.phase, Phase::Shutdown) {
            return None;
        }
        let abort = self.has_connection().then(|| self.abort());
        self.restart_series(now);
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
                if self.config.reset == Reset::OnSettings {
                    self.clear_failures(); // (S11)
                }
                self.phase = Phase::Ready {
                    attempt: latest,
                    since: now,
                };
                Verdict::Accepted
            }
            _ => Verdict::Stale,
        }
    }

    /// The attempt failed before SETTINGS arrived, for whatever reason: back off (S1).
    #[must_use]
    pub fn handle_failed(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        match self.phase {
            Phase::Connecting {
                attempt: latest, ..
            } if self.is_latest(attempt) => {
                self.fail(now, latest);
                Verdict::Accepted
            }
            _ => Verdict::Stale,
        }
    }

    /// The READY connection that this attempt made is gone: IDLE until it is wanted again (C2),
    /// then a new run (S14).
    #[must_use]
    pub fn handle_lost(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        match self.phase {
            Phase::Ready {
                attempt: latest,
                since,
            } if self.is_latest(attempt) => {
                let not_before = self.lose(now, latest, since);
                self.phase = Phase::Idle { not_before };
                Verdict::Accepted
            }
            _ => Verdict::Stale,
        }
    }

    // ---- What to do ----

    /// When to call [`poll_action`](Self::poll_action), if ever; it may lie in the past. Every
    /// other call that takes `&mut self` may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        match (self.phase, self.wanted_since) {
            (Phase::Connecting { deadline, .. }, _) => Some(deadline), // (D7)
            (Phase::TransientFailure { until }, None) => Some(until),
            (
                Phase::Idle {
                    not_before: earliest,
                }
                | Phase::TransientFailure { until: earliest },
                Some(since),
            ) => {
                let due_at = earliest.max(since);
                Some(self.give_up_at().map_or(due_at, |limit| due_at.min(limit)))
            }
            _ => None,
        }
    }

    /// Says what to do now, if anything. Calling early is harmless, calling late is one action.
    /// Call it until it gives `None`. `draw`, uniform over all of `u64`, is called exactly once
    /// for each `Start` and not otherwise (S9).
    #[must_use]
    pub fn poll_action(&mut self, now: Duration, draw: impl FnOnce() -> u64) -> Option<Action> {
        self.poll_timeout().filter(|&due_at| due_at <= now)?;
        match self.phase {
            Phase::Connecting { attempt, .. } => {
                self.fail(now, attempt); // (S5)
                Some(Action::Abort(self.abort()))
            }
            Phase::Idle {
                not_before: earliest,
            }
            | Phase::TransientFailure { until: earliest } => {
                let Some(since) = self.wanted_since else {
                    self.phase = Phase::Idle {
                        not_before: earliest,
                    }; // (D8)
                    return None;
                };
                if self.give_up_at().is_some_and(|limit| limit <= now) {
                    self.give_up(Limit::Elapsed);
                    return None;
                }
                Some(Action::Start(self.start(now, earliest.max(since), draw())))
            }
            Phase::Ready { .. } | Phase::GaveUp(_) | Phase::Shutdown => None,
        }
    }

    // ---- What is known ----

    /// The state, with its deadline where it has one (C1).
    #[must_use]
    pub fn state(&self) -> State {
        let attempt = self.latest();
        match self.phase {
            Phase::Idle { .. } => State::Idle,
            Phase::Connecting { deadline, .. } => State::Connecting { attempt, deadline },
            Phase::Ready { since, .. } => State::Ready { attempt, since },
            Phase::TransientFailure { until } => State::TransientFailure { until },
            Phase::GaveUp(limit) => State::GaveUp { limit },
            Phase::Shutdown => State::Shutdown,
        }
    }

    /// Attempts started in the machine's life.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Attempts failed in a row, since the series last restarted.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Says whether a connection is wanted and missing.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.wanted_since.is_some()
    }

    /// The config that the machine runs by.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What to keep for [`restore`](Self::restore), as if the connection or attempt there is
    /// ended now: lost or cancelled. Take it before `shutdown`, which forgets the wait.
    #[must_use]
    pub fn snapshot(&self, now: Duration) -> Snapshot {
        let mut rest = self.clone();
        let next_start = match self.phase {
            Phase::Idle { not_before: at } | Phase::TransientFailure { until: at } => at,
            Phase::Connecting { attempt, .. } => {
                self.next_start(now, attempt, self.drawn(attempt.draw).0)
            }
            Phase::Ready { attempt, since } => rest.lose(now, attempt, since),
            Phase::GaveUp(_) | Phase::Shutdown => now,
        };
        Snapshot {
            failures: rest.failures,
            backoff: rest.series.map(|series| series.current()),
            wait: next_start.saturating_sub(now),
        }
    }

    // ---- Inside ----

    /// The delay that this draw gives at the series' place, and the place after it. Jitter is
    /// around the value before jitter, which alone is capped and carried on (S7, S8).
    fn drawn(&self, draw: u64) -> (Duration, Series) {
        let mut series = self.series.unwrap_or_else(|| Series::new(&self.schedule));
        let delay = series.next(&self.schedule, draw);
        match (self.series, self.config.first_delay) {
            (None, FirstDelay::Exact) => (self.config.initial_backoff, series), // (D1)
            _ => (delay, series),
        }
    }

    fn start(&mut self, now: Duration, due_at: Duration, draw: u64) -> Start {
        let (backoff, _) = self.drawn(draw);
        let timeout = backoff.max(self.config.min_connect_timeout);
        let deadline = now.saturating_add(timeout); // (S5)
        let deadline = self
            .give_up_at()
            .map_or(deadline, |limit| deadline.min(limit));
        let attempt = Attempt {
            started_at: now,
            draw,
            restarted: false,
        };
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
    fn next_start(&self, now: Duration, attempt: Attempt, delay: Duration) -> Duration {
        let from = match self.config.timing {
            _ if attempt.restarted => return now,    // (D5)
            Timing::FromStart => attempt.started_at, // (S3)
            Timing::FromFailure => now,              // (D2)
        };
        from.saturating_add(delay).max(now) // (S6)
    }

    /// Moves the series on after the latest attempt, and gives the earliest next start.
    fn back_off(&mut self, now: Duration, attempt: Attempt) -> Duration {
        let (delay, after) = self.drawn(attempt.draw);
        if !attempt.restarted {
            self.series = Some(after);
        }
        self.next_start(now, attempt, delay)
    }

    fn fail(&mut self, now: Duration, attempt: Attempt) {
        self.failures = self.failures.saturating_add(1);
        let until = self.back_off(now, attempt);
        let max_attempts = self.config.max_attempts;
        if max_attempts.is_some_and(|limit| limit.get() <= self.failures) {
            self.give_up(Limit::Attempts);
        } else if self.give_up_at().is_some_and(|limit| limit <= until) {
            self.give_up(Limit::Elapsed); // a wait that cannot fit ends now
        } else {
            self.phase = Phase::TransientFailure { until }; // (C1)
        }
    }

    /// Ends a READY connection and gives the earliest next start (D9).
    fn lose(&mut self, now: Duration, attempt: Attempt, since: Duration) -> Duration {
        let stable = match self.config.reset {
            Reset::OnSettings => true,
            Reset::AfterStable(_) if attempt.restarted => true,
            Reset::AfterStable(time) => now.saturating_sub(since) >= time,
        };
        if !stable {
            return self.back_off(now, attempt);
        }
        self.clear_failures();
        let (first_delay, _) = self.drawn(attempt.draw);
        match self.config.flap_guard {
            FlapGuard::On => attempt.started_at.saturating_add(first_delay),
            FlapGuard::Off => now, // (S14)
        }
    }

    fn clear_failures(&mut self) {
        self.series = None;
        self.failures = 0;
    }

    fn restart_series(&mut self, now: Duration) {
        self.clear_failures();
        if let Some(since) = &mut self.wanted_since {
            *since = now;
        }
    }

    fn give_up(&mut self, limit: Limit) {
        self.phase = Phase::GaveUp(limit);
        self.wanted_since = None;
    }

    /// When wanting a connection in vain ends (D11).
    fn give_up_at(&self) -> Option<Duration> {
        let since = self.wanted_since?;
        Some(since.saturating_add(self.config.max_elapsed?))
    }

    const fn has_connection(&self) -> bool {
        matches!(self.phase, Phase::Connecting { .. } | Phase::Ready { .. })
    }

    const fn latest(&self) -> AttemptId {
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
