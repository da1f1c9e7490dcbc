//! What a reconnector, its handles and its attempts share: the machine behind one lock.

mod flight;
mod outcomes;
mod steps;

use super::budget::AttemptBudget;
use super::clock::{Clock, time_suspended};
use super::draws::Draws;
use super::report::AttemptReport;
use super::status::{LastFailure, Status};
use super::tell::Teller;
use crate::{AttemptId, PickFirst, State};
use core::mem::{Discriminant, discriminant, take};
use core::task::Waker;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;
use tokio::sync::watch;
use tokio::time::Instant;

use flight::{Flight, Resolution};
pub(super) use outcomes::Given;
pub(super) use steps::{Ended, Step};

pub(super) type Observer = Arc<dyn Fn(&AttemptReport) + Send + Sync>;
pub(super) type SuspendClock = Arc<dyn Fn() -> Duration + Send + Sync>;

pub(super) struct Core<A> {
    pub(super) clock: Clock,
    inner: Mutex<Inner<A>>,
}

/// The machine, and everyone who wants to know.
pub(super) struct Inner<A> {
    pub(super) machine: PickFirst<A>,
    clock: Clock,
    /// Attempts that have no outcome yet.
    flights: Vec<Flight>,
    /// The resolution in flight.
    resolving: Option<Resolution>,
    /// How often `withdraw` was called.
    pub(super) withdrawals: u32,
    /// The attempt whose connection the owner was given, until it is gone.
    given: Option<AttemptId>,
    pub(super) draws: Draws,
    pub(super) observer: Option<Observer>,
    pub(super) budget: Option<AttemptBudget>,
    /// From when the budget lets the next attempt start.
    permit: Option<Instant>,
    pub(super) teller: Teller,
    /// Since the last success.
    last_failure: Option<LastFailure>,
    /// Made when somebody watches.
    watch: Option<watch::Sender<Status>>,
    /// The state that was last told.
    told: Discriminant<State>,
    /// The owner, while it waits.
    waker: Option<Waker>,
    pub(super) suspend_clock: Option<SuspendClock>,
    pub(super) suspended: Duration,
    /// To be told to the observer once the lock is released.
    reports: Vec<AttemptReport>,
}

impl<A: Clone + Eq> Core<A> {
    pub(super) fn new(clock: Clock, machine: PickFirst<A>) -> Arc<Self> {
        Arc::new(Self {
            clock,
            inner: Mutex::new(Inner {
                told: discriminant(&machine.state()),
                machine,
                clock,
                flights: Vec::new(),
                resolving: None,
                withdrawals: 0,
                given: None,
                draws: Draws::random(),
                observer: None,
                budget: None,
                permit: None,
                teller: Teller::default(),
                last_failure: None,
                watch: None,
                waker: None,
                suspend_clock: None,
                suspended: time_suspended(),
                reports: Vec::new(),
            }),
        })
    }

    /// Runs `f` under the lock, then tells what has changed. Only the observer hears of it outside
    /// the lock, so it may call back. While the thread panics it is left alone: its own panic
    /// would abort the program.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Inner<A>, Duration) -> R) -> R {
        let mut inner = self.lock();
        let result = f(&mut inner, self.clock.now());
        inner.publish();
        let reports = take(&mut inner.reports);
        let observer = (inner.observer.clone()).filter(|_| !reports.is_empty());
        drop(inner);
        if let Some(observer) = observer.filter(|_| !std::thread::panicking()) {
            reports.iter().for_each(|report| observer(report));
        }
        result
    }

    /// As [`with`](Self::with), and wakes the owner.
    pub(super) fn command<R>(&self, f: impl FnOnce(&mut Inner<A>, Duration) -> R) -> R {
        let (result, waker) = self.with(|inner, now| (f(inner, now), inner.waker.take()));
        if let Some(waker) = waker {
            waker.wake();
        }
        result
    }

    /// Nothing panics under the lock but what a user's function does, which is over by then.
    fn lock(&self) -> MutexGuard<'_, Inner<A>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Clone + Eq> Inner<A> {
    pub(super) fn status(&self) -> Status {
        let next = self.machine.next_start();
        let next = next.and_then(|at| self.clock.at(at));
        Status {
            state: self.machine.state(),
            failures: self.machine.failures(),
            last_failure: self.last_failure.clone(),
            next_attempt_at: next.map(|at| self.permit.map_or(at, |permit| at.max(permit))),
        }
    }

    /// Watches the status; after the end it changes no more.
    pub(super) fn watch(&mut self) -> watch::Receiver<Status> {
        if let Some(sender) = &self.watch {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(self.status());
        if !matches!(self.machine.state(), State::Shutdown) {
            self.watch = Some(sender);
        }
        receiver
    }

    fn publish(&mut self) {
        let state = self.machine.state();
        self.teller.still_open(state);
        if self.told != discriminant(&state) {
            self.told = discriminant(&state);
            self.teller.state(&self.status());
        }
        if let Some(sender) = &self.watch {
            let status = self.status();
            sender.send_if_modified(|published| {
                let changed = *published != status;
                *published = status;
                changed
            });
        }
        if matches!(state, State::Shutdown) {
            self.watch = None; // nothing follows
        }
    }
}
