//! A random world for a reconnector, which checks every start against the attempt before it.

use super::super::virtual_now;
use conformance::draws::splitmix64;
use conformance::time::{ms, s};
use grpc_backoff::{Attempt, AttemptId, AttemptReport, ConnectionGuard, Failure, Handle, Outcome};
use std::collections::BTreeMap;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

pub(super) type Driving = Pin<Box<dyn Future<Output = ()> + Send>>;
pub(super) type Dialled = Result<(AttemptId, Driving), Failure<&'static str>>;
pub(super) type Dialling = Pin<Box<dyn Future<Output = Dialled> + Send>>;

/// One seed's world. A copy is the same.
#[derive(Clone)]
pub(super) struct World {
    state: Arc<Mutex<State>>,
    pub(super) handle: Arc<OnceLock<Handle<u8>>>,
}

#[derive(Default)]
struct State {
    random: u64,
    /// From now on every server accepts, and keeps its connections.
    is_well: bool,
    suspended: Duration,
    /// Resets, new targets and suspends so far: after one an attempt may start sooner.
    restarts: u32,
    steps: usize,
    starts: Vec<Started>,
    ended: BTreeMap<AttemptId, AttemptReport>,
    /// Guards that outlive their connections.
    leaked: Vec<ConnectionGuard<u8>>,
    in_flight: BTreeMap<u8, usize>,
    /// What was wrong: a panic here would be one of the dial function's.
    faults: Vec<String>,
}

impl State {
    fn expect(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(fault());
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Started {
    attempt: AttemptId,
    address: u8,
    at: Instant,
    restarts: u32,
}

/// An attempt in flight, until its future is dropped.
struct Flying(World, u8);

impl Drop for Flying {
    fn drop(&mut self) {
        *self.0.state().in_flight.entry(self.1).or_default() -= 1;
    }
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let random = seed;
        let state = State {
            random,
            ..State::default()
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            handle: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number below `end`.
    pub(super) fn below(&self, end: u64) -> u64 {
        splitmix64(&mut self.state().random) % end
    }

    /// A time up to 2^n ms, every order of magnitude as likely.
    pub(super) fn time(&self, n: u64) -> Duration {
        let bits = self.below(n);
        ms(self.below(1 << bits))
    }

    /// Some of the addresses, in some order, and sometimes none.
    pub(super) fn list(&self) -> Vec<u8> {
        (0..self.below(4)).map(|_| self.address()).collect()
    }

    fn address(&self) -> u8 {
        u8::try_from(self.below(4)).expect("small")
    }

    pub(super) fn restarted(&self) {
        self.state().restarts += 1;
    }

    /// The system is suspended for a while.
    pub(super) fn suspend(&self) {
        let time = self.time(16);
        self.restarted();
        self.state().suspended += time;
    }

    /// The suspend clock: read in every step.
    pub(super) fn suspended(&self) -> Duration {
        let mut state = self.state();
        state.steps += 1;
        state.suspended
    }

    pub(super) fn get_well(&self) {
        self.state().is_well = true;
        self.forget_guards();
    }

    pub(super) fn forget_guards(&self) {
        let leaked = std::mem::take(&mut self.state().leaked);
        drop(leaked); // outside the lock
    }

    pub(super) fn dial(&self, attempt: Attempt<u8>) -> Dialling {
        let fate = if self.state().is_well {
            Fate::Accepts
        } else {
            self.fate()
        };
        self.start(&attempt);
        let flying = Flying(self.clone(), *attempt.address());
        assert!(!matches!(fate, Fate::PanicsAtOnce), "in the dial function");
        let world = self.clone();
        Box::pin(async move {
            let _flying = flying;
            world.meet(fate, attempt).await
        })
    }

    fn start(&self, attempt: &Attempt<u8>) {
        let mut state = self.state();
        let (address, at) = (*attempt.address(), virtual_now());
        let started = Started {
            attempt: attempt.id(),
            address,
            at,
            restarts: state.restarts,
        };
        let before = state.starts.last().map(|last| last.attempt);
        state.expect(before < Some(started.attempt), || {
            format!("{started:?} after {before:?}")
        });
        let in_flight = state.in_flight.entry(address).or_default();
        *in_flight += 1;
        let alone = *in_flight == 1;
        state.expect(alone, || format!("two at a time: {started:?}"));
        let mut before = state.starts.iter().rev();
        let before = before.find(|start| start.address == address).copied();
        if let Some(last) = before.filter(|last| last.restarts == started.restarts) {
            let ended = state.ended.get(&last.attempt).cloned();
            let spaced = ended.as_ref().map(|ended| match ended.outcome {
                Outcome::Failed(_) | Outcome::Refused(_) | Outcome::TimedOut => ended.backoff,
                Outcome::Connected | Outcome::Cancelled => ms(800), // the least first delay (D9)
            });
            let in_time = spaced.is_some_and(|spaced| at - last.at >= spaced);
            state.expect(in_time, || format!("{started:?} after {last:?}, {ended:?}"));
        }
        state.starts.push(started);
    }

    pub(super) fn ended(&self, report: &AttemptReport) {
        let text = self
            .handle
            .get()
            .map(|handle| format!("{}", handle.status()));
        let mut state = self.state();
        state.expect(text.is_some(), || "the observer may read".into());
        let twice = state.ended.insert(report.attempt, report.clone());
        state.expect(twice.is_none(), || format!("two outcomes (D6): {report:?}"));
    }

    pub(super) fn starts(&self) -> u64 {
        self.state().starts.len() as u64
    }

    /// After the end: every attempt had an outcome, and nothing ran in circles.
    pub(super) fn check(&self, events: usize, seconds: u64, budget: Option<(usize, Duration)>) {
        let state = self.state();
        assert_eq!(state.faults, [""; 0]);
        for start in &state.starts {
            assert!(state.ended.contains_key(&start.attempt), "{start:?}");
        }
        assert!(state.in_flight.values().all(|&flying| flying == 0));
        let slices = usize::try_from(seconds / 15).expect("small");
        let most = 12 * (state.starts.len() + events) + slices + 50;
        assert!(state.steps <= most, "{} steps, {most}", state.steps);
        let Some((capacity, refill)) = budget else {
            return;
        };
        for (at, first) in state.starts.iter().enumerate() {
            for (more, last) in state.starts[at..].iter().enumerate() {
                let kept = (last.at - first.at + s(1)).as_nanos() / refill.as_nanos();
                let most = capacity + usize::try_from(kept).expect("small");
                assert!(more < most, "{first:?} to {last:?}: {more}");
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Fails(Duration),
    Refuses,
    Hangs,
    PanicsAtOnce,
    Panics(Duration),
    /// For good.
    Accepts,
    Lives(Duration, Duration),
    /// Handed over before it is accepted, if that ever happens (D13).
    Guarded(Duration, Duration),
    /// Lost before it is handed over.
    LostBefore(Duration),
    /// The guard stays behind.
    Leaks,
}

impl World {
    fn fate(&self) -> Fate {
        let kind = self.below(20);
        let (soon, later) = (self.time(15), self.time(17));
        match kind {
            0..4 => Fate::Fails(Duration::ZERO),
            4..8 => Fate::Fails(soon),
            8 => Fate::Refuses,
            9 | 10 => Fate::Hangs,
            11 => Fate::PanicsAtOnce,
            12 => Fate::Panics(soon),
            13 | 14 => Fate::Lives(soon, later),
            15..18 => Fate::Guarded(soon, later),
            18 => Fate::LostBefore(soon),
            _ => Fate::Leaks,
        }
    }

    async fn meet(&self, fate: Fate, attempt: Attempt<u8>) -> Dialled {
        let id = attempt.id();
        let given = |driving: Driving| Ok((id, driving));
        match fate {
            Fate::Fails(after) => {
                sleep(after).await;
                Err(Failure::Retry("refused"))
            }
            Fate::Refuses => Err(Failure::Final("not allowed")),
            Fate::Hangs => pending().await,
            Fate::PanicsAtOnce => unreachable!("it has no future"),
            Fate::Panics(after) => {
                sleep(after).await;
                panic!("in the dial's future")
            }
            Fate::Accepts => given(Box::pin(pending())),
            Fate::Lives(after, time) => {
                sleep(after).await;
                given(Box::pin(sleep(time)))
            }
            Fate::Guarded(after, time) => {
                let guard = attempt.guard();
                given(Box::pin(async move {
                    sleep(after.min(guard.deadline() - virtual_now())).await;
                    let _ = guard.accepted();
                    sleep(time).await;
                }))
            }
            Fate::LostBefore(after) => {
                let guard = attempt.guard();
                sleep(after).await;
                let _ = guard.accepted();
                guard.failed("lost before it was handed over");
                sleep(after).await;
                given(Box::pin(pending()))
            }
            Fate::Leaks => {
                let guard = attempt.guard();
                let _ = guard.accepted();
                self.state().leaked.push(guard);
                given(Box::pin(sleep(s(1))))
            }
        }
    }
}
