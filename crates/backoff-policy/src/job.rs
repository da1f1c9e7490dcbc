//! Retries that outlive the program: the next due time as data.

use crate::nanos::nanos;
use crate::{Class, Decision, Failure, GiveUp, Idempotency, Policy, Reason, Retry};
use core::time::Duration;

mod text;
pub use text::ParseJobError;

/// A job of a queue: when it is next due, or that it is dead and why (B19).
///
/// ```text
///            start             handle_failed
/// Waiting ───────────▶ Running ─────────────▶ Waiting, or Dead
/// ```
///
/// Nothing sleeps. Store it with its job after each change, as [text](#impl-Display-for-Job); look
/// for jobs whose [`due_at`](Self::due_at) has come; delete those that succeeded. A job that is
/// found running when the program starts was interrupted: that is a failure of the class
/// [`Timeout`](crate::Class::Timeout), since it may have been done.
///
/// `now` is the wall clock, as the time since the UNIX epoch: the one clock that goes on while the
/// program does not. It may be set back. A wait then never gets longer than planned (B11), if you
/// call [`handle_clock`](Self::handle_clock) on what waits.
///
/// ```
/// # use {backoff_policy::*, core::time::Duration};
/// let s = Duration::from_secs;
/// let policy = &Policy::WEBHOOKS; // 5 attempts; 10, 20, 40, 80 s, each drawn from 0 up
/// let mut job = Job::new(s(1_800_000_000));
/// assert_eq!(job.start(policy, s(1_800_000_000)), JobState::Running);
/// let state = job.handle_failed(policy, Class::Transient.into(), s(1_800_000_001), 1 << 63);
/// assert_eq!(state, JobState::Waiting { due_at: s(1_800_000_006), delay: s(5) });
///
/// let stored = job.to_string();
/// assert_eq!(stored.parse(), Ok(job)); // in the next life of the program
/// # Ok::<(), ParseJobError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    retry: Retry,
    stage: Stage,
    failed: Option<Class>,
}

/// Where a [`Job`] stands, in whole nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting { due_at: u64, delay: u64 },
    Running,
    Dead { at: u64, reason: Reason },
}

/// Where a [`Job`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum JobState {
    /// It is to be started at `due_at`, or later.
    Waiting {
        /// By the wall clock, since the UNIX epoch.
        due_at: Duration,
        /// How long the wait is in all.
        delay: Duration,
    },
    /// An attempt runs, or ran when the program was killed.
    Running,
    /// It is given up: a dead letter.
    Dead(GiveUp),
}

impl Job {
    /// Makes a job that is due now, and may be done twice.
    #[must_use]
    pub const fn new(now: Duration) -> Self {
        Self {
            retry: Retry::new(now),
            stage: Stage::Waiting {
                due_at: nanos(now),
                delay: 0,
            },
            failed: None,
        }
    }

    /// Says whether it may be done twice.
    #[must_use]
    pub const fn with_idempotency(self, idempotency: Idempotency) -> Self {
        Self {
            retry: self.retry.with_idempotency(idempotency),
            ..self
        }
    }

    /// Where it stands.
    pub const fn state(&self) -> JobState {
        match self.stage {
            Stage::Waiting { due_at, delay } => JobState::Waiting {
                due_at: Duration::from_nanos(due_at),
                delay: Duration::from_nanos(delay),
            },
            Stage::Running => JobState::Running,
            Stage::Dead { at, reason } => {
                JobState::Dead(self.retry.give_up(Duration::from_nanos(at), reason))
            }
        }
    }

    /// When it is to be started, if it waits: what a queue is sorted by.
    #[must_use]
    pub const fn due_at(&self) -> Option<Duration> {
        match self.stage {
            Stage::Waiting { due_at, .. } => Some(Duration::from_nanos(due_at)),
            Stage::Running | Stage::Dead { .. } => None,
        }
    }

    /// How many attempts have failed.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.retry.attempts()
    }

    /// How the last of them failed.
    #[must_use]
    pub const fn last_failure(&self) -> Option<Class> {
        self.failed
    }

    /// Starts an attempt of a job that is due: make it if the answer is [`JobState::Running`].
    /// Early is harmless. Where the policy's deadline has passed meanwhile, it is dead (B5).
    pub fn start(&mut self, policy: &Policy, now: Duration) -> JobState {
        if let Stage::Waiting { due_at, .. } = self.stage
            && due_at <= nanos(now)
        {
            self.stage = match self.retry.handle_woken(policy, now) {
                None => Stage::Running,
                Some(end) => dead(now, end.reason),
            };
        }
        self.state()
    }

    /// The attempt that ran has failed: plans the next one, or gives up. `draw` is uniform over all
    /// of `u64`. Does nothing if none runs.
    pub fn handle_failed(
        &mut self,
        policy: &Policy,
        failure: Failure,
        now: Duration,
        draw: u64,
    ) -> JobState {
        if self.stage == Stage::Running {
            self.failed = Some(failure.class);
            self.stage = match self.retry.handle_failed(policy, failure, now, draw) {
                Decision::Retry(wait) => Stage::Waiting {
                    due_at: nanos(wait.at),
                    delay: nanos(wait.delay),
                },
                Decision::GiveUp(end) => dead(now, end.reason),
            };
        }
        self.state()
    }

    /// Looks at the clock: if it was set back behind the start of a wait, the wait starts again now,
    /// so that its rest is never longer than planned (B11). Says whether that changed anything.
    ///
    /// In a table with `due_at` and `delay` in columns of their own, one statement finds those for
    /// which it does: `due_at > now + delay`.
    #[must_use]
    pub fn handle_clock(&mut self, now: Duration) -> bool {
        let Stage::Waiting { due_at, delay } = &mut self.stage else {
            return false;
        };
        let latest = nanos(now).saturating_add(*delay);
        let set_back = *due_at > latest;
        *due_at = latest.min(*due_at);
        set_back
    }
}

const fn dead(now: Duration, reason: Reason) -> Stage {
    Stage::Dead {
        at: nanos(now),
        reason,
    }
}
