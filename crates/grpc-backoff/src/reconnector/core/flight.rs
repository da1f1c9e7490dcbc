use super::super::clock::Clock;
use super::super::phase::PhaseClock;
use super::super::report::{AttemptReport, Outcome};
use crate::{AttemptId, Start};
use core::time::Duration;
use tokio::time::Instant;

/// A resolution that has no outcome yet.
#[derive(Clone, Copy)]
pub(super) struct Resolution {
    pub(super) id: AttemptId,
    pub(super) started_at: Duration,
    pub(super) deadline: Duration,
}

/// An attempt that has no outcome yet.
pub(super) struct Flight {
    pub(super) start: Start,
    pub(super) started_at: Instant,
    pub(super) phases: PhaseClock,
    /// A guard says what comes of it, not the result of the connect function (D13).
    pub(super) guarded: bool,
}

impl Flight {
    pub(super) fn new(start: Start) -> Self {
        Self {
            start,
            started_at: Clock::read(),
            phases: PhaseClock::default(),
            guarded: false,
        }
    }

    /// It ends now.
    pub(super) fn report(&self, clock: Clock, outcome: Outcome) -> AttemptReport {
        let ended_at = Clock::read();
        AttemptReport {
            attempt: self.start.attempt,
            due_at: clock.at(self.start.due_at).unwrap_or(self.started_at),
            started_at: self.started_at,
            ended_at,
            backoff: self.start.backoff,
            outcome,
            phase: self.phases.current(),
            times: self.phases.times_at(ended_at),
        }
    }
}
