//! What the reconnector reports, as events of the sender.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use grpc_backoff::AttemptReport;

use super::{Attempt, SendEvent, Sending};
use crate::{Clock, Observer};

/// Tells an observer of every attempt, with its distance to the one before.
pub(super) struct AttemptLog {
    clock: Clock,
    observe: Observer<SendEvent>,
    last_start: Mutex<Option<Duration>>,
}

impl AttemptLog {
    pub(super) fn new(clock: Clock, observe: Observer<SendEvent>) -> Self {
        Self {
            clock,
            observe,
            last_start: Mutex::new(None),
        }
    }

    pub(super) fn record(&self, report: &AttemptReport) {
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
        drop(last_start);
        let at = self.clock.of(report.ended_at);
        (self.observe)(SendEvent {
            at,
            what: Sending::Attempt(attempt),
        });
    }
}
