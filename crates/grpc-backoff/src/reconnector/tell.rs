//! What the driver tells `tracing` and the metrics: the core is silent.

use super::catch::catch;
use super::disconnect::Disconnect;
#[cfg(feature = "metrics")]
use super::metrics::Labels;
use super::phase::Phase;
use super::report::AttemptReport;
#[cfg(feature = "metrics")]
use super::report::Outcome;
use super::status::{LastFailure, Status};
use crate::{AttemptId, Start, State};
use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use std::vec::Vec;
use tracing::{Span, debug, debug_span, info, trace, warn};

/// Who tells, and of which target (D14).
#[derive(Clone, Default)]
pub(super) struct Teller {
    /// The name given by `named`.
    pub(super) target: Option<Arc<str>>,
    #[cfg(feature = "metrics")]
    pub(super) labels: Labels,
    pub(super) observer: Option<Observer>,
}

/// Hears of the end of every attempt.
pub(super) type Observer = Arc<dyn Fn(&AttemptReport) + Send + Sync>;

/// What there is to tell.
pub(super) enum News {
    Phase(AttemptId, Phase),
    Ended(AttemptReport),
    Lost(Open, Disconnect, Option<Arc<str>>),
    ResolutionFailed(AttemptId, LastFailure),
    State(Status),
    Suspended(Duration),
}

/// A connection that was told of as open.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) attempt: AttemptId,
    /// Whether it had a TLS phase, if its connect function tells phases.
    #[cfg(feature = "metrics")]
    tls: Option<bool>,
}

impl Open {
    pub(super) fn of(report: &AttemptReport) -> Self {
        Self {
            attempt: report.attempt,
            #[cfg(feature = "metrics")]
            tls: (report.phase).map(|_| report.times.get(Phase::Tls).is_some()),
        }
    }
}

/// Tells everyone, none of whom can break the one who tells: a panic of theirs ends here.
pub(super) fn tell(teller: Option<&Teller>, news: Vec<News>) {
    if news.is_empty() {
        return;
    }
    match teller {
        Some(teller) => news.iter().for_each(|news| teller.tell(news)),
        None => tell(Some(&Teller::default()), news),
    }
}

impl Teller {
    fn tell(&self, news: &News) {
        drop(catch(|| self.trace(news)));
        #[cfg(feature = "metrics")]
        drop(catch(|| self.count(news)));
        if let (News::Ended(report), Some(observer)) = (news, &self.observer) {
            drop(catch(|| observer(report)));
        }
    }

    fn trace(&self, news: &News) {
        let target = self.target.as_deref();
        match news {
            News::Phase(attempt, phase) => {
                trace!(grpc.target = target, attempt = attempt.get(), %phase, "phase");
            }
            News::Ended(report) => trace_end(target, report),
            News::Lost(open, why, reason) => info!(
                grpc.target = target,
                attempt = open.attempt.get(),
                %why,
                reason = reason.as_deref(),
                "connection lost"
            ),
            News::ResolutionFailed(resolution, why) => {
                let resolution = resolution.get();
                debug!(grpc.target = target, resolution, %why, "resolution failed");
            }
            News::State(status) => match status.state {
                State::GaveUp { .. } => warn!(grpc.target = target, %status, "gave up"),
                state => debug!(grpc.target = target, state = state.name(), "state"),
            },
            News::Suspended(time) => info!(
                grpc.target = target,
                ?time,
                "the system was suspended: the backoff starts afresh"
            ),
        }
    }

    #[cfg(feature = "metrics")]
    fn count(&self, news: &News) {
        let target = self.target.as_deref();
        match news {
            News::Ended(report) => match report.outcome {
                Outcome::Connected => self.labels.opened(target, Open::of(report).tls),
                Outcome::Failed(_) | Outcome::Refused(_) | Outcome::TimedOut => {
                    self.labels.failed(target);
                }
                Outcome::Cancelled => {} // neither of the two (D12)
            },
            News::Lost(open, why, _) => self.labels.closed(target, open.tls, *why),
            News::Phase(..) | News::ResolutionFailed(..) | News::State(_) | News::Suspended(_) => {}
        }
    }
}

fn trace_end(target: Option<&str>, report: &AttemptReport) {
    let AttemptReport {
        attempt,
        outcome,
        phase,
        ..
    } = report;
    let phase = phase.map(tracing::field::display);
    let took = report.ended_at.saturating_duration_since(report.started_at);
    debug!(
        grpc.target = target,
        attempt = attempt.get(),
        %outcome,
        phase,
        ?took,
        "attempt ended"
    );
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
