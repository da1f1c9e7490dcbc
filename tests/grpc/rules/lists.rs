use conformance::addresses::Host;
use conformance::time::{ms, s};
use grpc_backoff::{Config, FlapGuard, Reset, State, Verdict};
use std::time::Duration;

/// (A7) Each failed pass asks for a new list once.
#[test]
fn rule_grpc_a7_each_failed_pass_asks_for_a_new_list_once() {
    let mut host = Host::new(["a", "b"]).resolving();
    assert_eq!(host.connect(s(0)), ["start a #0"]);
    assert_eq!(host.fail(s(0), 0), ["start b #1"]);
    assert_eq!(host.fail(s(0), 1), ["resolve #2"]);
    assert_eq!(
        host.resolve(ms(50), 2, ["a", "b"]),
        [""; 0],
        "the same: both wait"
    );
    assert_eq!(host.poll(s(1)), ["start a #3", "start b #4"]);
    assert_eq!(host.fail(s(1), 3), [""; 0]);
    assert_eq!(host.fail(s(1), 4), ["resolve #5"]);
    // While that resolution lasts, more failures ask for nothing.
    assert_eq!(host.poll(ms(2_600)), ["start a #6", "start b #7"]);
    assert_eq!(host.fail(ms(2_600), 6), [""; 0]);
    assert_eq!(host.fail(ms(2_600), 7), [""; 0]);
    assert_eq!(host.resolve(ms(2_700), 5, ["c"]), ["start c #8"]);
}

/// (A7) Without an address the first thing to do is to resolve; that is timed and backs off.
#[test]
fn rule_grpc_a7_resolutions_back_off() {
    let mut host = Host::new([]).resolving();
    assert_eq!(host.connect(s(0)), ["resolve #0"]);
    let attempt = host.id(0);
    assert_eq!(
        host.pick.state(),
        State::Connecting {
            attempt,
            deadline: s(20)
        }
    );
    assert_eq!(host.fail(s(0), 0), [""; 0]);
    assert_eq!(host.pick.state(), State::TransientFailure { until: s(1) });
    assert_eq!(host.poll(s(1)), ["resolve #1"]);
    let until = s(21); // as a failed pass, until there is an address (A6, A8)
    assert_eq!(host.pick.state(), State::TransientFailure { until });
    assert_eq!(host.fail(s(1), 1), [""; 0]);
    assert_eq!(host.poll(ms(2_600)), ["resolve #2"]);
    assert_eq!(host.poll(ms(22_600)), ["abort #2", "resolve #3"]);
    let late = host.pick.handle_resolved(s(23), host.id(2), ["a"]);
    assert_eq!(late, Verdict::Stale);
    assert_eq!(host.resolve(s(24), 3, ["a"]), ["start a #4"]);
    host.pick.withdraw(s(24));
    assert_eq!(host.poll(s(24)), ["abort #4"]);
    assert_eq!(host.pick.poll_timeout(), None);
}

/// (A7) Resolutions that succeed keep a first delay between them, however fast passes fail, and
/// whatever connections are held to.
#[test]
fn rule_grpc_a7_resolutions_that_succeed_are_a_first_delay_apart() {
    let (mut unguarded, mut stable) = (Config::GRPC, Config::GRPC);
    unguarded.flap_guard = FlapGuard::Off;
    stable.reset = Reset::AfterStable(s(60));
    for config in [Config::GRPC, unguarded, stable] {
        let mut host = Host::with(config, ["a"]).resolving();
        host.connect(s(0));
        assert_eq!(host.fail(s(0), 0), ["resolve #1"]);
        assert_eq!(host.resolve(s(0), 1, ["b"]), ["start b #2"]);
        assert_eq!(host.fail(s(0), 2), [""; 0], "not yet");
        assert_eq!(host.poll(ms(999)), [""; 0]);
        assert_eq!(host.poll(s(1)), ["resolve #3", "start b #4"]);
        assert_eq!(host.resolve(s(1), 3, ["c"]), ["abort #4", "start c #5"]);
        assert_eq!(host.fail(s(1), 5), [""; 0], "not yet");
        assert_eq!(host.poll(s(2)), ["resolve #6", "start c #7"]);
    }
}

/// (A7) A reset begins the pass anew: what failed before it does not count.
#[test]
fn rule_grpc_a7_a_pass_that_a_reset_ended_asks_for_nothing() {
    let mut host = Host::new(["a", "b"]).resolving();
    host.connect(s(0));
    assert_eq!(host.fail(s(0), 0), ["start b #1"]);
    host.pick.reset(s(0));
    assert_eq!(host.poll(ms(250)), ["start a #2"]);
    let done = host.fail(ms(250), 1);
    assert!(
        !done.iter().any(|done| done.starts_with("resolve")),
        "{done:?}"
    );
}

/// (A8) Duplicates are ignored.
#[test]
fn rule_grpc_a8_duplicates_are_ignored() {
    let mut host = Host::new(["a", "b", "a", "b"]);
    let addresses: Vec<_> = host
        .pick
        .connections()
        .map(|(address, _)| *address)
        .collect();
    assert_eq!(addresses, ["a", "b"]);
    assert_eq!(host.connect(s(0)), ["start a #0"]);
    assert_eq!(host.list(s(0), ["b", "b", "a"]), [""; 0]);
    assert_eq!(host.poll(ms(250)), ["start b #1"]);
    assert_eq!(host.poll(ms(500)), [""; 0]);
}

/// (A8) An empty list is a failure, which ends when there is an address.
#[test]
fn rule_grpc_a8_an_empty_list_is_a_failure() {
    let mut host = Host::new([]);
    assert_eq!(host.pick.state(), State::Idle);
    assert_eq!(host.connect(s(0)), [""; 0]);
    let until = Duration::MAX;
    assert_eq!(host.pick.state(), State::TransientFailure { until });
    assert_eq!(
        host.pick.explain(s(0)).to_string(),
        "TRANSIENT_FAILURE after 0 failures; no address"
    );
    assert_eq!(host.list(s(7), ["a"]), ["start a #0"]);
    assert_eq!(host.settle(s(7), 0), [""; 0]);
    assert_eq!(host.list(s(8), []), ["abort #0"]);
    assert_eq!(host.pick.state(), State::Idle, "as after a loss");
}

/// (A8) A resolution that gives no address has failed, and is tried again after its backoff.
#[test]
fn rule_grpc_a8_a_resolution_without_an_address_has_failed() {
    let mut host = Host::new([]).resolving();
    host.connect(s(0));
    assert_eq!(host.resolve(s(0), 0, []), [""; 0]);
    assert_eq!(host.pick.state(), State::TransientFailure { until: s(1) });
    assert_eq!(host.poll(s(1)), ["resolve #1"]);
    assert_eq!(
        host.pick.state(),
        State::TransientFailure { until: s(21) },
        "still none"
    );
    // Of a list that was there, nothing is left.
    assert_eq!(host.resolve(s(1), 1, ["a"]), ["start a #2"]);
    assert_eq!(host.fail(s(1), 2), [""; 0]);
    assert_eq!(host.poll(ms(2_000)), ["resolve #3", "start a #4"]);
    assert_eq!(host.resolve(s(2), 3, []), ["abort #4"]);
    assert_eq!(host.pick.failures(), 1, "that of the resolution");
}

/// (A9) Addresses that stay keep their machine and what is in flight; those that go are aborted.
#[test]
fn rule_grpc_a9_what_stays_on_the_list_keeps_its_state() {
    let mut host = Host::new(["a", "b", "c"]);
    host.connect(s(0));
    host.fail(s(0), 0);
    assert_eq!(host.poll(ms(250)), ["start c #2"]);
    assert_eq!(host.list(ms(300), ["d", "c", "a"]), ["abort #1"]);
    assert_eq!(host.poll(ms(499)), [""; 0], "c still has its time");
    assert_eq!(host.poll(ms(500)), ["start d #3"]);
    assert_eq!(host.poll(s(1)), ["start a #4"], "by its own wait");
    assert_eq!(host.settle(s(2), 2).len(), 2, "c was never stopped");
    assert_eq!(host.list(s(3), ["c"]), [""; 0]);
    assert!(matches!(host.pick.state(), State::Ready { .. }));
}

/// (A9) Lists that come again and again hold up no turn.
#[test]
fn rule_grpc_a9_the_same_list_again_holds_up_no_turn() {
    let mut host = Host::new(["a", "b", "c"]);
    let mut starts = host.connect(s(0));
    for now in (10..=500).step_by(10) {
        starts.extend(host.list(ms(now), ["a", "b", "c"]));
    }
    assert_eq!(starts, ["start a #0", "start b #1", "start c #2"]);
}

/// (A9) Leaving the list and coming back shortens no wait and restarts no series.
#[test]
fn rule_grpc_a9_coming_back_shortens_no_wait() {
    let mut host = Host::new(["a"]);
    host.connect(s(0));
    for (now, id) in [(s(0), 0), (s(1), 1), (ms(2_600), 2), (ms(5_160), 3)] {
        host.poll(now);
        assert_eq!(host.fail(now, id), [""; 0]);
    }
    assert_eq!(host.list(s(6), ["b"]), ["start b #4"]);
    assert_eq!(host.list(s(7), ["a"]), ["abort #4"]);
    assert_eq!(host.pick.failures(), 4);
    assert_eq!(host.poll(ms(9_255)), [""; 0]);
    assert_eq!(host.poll(ms(9_256)), ["start a #5"]);
    // Until its wait is over and MAX_BACKOFF beyond; then it is new.
    let forgotten = ms(9_256 + 6_554 + 120_000);
    assert_eq!(host.list(s(10), []), ["abort #5"]);
    assert_eq!(host.list(forgotten, ["a"]), ["start a #6"]);
    assert_eq!(host.pick.failures(), 0);
}
