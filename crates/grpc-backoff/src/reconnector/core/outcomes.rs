//! What comes of attempts and connections.

use super::super::disconnect::Disconnect;
use super::super::phase::Phase;
use super::super::report::Outcome;
use super::super::status::{LastFailure, Reason};
use super::super::tell::{News, Open};
use super::{Flight, Inner};
use crate::{AttemptId, State, Verdict};
use core::time::Duration;
use std::sync::Arc;
use std::vec::Vec;

/// What a connect function has given.
pub(in super::super) enum Given {
    /// A connection, which is the owner's now.
    Connection,
    /// One that is gone already, or that nobody wants any more.
    Stale,
}

impl<A: Clone + Eq> Inner<A> {
    /// The server has accepted: success (S11). The others are cancelled (D12).
    pub(in super::super) fn accepted(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        let verdict = self.machine.handle_settings(now, attempt);
        if verdict == Verdict::Accepted {
            self.last_failure = None;
            self.finish(attempt, Outcome::Connected);
            self.cancel_rest();
        }
        verdict
    }

    /// The attempt has failed, before the server accepted.
    pub(in super::super) fn failed(
        &mut self,
        now: Duration,
        attempt: AttemptId,
        outcome: Outcome,
    ) -> Verdict {
        self.end(now, attempt, outcome, Disconnect::Unknown, None)
    }

    /// The connection is gone, whether the server had accepted it or not.
    pub(in super::super) fn gone(
        &mut self,
        now: Duration,
        attempt: AttemptId,
        why: Disconnect,
        reason: Option<Arc<str>>,
    ) -> Verdict {
        let due = |flight: &mut Flight| flight.start.deadline <= now;
        let outcome = match &reason {
            Some(error) => Outcome::Failed(Arc::clone(error)),
            None if self.flight(attempt).is_some_and(due) => Outcome::TimedOut,
            None => Outcome::Failed("closed before the server accepted".into()),
        };
        self.end(now, attempt, outcome, why, reason)
    }

    /// The machine knows how far the attempt had come (D6).
    fn end(
        &mut self,
        now: Duration,
        attempt: AttemptId,
        outcome: Outcome,
        why: Disconnect,
        reason: Option<Arc<str>>,
    ) -> Verdict {
        self.live.given = self.live.given.filter(|&given| given != attempt);
        let verdict = self.machine.handle_failed(now, attempt);
        if verdict == Verdict::Accepted && !self.finish(attempt, outcome) {
            self.lost_open(attempt, why, reason);
        }
        verdict
    }

    /// The connect function has given a connection: that is acceptance (S11), unless a guard says
    /// what is (D13).
    pub(in super::super) fn connected(&mut self, now: Duration, attempt: AttemptId) -> Given {
        if self.flight(attempt).is_some_and(|flight| flight.guarded) {
            self.machine.cancel_others(now, attempt);
            self.cancel_rest();
        } else {
            let _ = self.accepted(now, attempt);
        }
        if !self.is_live(attempt) {
            return Given::Stale;
        }
        self.live.given = Some(attempt);
        Given::Connection
    }

    /// Nobody wants a connection any more.
    pub(in super::super) fn withdraw(&mut self, now: Duration) {
        self.machine.withdraw(now);
        self.cancel_rest();
    }

    /// The deadline passed, or the machine has no more use for the attempt.
    pub(super) fn aborted(&mut self, now: Duration, attempt: AttemptId) {
        if let Some(resolution) = self
            .live
            .resolving
            .filter(|resolution| resolution.id == attempt)
        {
            self.live.resolving = None;
            let within = resolution.deadline.saturating_sub(resolution.started_at);
            return self.resolution_failed(attempt, Reason::Deadline(within));
        }
        let due = |flight: &&mut Flight| flight.start.deadline <= now;
        let outcome = match self.flight(attempt).filter(due) {
            Some(_) => Outcome::TimedOut,
            None => Outcome::Cancelled,
        };
        self.finish(attempt, outcome);
    }

    /// Cancels what the machine has no more use for (D12).
    pub(in super::super) fn cancel_rest(&mut self) {
        let stale: Vec<_> = (self.live.flights.iter().map(|flight| flight.start.attempt))
            .filter(|&attempt| !self.machine.has_in_flight(attempt))
            .collect();
        for attempt in stale {
            self.finish(attempt, Outcome::Cancelled);
        }
        self.live.resolving = None;
        self.live.given = self.live.given.filter(|&given| self.is_live(given));
    }

    /// The resolution has given addresses, or failed with this error.
    pub(in super::super) fn resolved(
        &mut self,
        now: Duration,
        resolution: AttemptId,
        addresses: Result<Vec<A>, Arc<str>>,
    ) {
        self.live.resolving = self
            .live
            .resolving
            .filter(|resolving| resolving.id != resolution);
        let error = match addresses {
            Ok(addresses) => {
                let found = !addresses.is_empty();
                let _ = self.machine.handle_resolved(now, resolution, addresses);
                self.cancel_rest();
                (!found).then(|| "no address".into())
            }
            Err(error) => {
                let _ = self.machine.handle_failed(now, resolution);
                Some(error)
            }
        };
        if let Some(error) = error {
            self.resolution_failed(resolution, Reason::Error(error));
        }
    }

    fn resolution_failed(&mut self, resolution: AttemptId, reason: Reason) {
        let phase = Some(Phase::Resolve);
        let failure = LastFailure { phase, reason };
        let news = News::ResolutionFailed(resolution, failure.clone());
        self.live.news.push(news);
        self.last_failure = Some(failure);
    }

    /// Whether the resolution is in flight.
    pub(in super::super) fn is_resolving(&self, resolution: AttemptId) -> bool {
        self.live
            .resolving
            .is_some_and(|resolving| resolving.id == resolution)
    }

    /// Whether the attempt is in flight or its connection there.
    pub(in super::super) fn is_live(&self, attempt: AttemptId) -> bool {
        let ready =
            matches!(self.machine.state(), State::Ready { attempt: ready, .. } if ready == attempt);
        ready
            || self
                .live
                .flights
                .iter()
                .any(|flight| flight.start.attempt == attempt)
    }

    pub(in super::super) fn enter(&mut self, attempt: AttemptId, phase: Phase) {
        if let Some(flight) = self.flight(attempt) {
            flight.phases.enter(phase);
            self.live.news.push(News::Phase(attempt, phase));
        }
    }

    pub(in super::super) fn guard(&mut self, attempt: AttemptId) {
        if let Some(flight) = self.flight(attempt) {
            flight.guarded = true;
        }
    }

    fn flight(&mut self, attempt: AttemptId) -> Option<&mut Flight> {
        let mut flights = self.live.flights.iter_mut();
        flights.find(|flight| flight.start.attempt == attempt)
    }

    /// Tells what came of an attempt, if it was in flight.
    fn finish(&mut self, attempt: AttemptId, outcome: Outcome) -> bool {
        let mut attempts = self.live.flights.iter().map(|flight| flight.start.attempt);
        let Some(at) = attempts.position(|flying| flying == attempt) else {
            return false;
        };
        let flight = self.live.flights.swap_remove(at);
        if self.live.flights.is_empty() {
            self.live.flights = Vec::new(); // a wait needs no room
        }
        let reason = match &outcome {
            Outcome::Failed(error) | Outcome::Refused(error) => {
                Some(Reason::Error(Arc::clone(error)))
            }
            Outcome::TimedOut => {
                let given = flight
                    .start
                    .deadline
                    .saturating_sub(self.clock.of(flight.started_at));
                Some(Reason::Deadline(given))
            }
            Outcome::Connected | Outcome::Cancelled => None,
        };
        if let Some(reason) = reason {
            let phase = flight.phases.current();
            self.last_failure = Some(LastFailure { phase, reason });
        }
        let report = flight.report(self.clock, outcome);
        if report.outcome == Outcome::Connected {
            self.live.open = Some(Open::of(&report));
        }
        self.live.news.push(News::Ended(report));
        true
    }

    /// The connection that this attempt made is gone, if it was told of as open.
    fn lost_open(&mut self, attempt: AttemptId, why: Disconnect, reason: Option<Arc<str>>) {
        if let Some(open) = self.live.open.take_if(|open| open.attempt == attempt) {
            self.live.news.push(News::Lost(open, why, reason));
        }
    }

    /// What was open is not wanted any more, unless the machine still has it.
    pub(super) fn still_open(&mut self, state: State) {
        let gone = self.live.open.filter(
            |open| !matches!(state, State::Ready { attempt, .. } if attempt == open.attempt),
        );
        if let Some(open) = gone {
            self.lost_open(open.attempt, Disconnect::Shutdown, None);
        }
    }
}
