//! What the driver tells `tracing`: the core is silent. `target` is the name given by `named`.

use super::phase::Phase;
use super::report::AttemptReport;
use super::status::{LastFailure, Status};
use crate::{AttemptId, Start, State};
use core::fmt;
use core::time::Duration;
use tracing::{Span, debug, debug_span, info, trace, warn};

/// The span in which the connect function runs.
pub(super) fn span(target: Option<&str>, attempt: AttemptId, address: &dyn fmt::Debug) -> Span {
    debug_span!(
        "attempt",
        grpc.target = target,
        attempt = attempt.get(),
        ?address
    )
}

pub(super) fn started(target: Option<&str>, start: &Start) {
    let attempt = start.attempt.get();
    debug!(grpc.target = target, attempt, backoff = ?start.backoff, "connecting");
}

pub(super) fn phase(target: Option<&str>, attempt: AttemptId, phase: Phase) {
    trace!(grpc.target = target, attempt = attempt.get(), %phase, "phase");
}

pub(super) fn ended(target: Option<&str>, report: &AttemptReport) {
    let AttemptReport {
        attempt,
        outcome,
        phase,
        ..
    } = report;
    let phase = phase.map(tracing::field::display);
    let took = report.ended_at.saturating_duration_since(report.started_at);
    debug!(grpc.target = target, attempt = attempt.get(), %outcome, phase, ?took, "attempt ended");
}

pub(super) fn resolution_failed(target: Option<&str>, resolution: AttemptId, why: &LastFailure) {
    debug!(grpc.target = target, resolution = resolution.get(), %why, "resolution failed");
}

pub(super) fn lost(target: Option<&str>, attempt: AttemptId, reason: Option<&str>) {
    info!(
        grpc.target = target,
        attempt = attempt.get(),
        reason,
        "connection lost"
    );
}

pub(super) fn state(target: Option<&str>, status: &Status) {
    match status.state {
        State::GaveUp { .. } => warn!(grpc.target = target, %status, "gave up"),
        state => debug!(grpc.target = target, state = state.name(), "state"),
    }
}

pub(super) fn suspended(target: Option<&str>, time: Duration) {
    info!(
        grpc.target = target,
        ?time,
        "the system was suspended: the backoff starts afresh"
    );
}
