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

    /// Runs `f`, which changes nothing that anybody is told of, under the lock.
    pub(super) fn look<R>(&self, f: impl FnOnce(&mut Inner<A>, Duration) -> R) -> R {
        f(&mut self.lock(), self.clock.now())
    }

    /// Runs `f` under the lock, then tells what has changed.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Inner<A>, Duration) -> R) -> R {
        self.run(|inner, now| (f(inner, now), None))
    }

    /// As [`with`](Self::with), and wakes the owner.
    pub(super) fn command<R>(&self, f: impl FnOnce(&mut Inner<A>, Duration) -> R) -> R {
        self.run(|inner, now| (f(inner, now), inner.waker.take()))
    }

    /// Watchers and the observer hear of it outside the lock, so they may call back. While the
    /// thread panics the observer is left alone, since its own panic would abort the program: it
    /// hears of it next time.
    fn run<R>(&self, f: impl FnOnce(&mut Inner<A>, Duration) -> (R, Option<Waker>)) -> R {
        let mut inner = self.lock();
        let (result, waker) = f(&mut inner, self.clock.now());
        let _wake = WakeOnDrop(waker); // even if the observer panics
        let watch = inner.tell_state();
        let reports = if std::thread::panicking() {
            Vec::new()
        } else {
            take(&mut inner.reports)
        };
        let observer = (inner.observer.clone()).filter(|_| !reports.is_empty());
        drop(inner);
        if let Some(watch) = watch {
            self.publish(&watch);
        }
        if let Some(observer) = observer {
            reports.iter().for_each(|report| observer(report));
        }
        result
    }

    /// A watcher may hold the value while it reads the machine: the watch is locked before the
    /// machine, never after.
    fn publish(&self, watch: &watch::Sender<Status>) {
        watch.send_if_modified(|published| {
            let status = self.lock().status();
            let changed = *published != status;
            *published = status;
            changed
        });
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

    /// Tells of a new state, and gives the watch to publish it in; after the end it is let go.
    fn tell_state(&mut self) -> Option<watch::Sender<Status>> {
        let state = self.machine.state();
        self.teller.still_open(state);
        if self.told != discriminant(&state) {
            self.told = discriminant(&state);
            self.teller.state(&self.status());
        }
        match state {
            State::Shutdown => self.watch.take(), // nothing follows
            _ => self.watch.clone(),
        }
    }
}

struct WakeOnDrop(Option<Waker>);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            waker.wake();
        }
    }
}
