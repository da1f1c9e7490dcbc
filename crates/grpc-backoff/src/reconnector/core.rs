//! What a reconnector, its handles and its attempts share: the machine behind one lock.

mod extras;
mod flight;
mod live;
mod outcomes;
mod steps;

use super::catch::catch;
use super::clock::{Clock, time_suspended};
use super::draws::Draws;
use super::status::{LastFailure, Status};
use super::tell::{News, Teller, tell};
use crate::{PickFirst, State};
use core::mem::{Discriminant, discriminant};
use core::task::Waker;
use core::time::Duration;
use std::boxed::Box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

use extras::Extras;
use flight::{Flight, Resolution};
use live::LiveIfAny;
pub(super) use outcomes::Given;
pub(super) use steps::{Ended, Step};

pub(super) struct Core<A> {
    inner: Mutex<Inner<A>>,
}

/// The machine, and everyone who wants to know.
pub(super) struct Inner<A> {
    pub(super) machine: PickFirst<A>,
    clock: Clock,
    live: LiveIfAny,
    /// How often `withdraw` was called.
    pub(super) withdrawals: u32,
    pub(super) draws: Draws,
    /// Few have any.
    extras: Option<Box<Extras>>,
    /// Most have a default one.
    pub(super) teller: Option<Arc<Teller>>,
    /// Since the last success.
    last_failure: Option<LastFailure>,
    /// Made when somebody watches.
    watch: Option<watch::Sender<Status>>,
    /// The state that was last told.
    told: Discriminant<State>,
    /// The owner, while it waits.
    waker: Option<Waker>,
    pub(super) suspended: Duration,
    /// How much later a wait may end than it has to (D19), in ns: 500 ms at most.
    pub(super) slack_ns: u32,
}

impl<A: Clone + Eq> Core<A> {
    pub(super) fn new(clock: Clock, machine: PickFirst<A>) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                told: discriminant(&machine.state()),
                machine,
                clock,
                live: LiveIfAny::NONE,
                withdrawals: 0,
                draws: Draws::random(),
                extras: None,
                teller: None,
                last_failure: None,
                watch: None,
                waker: None,
                suspended: time_suspended(),
                slack_ns: 0,
            }),
        })
    }

    /// Runs `f`, which changes nothing that anybody is told of, under the lock.
    pub(super) fn look<R>(&self, f: impl FnOnce(&mut Inner<A>, Duration) -> R) -> R {
        let mut inner = self.lock();
        let now = inner.clock.now();
        f(&mut inner, now)
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
        let now = inner.clock.now();
        let (result, waker) = f(&mut inner, now);
        let watch = inner.tell_state();
        let news = inner.live.take_news();
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
        let clock = self.look(|inner, _| inner.extras.as_ref()?.suspend_clock.clone());
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
            next_attempt_at: next.map(|at| self.permit().map_or(at, |permit| at.max(permit))),
        }
    }

    #[cfg(test)]
    pub(super) fn holds_no_more(&self) -> bool {
        self.live.is_none()
            && self.extras.is_none()
            && self.teller.is_none()
            && self.watch.is_none()
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
            let status = self.status();
            self.live.news.push(News::State(status));
        }
        match state {
            State::Shutdown => self.watch.take(), // nothing follows
            _ => self.watch.clone(),
        }
    }
}
