use super::report::{AttemptReport, Error, Outcome, Status};
use crate::{Action, Connection, Start, State, Verdict};
use core::future::pending;
use core::mem::take;
use core::pin::Pin;
use core::time::Duration;
use std::boxed::Box;
use std::string::ToString;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

/// The machine with a clock, a generator, the attempt in flight, and everyone who wants to know.
pub(super) struct Driver<Fut> {
    pub(super) machine: Connection,
    pub(super) clock: Clock,
    pub(super) draws: Box<dyn FnMut() -> u64 + Send>,
    pub(super) observer: Box<dyn FnMut(&AttemptReport) + Send>,
    pub(super) status: watch::Sender<Status>,
    /// The attempt that has no outcome yet, and when it started: `Some` in CONNECTING.
    in_flight: Option<(Start, Instant)>,
    /// What connects for it, once it was polled.
    pub(super) attempt: Option<Pin<Box<Fut>>>,
    /// In words, since the last success.
    last_failure: Option<Arc<str>>,
    /// An attempt has ended, and the task has not let others run since.
    owes_yield: bool,
}

impl<Fut> Driver<Fut> {
    pub(super) fn new(machine: Connection, draws: Box<dyn FnMut() -> u64 + Send>) -> Self {
        let clock = Clock::start();
        let status = watch::Sender::new(status(&machine, &clock, None));
        Self {
            machine,
            clock,
            draws,
            observer: Box::new(|_| {}),
            status,
            in_flight: None,
            attempt: None,
            last_failure: None,
            owes_yield: false,
        }
    }

    /// Gives the attempt in flight, or waits until one may start. It may be dropped while it
    /// waits: nothing is lost.
    pub(super) async fn next_attempt<E>(&mut self) -> Result<Start, Error<E>> {
        loop {
            // Watchers see every failure (C1), and an instant failure starves nobody.
            if take(&mut self.owes_yield) {
                yield_now().await;
            }
            match (self.machine).poll_action(self.clock.now(), &mut self.draws) {
                Some(Action::Start(start)) => {
                    self.in_flight = Some((start, Clock::read()));
                    tracing::debug!(attempt = start.attempt.get(), backoff = ?start.backoff, "connecting");
                }
                Some(Action::Abort(_)) => {
                    self.report(Outcome::TimedOut);
                    continue;
                }
                None => {}
            }
            self.publish();
            match (self.in_flight, self.machine.state()) {
                (Some((start, _)), _) => return Ok(start),
                (None, State::Shutdown) => return Err(Error::Shutdown),
                (None, State::GaveUp { limit }) => {
                    let failures = self.machine.failures();
                    tracing::warn!(%limit, failures, "gave up");
                    let last_failure = self.last_failure.clone();
                    return Err(Error::GaveUp {
                        limit,
                        failures,
                        last_failure,
                    });
                }
                (None, _) => self.clock.sleep_until(self.machine.poll_timeout()).await,
            }
        }
    }

    pub(super) fn connected(&mut self, start: Start) {
        let verdict = (self.machine).handle_settings(self.clock.now(), start.attempt);
        debug_assert_eq!(verdict, Verdict::Accepted, "it is in flight");
        self.report(Outcome::Connected);
    }

    pub(super) fn failed(&mut self, start: Start, outcome: Outcome) {
        let verdict = self.machine.handle_failed(self.clock.now(), start.attempt);
        debug_assert_eq!(verdict, Verdict::Accepted, "it is in flight");
        self.report(outcome);
    }

    pub(super) fn connect(&mut self) {
        self.lost();
        self.machine.connect(self.clock.now());
    }

    pub(super) fn lost(&mut self) {
        if let State::Ready { attempt, .. } = self.machine.state() {
            let verdict = self.machine.handle_lost(self.clock.now(), attempt);
            debug_assert_eq!(verdict, Verdict::Accepted, "the id is the current one");
            tracing::debug!(attempt = attempt.get(), "connection lost");
            self.publish();
        }
    }

    pub(super) fn withdraw(&mut self) {
        let _ = self.machine.withdraw(self.clock.now());
        self.report(Outcome::Cancelled);
    }

    pub(super) fn shutdown(&mut self) {
        let _ = self.machine.shutdown();
        self.report(Outcome::Cancelled);
    }

    /// Drops the attempt in flight, if there is one, and tells the watch, the trace and the
    /// observer what came of it.
    fn report(&mut self, outcome: Outcome) {
        self.attempt = None;
        let Some((start, started_at)) = self.in_flight.take() else {
            return self.publish();
        };
        match &outcome {
            Outcome::Connected => self.last_failure = None,
            Outcome::Failed(error) | Outcome::Refused(error) => {
                self.last_failure = Some(error.clone());
            }
            Outcome::TimedOut => self.last_failure = Some(outcome.to_string().into()),
            Outcome::Cancelled => {}
        }
        self.owes_yield = true;
        self.publish();
        tracing::debug!(attempt = start.attempt.get(), %outcome, "attempt ended");
        (self.observer)(&AttemptReport {
            attempt: start.attempt,
            due_at: self.clock.at(start.due_at).unwrap_or(started_at),
            started_at,
            ended_at: Clock::read(),
            backoff: start.backoff,
            outcome,
        });
    }

    pub(super) fn publish(&self) {
        let status = status(&self.machine, &self.clock, self.last_failure.clone());
        self.status.send_if_modified(|published| {
            let changed = *published != status;
            *published = status;
            changed
        });
    }
}

impl<Fut> Drop for Driver<Fut> {
    /// While the thread panics the observer is left alone: its own panic would abort the program.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.withdraw();
        }
    }
}

fn status(machine: &Connection, clock: &Clock, last_failure: Option<Arc<str>>) -> Status {
    let state = machine.state();
    let waits = machine.is_wanted() && !matches!(state, State::Connecting { .. });
    let due_at = machine.poll_timeout().filter(|_| waits);
    Status {
        state,
        failures: machine.failures(),
        last_failure,
        next_attempt_at: due_at.and_then(|due_at| clock.at(due_at)),
    }
}

/// Tokio's clock as the time since the reconnector was made.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    start: Instant,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the driver's clock is the one place that reads it"
    )]
    fn read() -> Instant {
        Instant::now()
    }

    fn start() -> Self {
        Self {
            start: Self::read(),
        }
    }

    pub(super) fn now(self) -> Duration {
        Self::read().saturating_duration_since(self.start)
    }

    /// The instant of a deadline, if tokio can count to it.
    fn at(self, deadline: Duration) -> Option<Instant> {
        self.start.checked_add(deadline)
    }

    /// Waits for a deadline. One that tokio cannot count to never comes, nor does none.
    pub(super) async fn sleep_until(self, deadline: Option<Duration>) {
        match deadline.and_then(|deadline| self.at(deadline)) {
            Some(instant) => sleep_until(instant).await,
            None => pending().await,
        }
    }
}
