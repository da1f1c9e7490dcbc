//! With one address a `PickFirst` does what a `Connection` does, to the last detail.

use conformance::draws::Draws;
use conformance::time::{ns, s};
use grpc_backoff::{
    Action, AttemptId, Config, Connection, FirstDelay, FlapGuard, PickAction, PickFirst, Reset,
    Timing,
};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
enum Call {
    Connect,
    Withdraw,
    Reset,
    ResetWithin(u64),
    Retarget,
    SameList,
    Shutdown,
    Settings(usize),
    Failed(usize),
    Lost(usize),
    Poll,
    Restart,
}

/// Outcomes are mostly those of the latest attempt.
fn calls() -> impl Strategy<Value = Call> {
    let older = || prop_oneof![4 => Just(0), 1 => 1..4usize];
    prop_oneof![
        6 => Just(Call::Connect),
        2 => Just(Call::Withdraw),
        1 => Just(Call::Reset),
        1 => any::<u64>().prop_map(Call::ResetWithin),
        1 => Just(Call::Retarget),
        1 => Just(Call::SameList),
        4 => older().prop_map(Call::Settings),
        12 => older().prop_map(Call::Failed),
        4 => older().prop_map(Call::Lost),
        8 => Just(Call::Poll),
        1 => Just(Call::Restart),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    let reset = prop_oneof![
        Just(Reset::OnSettings),
        (1..100u64).prop_map(|time| Reset::AfterStable(s(time)))
    ];
    let guard = prop_oneof![Just(FlapGuard::On), Just(FlapGuard::Off)];
    let timing = prop_oneof![Just(Timing::FromStart), Just(Timing::FromFailure)];
    let first = prop_oneof![Just(FirstDelay::Jittered), Just(FirstDelay::Exact)];
    let limits = (
        prop::option::of(1..6u32),
        prop::option::of((1..400u64).prop_map(s)),
    );
    (reset, guard, timing, first, limits).prop_map(
        |(reset, flap_guard, timing, first_delay, (attempts, max_elapsed))| Config {
            reset,
            flap_guard,
            timing,
            first_delay,
            max_attempts: attempts.and_then(|n| n.try_into().ok()),
            max_elapsed,
            ..Config::GRPC
        },
    )
}

struct Pair {
    config: Config,
    one: Connection,
    pick: PickFirst<&'static str>,
    ids: Vec<AttemptId>,
    one_draws: Draws,
    pick_draws: Draws,
}

impl Pair {
    fn new(config: Config, seed: u64) -> Self {
        Self {
            config,
            one: Connection::new(config).expect("valid by construction"),
            pick: PickFirst::new(config, ["a"]).expect("valid by construction"),
            ids: Vec::new(),
            one_draws: Draws::Splitmix64(seed),
            pick_draws: Draws::Splitmix64(seed),
        }
    }

    /// Makes the call to both, and checks that both do the same.
    fn call(&mut self, now: Duration, call: Call) {
        let (one, pick) = (&mut self.one, &mut self.pick);
        let id = |older: usize| self.ids.iter().rev().nth(older).copied();
        let mut done = Vec::new();
        match call {
            Call::Connect => (one.connect(now), pick.connect(now)).0,
            Call::Reset => (one.reset(now), pick.reset(now)).0,
            Call::ResetWithin(draw) => {
                one.reset_within(now, s(15), draw);
                pick.reset_within(now, s(15), draw);
            }
            Call::Withdraw => {
                done.extend(one.withdraw(now).map(Action::Abort));
                pick.withdraw(now);
            }
            Call::Retarget => {
                done.extend(one.retarget(now).map(Action::Abort));
                pick.retarget(now, ["b"]);
            }
            Call::SameList => {
                let list: Vec<_> = pick.connections().map(|(address, _)| *address).collect();
                pick.set_addresses(now, list);
            }
            Call::Shutdown => {
                done.extend(one.shutdown().map(Action::Abort));
                pick.shutdown();
            }
            Call::Restart => {
                let snapshot = one.snapshot(now);
                let rest: Vec<_> = pick.snapshot(now).map(|(a, rest)| (*a, rest)).collect();
                assert_eq!(rest[0].1, snapshot);
                *one = Connection::restore(self.config, now, snapshot).expect("valid");
                *pick = PickFirst::restore(self.config, now, rest).expect("valid");
            }
            Call::Settings(older) => {
                if let Some(id) = id(older) {
                    assert_eq!(one.handle_settings(now, id), pick.handle_settings(now, id));
                }
            }
            Call::Failed(older) => {
                if let Some(id) = id(older) {
                    assert_eq!(one.handle_failed(now, id), pick.handle_failed(now, id));
                }
            }
            Call::Lost(older) => {
                if let Some(id) = id(older) {
                    assert_eq!(one.handle_lost(now, id), pick.handle_lost(now, id));
                }
            }
            Call::Poll => {}
        }
        self.compare(now);
        done.extend(std::iter::from_fn(|| {
            self.one.poll_action(now, || self.one_draws.draw())
        }));
        for expected in done {
            let action = self.pick.poll_action(now, || self.pick_draws.draw());
            match (expected, action) {
                (Action::Start(start), Some(PickAction::Start { start: picked, .. })) => {
                    assert_eq!(picked, start);
                    self.ids.push(start.attempt);
                }
                (Action::Abort(abort), Some(PickAction::Abort(picked))) => {
                    assert_eq!(picked, abort);
                }
                other => panic!("not the same: {other:?}"),
            }
        }
        assert_eq!(self.pick.poll_action(now, || self.pick_draws.draw()), None);
        self.compare(now);
    }

    fn compare(&self, now: Duration) {
        let (one, pick) = (&self.one, &self.pick);
        assert_eq!(pick.state(), one.state());
        assert_eq!(pick.poll_timeout(), one.poll_timeout());
        assert_eq!(pick.is_wanted(), one.is_wanted());
        assert_eq!(pick.failures(), one.failures());
        assert_eq!(pick.attempts(), one.attempts());
        assert_eq!(pick.explain(now).to_string(), one.explain(now).to_string());
    }
}

proptest! {
    /// Action for action and state for state, at any times, backwards too.
    #[test]
    fn one_address_is_a_connection(
        config in configs(),
        script in prop::collection::vec((prop_oneof![30 => calls(), 1 => Just(Call::Shutdown)], 0..1u64 << 40), 1..80),
        seed: u64,
    ) {
        let mut pair = Pair::new(config, seed);
        for (call, now) in script {
            pair.call(ns(now), call);
        }
    }

    /// The same while time goes on, so that waits and limits come into play.
    #[test]
    fn one_address_is_a_connection_for_hours(
        config in configs(),
        script in prop::collection::vec((calls(), 0..5_000_000_000u64), 1..200),
        seed: u64,
    ) {
        let mut pair = Pair::new(config, seed);
        let mut now = Duration::ZERO;
        for (call, passes) in script {
            now += ns(passes);
            pair.call(now, call);
        }
    }
}
