use super::report::{AttemptReport, Error, Outcome, Status};
use crate::{Abort, Action, Connection, Start, State, Verdict};
use core::ops::{Deref, DerefMut};
use core::time::Duration;
use std::boxed::Box;
use std::string::ToString;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The machine with a clock, a generator, and everyone who wants to know.
pub(super) struct Driver {
    pub(super) machine: Connection,
    pub(super) clock: Clock,
    pub(super) draws: Box<dyn FnMut() -> u64 + Send>,
    pub(super) observer: Box<dyn FnMut(&AttemptReport) + Send>,
    pub(super) status: watch::Sender<Status>,
    /// The attempt that has no outcome yet, and when it started.
    in_flight: Option<(Start, Instant)>,
    /// In words, since the last success.
    last_failure: Option<Arc<str>>,
}

impl Driver {
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
            last_failure: None,
        }
    }

    /// Waits until an attempt may start.
    pub(super) async fn next_start<E>(&mut self) -> Result<Start, Error<E>> {
        loop {
            let action = self.machine.poll_action(self.clock.now(), &mut self.draws);
            self.publish();
            match action {
                Some(Action::Start(start)) => {
                    let started_at = self.clock.at(self.clock.now());
                    self.in_flight = Some((start, started_at));
                    tracing::debug!(attempt = start.attempt.get(), backoff = ?start.backoff, "connecting");
                    return Ok(start);
                }
                Some(Action::Abort(_)) => self.report(Outcome::TimedOut),
                None => match (self.machine.state(), self.machine.poll_timeout()) {
                    (State::GaveUp { limit }, _) => {
                        tracing::warn!(%limit, failures = self.machine.failures(), "gave up");
                        return Err(Error::GaveUp {
                            limit,
                            failures: self.machine.failures(),
                            last_failure: self.last_failure.clone(),
                        });
                    }
                    (_, Some(due_at)) => sleep_until(self.clock.at(due_at)).await,
                    (_, None) => return Err(Error::Shutdown),
                },
            }
        }
    }

    pub(super) fn at(&self, deadline: Duration) -> Instant {
        self.clock.at(deadline)
    }

    pub(super) fn connected(&mut self, start: Start) {
        let verdict = self
            .machine
            .handle_settings(self.clock.now(), start.attempt);
        debug_assert_eq!(
            verdict,
            Verdict::Accepted,
            "the machine aborts in `next_start` only"
        );
        self.report(Outcome::Connected);
    }

    pub(super) fn failed(&mut self, start: Start, outcome: Outcome) {
        let verdict = self.machine.handle_failed(self.clock.now(), start.attempt);
        debug_assert_eq!(
            verdict,
            Verdict::Accepted,
            "the machine aborts in `next_start` only"
        );
        self.report(outcome);
    }

    pub(super) fn lost(&mut self) {
        if let State::Ready { attempt, .. } = self.machine.state() {
            let verdict = self.machine.handle_lost(self.clock.now(), attempt);
            debug_assert_eq!(verdict, Verdict::Accepted, "the id is the current one");
            tracing::debug!(attempt = attempt.get(), "connection lost");
            self.publish();
        }
    }

    fn connect(&mut self) {
        self.lost();
        self.machine.connect(self.clock.now());
        self.publish();
    }

    fn withdraw(&mut self) {
        if let Some(Abort { .. }) = self.machine.withdraw(self.clock.now()) {
            self.report(Outcome::Cancelled);
        }
        self.publish();
    }

    /// The outcome of the attempt in flight, to the observer, the trace and the watch.
    fn report(&mut self, outcome: Outcome) {
        if let Some((start, started_at)) = self.in_flight.take() {
            let report = AttemptReport {
                attempt: start.attempt,
                due_at: self.clock.at(start.due_at),
                started_at,
                ended_at: self.clock.at(self.clock.now()),
                backoff: start.backoff,
                outcome,
            };
            tracing::debug!(attempt = start.attempt.get(), outcome = %report.outcome, "attempt ended");
            match &report.outcome {
                Outcome::Connected => self.last_failure = None,
                Outcome::Failed(error) | Outcome::Refused(error) => {
                    self.last_failure = Some(error.clone());
                }
                Outcome::TimedOut => self.last_failure = Some(report.outcome.to_string().into()),
                Outcome::Cancelled => {}
            }
            (self.observer)(&report);
        }
        self.publish();
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

fn status(machine: &Connection, clock: &Clock, last_failure: Option<Arc<str>>) -> Status {
    let state = machine.state();
    let waits = machine.is_wanted() && !matches!(state, State::Connecting { .. });
    let due_at = machine.poll_timeout().filter(|_| waits);
    Status {
        state,
        failures: machine.failures(),
        last_failure,
        next_attempt_at: due_at.map(|due_at| clock.at(due_at)),
    }
}

/// A connection is wanted for as long as this lives, which is as long as the future of `connect`
/// does: dropping that is the same as saying so.
pub(super) struct Wanting<'a>(&'a mut Driver);

impl<'a> Wanting<'a> {
    pub(super) fn new(driver: &'a mut Driver) -> Self {
        driver.connect();
        Self(driver)
    }
}

impl Drop for Wanting<'_> {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

impl Deref for Wanting<'_> {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        self.0
    }
}

impl DerefMut for Wanting<'_> {
    fn deref_mut(&mut self) -> &mut Driver {
        self.0
    }
}

/// Tokio's clock as the time since the reconnector was made.
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

    pub(super) fn now(&self) -> Duration {
        Self::read().saturating_duration_since(self.start)
    }

    /// The instant of a deadline, or one in thirty years where there is no such instant.
    fn at(&self, deadline: Duration) -> Instant {
        const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
        let instant = self.start.checked_add(deadline);
        instant
            .or_else(|| self.start.checked_add(FAR))
            .unwrap_or(self.start)
    }
}
