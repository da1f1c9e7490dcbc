//! With one address a `PickFirst` does what a `Connection` does, to the last detail.

use conformance::draws::Draws;
use conformance::time::{ns, s};
use conformance::twin::Twin;
use grpc_backoff::{Action, AttemptId, Config, FirstDelay, FlapGuard, Reset, Timing};
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

struct Host {
    twin: Twin,
    ids: Vec<AttemptId>,
    draws: Draws,
}

impl Host {
    fn new(config: Config, seed: u64) -> Self {
        Self {
            twin: Twin::new(config).expect("valid by construction"),
            ids: Vec::new(),
            draws: Draws::Splitmix64(seed),
        }
    }

    /// Makes the call, and does what is to be done: the twin checks that both do the same.
    fn call(&mut self, now: Duration, call: Call) {
        let twin = &mut self.twin;
        let id = |older: usize| self.ids.iter().rev().nth(older).copied();
        match call {
            Call::Connect => twin.connect(now),
            Call::Reset => twin.reset(now),
            Call::ResetWithin(draw) => twin.reset_within(now, s(15), draw),
            Call::Withdraw => _ = twin.withdraw(now),
            Call::Retarget => _ = twin.retarget(now),
            Call::SameList => twin.same_list(now),
            Call::Shutdown => _ = twin.shutdown(now),
            Call::Restart => twin.restart(now),
            Call::Settings(older) => _ = id(older).map(|id| twin.handle_settings(now, id)),
            Call::Failed(older) => _ = id(older).map(|id| twin.handle_failed(now, id)),
            Call::Lost(older) => _ = id(older).map(|id| twin.handle_lost(now, id)),
            Call::Poll => {}
        }
        for action in twin.actions(now, || self.draws.draw()) {
            if let Action::Start(start) = action {
                self.ids.push(start.attempt);
            }
        }
        assert!(!twin.explain(now).is_empty());
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
        let mut host = Host::new(config, seed);
        for (call, now) in script {
            host.call(ns(now), call);
        }
    }

    /// The same while time goes on, so that waits and limits come into play.
    #[test]
    fn one_address_is_a_connection_for_hours(
        config in configs(),
        script in prop::collection::vec((calls(), 0..5_000_000_000u64), 1..200),
        seed: u64,
    ) {
        let mut host = Host::new(config, seed);
        let mut now = Duration::ZERO;
        for (call, passes) in script {
            now += ns(passes);
            host.call(now, call);
        }
    }
}
