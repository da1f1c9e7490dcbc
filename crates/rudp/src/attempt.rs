//! Attempts to connect, as events of those who make them.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use grpc_backoff::{AttemptReport, Outcome};

use crate::Clock;

/// An attempt to connect that has ended. Times are by the clock of the
/// [`EndpointOptions`](crate::EndpointOptions).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which one, counted from 0.
    pub number: u64,
    /// How long after the start of the attempt before it was to start; `None` for the first.
    pub planned: Option<Duration>,
    /// How long after the start of the attempt before it did start; `None` for the first.
    pub actual: Option<Duration>,
    /// When it started.
    pub started_at: Duration,
    /// The delay drawn for the next one, from start to start.
    pub backoff: Duration,
    /// What came of it.
    pub outcome: Outcome,
}

/// Makes events of what a reconnector reports, each with its distance to the one before.
pub(crate) struct AttemptLog {
    clock: Clock,
    last_start: Mutex<Option<Duration>>,
}

impl AttemptLog {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            last_start: Mutex::new(None),
        }
    }

    /// When the attempt ended, and the event.
    pub(crate) fn record(&self, report: &AttemptReport) -> (Duration, Attempt) {
        let started_at = self.clock.of(report.started_at);
        let mut last_start = self
            .last_start
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let since_last = |at: Duration| last_start.map(|last| at.saturating_sub(last));
        let attempt = Attempt {
            number: report.attempt.get(),
            planned: since_last(self.clock.of(report.due_at)),
            actual: since_last(started_at),
            started_at,
            backoff: report.backoff,
            outcome: report.outcome.clone(),
        };
        *last_start = Some(started_at);
        (self.clock.of(report.ended_at), attempt)
    }
}
