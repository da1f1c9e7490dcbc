//! A host of several addresses, and what happens to it: each address against a lone `Connection`.

use std::collections::BTreeMap;
use std::time::Duration;

use conformance::draws::Draws;
use conformance::time::{ms, s};
use grpc_backoff::{
    Action, AttemptId, Config, Connection, FlapGuard, PickAction, PickFirst, Reset, State, Timing,
    Verdict,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Connect,
    Withdraw,
    Reset,
    ResetWithin(u64),
    List(Vec<u8>),
    Retarget(Vec<u8>),
    Resolved(usize, Vec<u8>),
    Settings(usize),
    Failed(usize),
    Lost(usize),
    Shutdown,
    Restart,
    Poll,
}

/// Outcomes are those of one of the latest attempts.
pub(crate) fn calls() -> impl Strategy<Value = Call> {
    let list = || prop::collection::vec(0..6u8, 0..6);
    prop_oneof![
        12 => Just(Call::Connect),
        2 => Just(Call::Withdraw),
        1 => Just(Call::Reset),
        1 => any::<u64>().prop_map(Call::ResetWithin),
        4 => list().prop_map(Call::List),
        1 => list().prop_map(Call::Retarget),
        4 => (0..6usize, list()).prop_map(|(older, list)| Call::Resolved(older, list)),
        3 => (0..6usize).prop_map(Call::Settings),
        20 => (0..6usize).prop_map(Call::Failed),
        4 => (0..6usize).prop_map(Call::Lost),
        10 => Just(Call::Poll),
    ]
}

pub(crate) fn configs() -> impl Strategy<Value = Config> {
    let reset = prop_oneof![
        Just(Reset::OnSettings),
        (1..30u64).prop_map(|time| Reset::AfterStable(s(time)))
    ];
    let guard = prop_oneof![Just(FlapGuard::On), Just(FlapGuard::Off)];
    let timing = prop_oneof![Just(Timing::FromStart), Just(Timing::FromFailure)];
    (reset, guard, timing, 100..2_000u64).prop_map(|(reset, flap_guard, timing, delay)| Config {
        reset,
        flap_guard,
        timing,
        connection_attempt_delay: ms(delay),
        ..Config::GRPC
    })
}

/// What an id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Attempt(u8),
    Resolution,
}

/// A machine, and for every address a lone connection that is always wanted and hears the same.
pub(crate) struct Host {
    pub(crate) pick: PickFirst<u8>,
    config: Config,
    ids: Vec<AttemptId>,
    /// What is in flight or READY.
    pub(crate) there: BTreeMap<AttemptId, What>,
    lone: BTreeMap<u8, (Connection, Option<AttemptId>)>,
    draws: Draws,
}

impl Host {
    pub(crate) fn new(config: Config, resolving: bool, seed: u64) -> Self {
        let pick = PickFirst::new(config, []).expect("valid by construction");
        Self {
            pick: if resolving {
                pick.with_resolver()
            } else {
                pick
            },
            config,
            ids: Vec::new(),
            there: BTreeMap::new(),
            lone: BTreeMap::new(),
            draws: Draws::Splitmix64(seed),
        }
    }

    pub(crate) fn call(&mut self, now: Duration, call: Call) {
        let id = |older: usize| self.ids.iter().rev().nth(older).copied();
        match call {
            Call::Connect => self.pick.connect(now),
            Call::Withdraw => self.pick.withdraw(now),
            Call::Reset => {
                self.pick.reset(now);
                self.lone.values_mut().for_each(|(lone, _)| lone.reset(now));
            }
            Call::ResetWithin(draw) => {
                self.pick.reset_within(now, s(15), draw);
                // At the earliest at once.
                self.lone.values_mut().for_each(|(lone, _)| lone.reset(now));
            }
            Call::List(list) => self.pick.set_addresses(now, list),
            Call::Retarget(list) => {
                self.pick.retarget(now, list);
                self.lone.clear();
            }
            Call::Resolved(older, list) => {
                if let Some(id) = id(older) {
                    let accepted = self.pick.handle_resolved(now, id, list) == Verdict::Accepted;
                    let resolution = self.there.get(&id) == Some(&What::Resolution);
                    assert_eq!(accepted, resolution);
                    if accepted {
                        self.there.remove(&id);
                    }
                }
            }
            Call::Settings(older) => {
                if let Some(id) = id(older)
                    && self.pick.handle_settings(now, id) == Verdict::Accepted
                {
                    let (lone, own) = self.lone_of(id);
                    assert_eq!(lone.handle_settings(now, own), Verdict::Accepted);
                }
            }
            Call::Failed(older) | Call::Lost(older) => {
                if let Some(id) = id(older) {
                    self.end(now, id);
                }
            }
            Call::Shutdown | Call::Restart => panic!("{call:?} is for `nothing_panics`"),
            Call::Poll => {}
        }
    }

    pub(crate) fn end(&mut self, now: Duration, id: AttemptId) {
        let accepted = self.pick.handle_failed(now, id) == Verdict::Accepted;
        assert_eq!(accepted, self.there.contains_key(&id), "one outcome each");
        if accepted {
            if self.there[&id] != What::Resolution {
                let (lone, own) = self.lone_of(id);
                assert_eq!(lone.handle_failed(now, own), Verdict::Accepted);
            }
            self.there.remove(&id);
        }
    }

    fn lone_of(&mut self, id: AttemptId) -> (&mut Connection, AttemptId) {
        let What::Attempt(address) = self.there[&id] else {
            panic!("{id} is a resolution");
        };
        let (lone, own) = self.lone.get_mut(&address).expect("it was started");
        (lone, own.expect("it was started"))
    }

    /// Does what is to be done. An abort is a failure where time has passed, and cancels where
    /// something was said.
    pub(crate) fn poll(&mut self, now: Duration, time_has_passed: bool) {
        let mut count = 0;
        loop {
            let mut drawn = None;
            let draws = &mut self.draws;
            let action = self.pick.poll_action(now, || *drawn.insert(draws.draw()));
            match action {
                None => break,
                Some(PickAction::Start { start, address }) => {
                    let what = What::Attempt(*address);
                    assert!(
                        !self.there.values().any(|there| *there == what),
                        "{what:?} twice"
                    );
                    self.there.insert(start.attempt, what);
                    self.ids.push(start.attempt);
                    self.start_lone(now, start, what, drawn.expect("one draw for a start"));
                }
                Some(PickAction::Resolve(start)) => {
                    let what = What::Resolution;
                    assert!(
                        !self.there.values().any(|there| *there == what),
                        "{what:?} twice"
                    );
                    self.there.insert(start.attempt, what);
                    self.ids.push(start.attempt);
                }
                Some(PickAction::Abort(abort)) => {
                    if self.there.get(&abort.attempt) != Some(&What::Resolution) {
                        self.abort_lone(now, abort.attempt, time_has_passed);
                    }
                    let was_there = self.there.remove(&abort.attempt);
                    assert!(was_there.is_some(), "{abort:?} is not there");
                }
            }
            count += 1;
            assert!(count <= 40, "it comes to an end");
        }
    }

    /// No start is earlier than that of the lone connection, by the same draws.
    fn start_lone(&mut self, now: Duration, start: grpc_backoff::Start, what: What, draw: u64) {
        let What::Attempt(address) = what else {
            panic!("a resolution");
        };
        assert!(start.due_at <= now);
        let config = self.config;
        let fresh = || (Connection::new(config).expect("valid"), None);
        let (lone, own) = self.lone.entry(address).or_insert_with(fresh);
        lone.connect(now);
        match lone.poll_action(now, || draw) {
            Some(Action::Start(expected)) => {
                assert_eq!(start.backoff, expected.backoff, "{address} at {now:?}");
                assert_eq!(start.deadline, expected.deadline);
                *own = Some(expected.attempt);
            }
            other => panic!(
                "{address} is too early at {now:?}: {other:?}, {}",
                lone.explain(now)
            ),
        }
    }

    fn abort_lone(&mut self, now: Duration, id: AttemptId, time_has_passed: bool) {
        let What::Attempt(address) = self.there[&id] else {
            panic!("a resolution");
        };
        let Some((lone, own)) = self.lone.get_mut(&address) else {
            return; // of the target before
        };
        if time_has_passed {
            let action = lone.poll_action(now, || panic!("no draw for an abort"));
            assert!(matches!(action, Some(Action::Abort(_))), "{action:?}");
        } else {
            let _ = lone.withdraw(now);
            let _ = lone.handle_lost(now, own.expect("it was started")); // where it was READY
        }
    }

    /// After everything that is due is done (D7).
    pub(crate) fn check(&self, now: Duration, resolving: bool) {
        let (state, timeout) = (self.pick.state(), self.pick.poll_timeout());
        let listed = self.pick.connections().len();
        assert!(
            timeout.is_none_or(|due_at| due_at > now),
            "all that is due is done"
        );
        match state {
            State::Idle | State::Connecting { .. } | State::TransientFailure { .. } => {
                let lives = self.pick.is_wanted() && (listed > 0 || resolving);
                assert_eq!(timeout.is_some(), lives, "{state:?}");
            }
            State::Ready { .. } | State::GaveUp { .. } | State::Shutdown => {
                assert!(!self.pick.is_wanted() && timeout.is_none());
            }
        }
        let in_flight = !self.there.is_empty();
        match state {
            State::Connecting { attempt, .. } | State::Ready { attempt, .. } => {
                assert!(self.there.contains_key(&attempt), "{attempt} is in flight");
            }
            State::Idle if !self.pick.is_wanted() => assert!(!in_flight),
            State::TransientFailure { until } if listed > 0 || resolving => {
                assert!(self.pick.is_wanted() && until > now && until < Duration::MAX);
            }
            State::GaveUp { .. } | State::Shutdown => assert!(!in_flight),
            State::Idle | State::TransientFailure { .. } => {}
        }
        assert!(!self.pick.explain(now).to_string().is_empty());
    }
}
