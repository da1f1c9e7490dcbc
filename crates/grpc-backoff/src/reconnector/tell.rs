//! What the driver tells `tracing` and the metrics: the core is silent.

use super::disconnect::Disconnect;
#[cfg(feature = "metrics")]
use super::metrics::Labels;
use super::phase::Phase;
use super::report::{AttemptReport, Outcome};
use super::status::{LastFailure, Status};
use crate::{AttemptId, Start, State};
use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use tracing::{Span, debug, debug_span, info, trace, warn};

/// Tells of one target (D14).
#[derive(Default)]
pub(super) struct Teller {
    /// The name given by `named`.
    pub(super) target: Option<Arc<str>>,
    #[cfg(feature = "metrics")]
    pub(super) labels: Labels,
    /// The connection that was told of as open.
    open: Option<Open>,
}

#[derive(Clone, Copy)]
struct Open {
    attempt: AttemptId,
    /// Whether it had a TLS phase, if its connect function tells phases.
    #[cfg(feature = "metrics")]
    tls: Option<bool>,
}

impl Teller {
    fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    pub(super) fn phase(&self, attempt: AttemptId, phase: Phase) {
        trace!(grpc.target = self.target(), attempt = attempt.get(), %phase, "phase");
    }

    pub(super) fn ended(&mut self, report: &AttemptReport) {
        let AttemptReport {
            attempt,
            outcome,
            phase,
            ..
        } = report;
        let phase = phase.map(tracing::field::display);
        let took = report.ended_at.saturating_duration_since(report.started_at);
        debug!(
            grpc.target = self.target(),
            attempt = attempt.get(),
            %outcome,
            phase,
            ?took,
            "attempt ended"
        );
        match outcome {
            Outcome::Connected => self.opened(report),
            Outcome::Failed(_) | Outcome::Refused(_) | Outcome::TimedOut => {
                #[cfg(feature = "metrics")]
                self.labels.failed(self.target());
            }
            Outcome::Cancelled => {} // neither of the two (D12)
        }
    }

    fn opened(&mut self, report: &AttemptReport) {
        let open = Open {
            attempt: report.attempt,
            #[cfg(feature = "metrics")]
            tls: (report.phase).map(|_| report.times.get(Phase::Tls).is_some()),
        };
        #[cfg(feature = "metrics")]
        self.labels.opened(self.target(), open.tls);
        self.open = Some(open);
    }

    /// The connection that this attempt made is gone.
    pub(super) fn lost(&mut self, attempt: AttemptId, why: Disconnect, reason: Option<&str>) {
        let Some(open) = self.open.take_if(|open| open.attempt == attempt) else {
            return;
        };
        info!(
            grpc.target = self.target(),
            attempt = open.attempt.get(),
            %why,
            reason,
            "connection lost"
        );
        #[cfg(feature = "metrics")]
        self.labels.closed(self.target(), open.tls, why);
    }

    /// What was open is not wanted any more, unless the machine still has it.
    pub(super) fn still_open(&mut self, state: State) {
        let gone = self.open.filter(
            |open| !matches!(state, State::Ready { attempt, .. } if attempt == open.attempt),
        );
        if let Some(Open { attempt, .. }) = gone {
            self.lost(attempt, Disconnect::Shutdown, None);
        }
    }

    pub(super) fn resolution_failed(&self, resolution: AttemptId, why: &LastFailure) {
        let resolution = resolution.get();
        debug!(grpc.target = self.target(), resolution, %why, "resolution failed");
    }

    pub(super) fn state(&self, status: &Status) {
        match status.state {
            State::GaveUp { .. } => warn!(grpc.target = self.target(), %status, "gave up"),
            state => debug!(grpc.target = self.target(), state = state.name(), "state"),
        }
    }

    pub(super) fn suspended(&self, time: Duration) {
        info!(
            grpc.target = self.target(),
            ?time,
            "the system was suspended: the backoff starts afresh"
        );
    }
}

/// The span in which the connect function runs.
pub(super) fn span(target: Option<&str>, attempt: AttemptId, address: &dyn fmt::Debug) -> Span {
    debug_span!(
        "attempt",
        grpc.target = target,
        attempt = attempt.get(),
        ?address
    )
}

/// Tells, inside that span, that the attempt starts.
pub(super) fn started(start: &Start, now: Duration) {
    let late = now.saturating_sub(start.due_at);
    debug!(backoff = ?start.backoff, ?late, "connecting");
}
