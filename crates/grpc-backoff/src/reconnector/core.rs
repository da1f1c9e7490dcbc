//! What a reconnector, its handles and its attempts share: the machine behind one lock.

mod flight;
mod outcomes;
mod steps;

use super::budget::AttemptBudget;
use super::catch::catch;
use super::clock::{Clock, time_suspended};
use super::draws::Draws;
use super::status::{LastFailure, Status};
use super::tell::{News, Open, Teller, tell};
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
    pub(super) budget: Option<AttemptBudget>,
    /// From when the budget lets the next attempt start.
    permit: Option<Instant>,
    /// Most have a default one.
    pub(super) teller: Option<Arc<Teller>>,
    /// To be told once the lock is released.
    news: Vec<News>,
    /// The connection that was told of as open.
    open: Option<Open>,
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
                budget: None,
                permit: None,
                teller: None,
                news: Vec::new(),
                open: None,
                last_failure: None,
                watch: None,
                waker: None,
                suspend_clock: None,
                suspended: time_suspended(),
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

    /// Watchers, subscribers, recorders and the observer hear of it outside the lock, so they may
    /// call back.
    fn run<R>(&self, f: impl FnOnce(&mut Inner<A>, Duration) -> (R, Option<Waker>)) -> R {
        let mut inner = self.lock();
        let (result, waker) = f(&mut inner, self.clock.now());
        let watch = inner.tell_state();
        let news = take(&mut inner.news);
        let teller = inner.teller.clone().filter(|_| !news.is_empty());
        drop(inner);
        if let Some(watch) = watch {
            self.publish(&watch);
        }
        tell(teller.as_deref(), news);
        if let Some(waker) = waker {
            waker.wake();
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

    /// How long the system has been suspended; a clock of the host's is read outside the lock, and
    /// one that panics says nothing new.
    pub(super) fn time_suspended(&self) -> Duration {
        let clock = self.look(|inner, _| inner.suspend_clock.clone());
        clock.map_or_else(time_suspended, |clock| {
            catch(|| clock()).unwrap_or_default()
        })
    }

    /// Nothing panics under the lock.
    fn lock(&self) -> MutexGuard<'_, Inner<A>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Clone + Eq> Inner<A> {
    /// Who tells, to be changed.
    pub(super) fn teller_mut(&mut self) -> &mut Teller {
        Arc::make_mut(self.teller.get_or_insert_default())
    }

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
        self.still_open(state);
        if self.told != discriminant(&state) {
            self.told = discriminant(&state);
            self.news.push(News::State(self.status()));
        }
        match state {
            State::Shutdown => self.watch.take(), // nothing follows
            _ => self.watch.clone(),
        }
    }
}
