use conformance::addresses::Host;
use conformance::time::{ms, s};
use grpc_backoff::{Config, ConfigError, Limit, PickFirst, State, interleave};
use std::net::SocketAddr;

/// (A1) A pass begins at the head of the list whenever a connection is wanted.
#[test]
fn rule_grpc_a1_a_pass_begins_at_the_head() {
    let mut host = Host::new(["a", "b", "c"]);
    assert_eq!(host.connect(s(0)), ["start a #0"]);
    assert_eq!(host.fail(ms(10), 0), ["start b #1"]);
    assert_eq!(host.settle(ms(20), 1), [""; 0]);
    assert!(matches!(host.pick.state(), State::Ready { .. }));
    assert_eq!(host.fail(s(100), 1), [""; 0], "lost: IDLE until wanted");
    assert_eq!(host.pick.state(), State::Idle);
    assert_eq!(host.connect(s(100)), ["start a #2"]);
}

/// (A1) A reset begins a new pass at the head, with the delay between two turns.
#[test]
fn rule_grpc_a1_a_reset_begins_a_new_pass() {
    let mut host = Host::new(["a", "b"]);
    host.connect(s(0));
    assert_eq!(host.fail(s(0), 0), ["start b #1"]);
    assert_eq!(host.fail(s(0), 1), [""; 0]);
    host.pick.reset(ms(100));
    assert_eq!(host.poll(ms(100)), ["start a #2"]);
    assert!(matches!(host.pick.state(), State::Connecting { .. }));
    assert_eq!(host.poll(ms(349)), [""; 0]);
    assert_eq!(host.poll(ms(350)), ["start b #3"]);
}

/// (A1) Families alternate, beginning with that of the first; within one the order stays.
#[test]
fn rule_grpc_a1_families_alternate() {
    let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
    let list = ["10.0.0.1:1", "10.0.0.2:1", "[::1]:1", "[::2]:1", "[::3]:1"].map(address);
    let expected = ["10.0.0.1:1", "[::1]:1", "10.0.0.2:1", "[::2]:1", "[::3]:1"].map(address);
    assert_eq!(interleave(list), expected);
    assert_eq!(interleave([]), []);
}

/// (A2) Each address backs off by itself, and has at most one attempt in flight.
#[test]
fn rule_grpc_a2_every_address_has_its_own_backoff() {
    let mut host = Host::new(["refuses", "is silent"]);
    host.connect(s(0));
    assert_eq!(host.fail(s(0), 0), ["start is silent #1"]);
    for (now, id) in [(s(1), 2), (ms(2_600), 3), (ms(5_160), 4)] {
        assert_eq!(host.poll(now), [format!("start refuses #{id}")]);
        assert_eq!(host.fail(now, id), [""; 0]);
    }
    let failures: Vec<_> = host
        .pick
        .connections()
        .map(|(_, own)| own.failures())
        .collect();
    assert_eq!((failures, host.pick.failures()), (vec![4, 0], 4));
    assert_eq!(host.pick.poll_timeout(), Some(ms(9_256)));
}

/// (A3) An address without an answer has 250 ms before the next is tried beside it.
#[test]
fn rule_grpc_a3_turns_are_250_milliseconds_apart() {
    let mut host = Host::new(["a", "b", "c"]);
    assert_eq!(host.connect(s(5)), ["start a #0"]);
    assert_eq!(host.pick.poll_timeout(), Some(ms(5_250)));
    assert_eq!(host.poll(ms(5_249)), [""; 0]);
    assert_eq!(host.poll(ms(5_250)), ["start b #1"]);
    assert_eq!(host.poll(ms(5_500)), ["start c #2"]);
    assert_eq!(
        host.pick.poll_timeout(),
        Some(s(25)),
        "the first connect deadline"
    );
    assert_eq!(host.poll(s(25)), ["abort #0", "start a #3"]);
}

/// (A3) The delay is a setting within 100 ms to 2 s, and any other value is refused by name.
#[test]
fn rule_grpc_a3_the_delay_has_limits() {
    for (delay, valid) in [(99, false), (100, true), (2_000, true), (2_001, false)] {
        let connection_attempt_delay = ms(delay);
        let config = Config {
            connection_attempt_delay,
            ..Config::GRPC
        };
        match PickFirst::new(config, ["a", "b"]) {
            Ok(_) => {
                assert!(valid, "{delay} ms");
                let mut host = Host::with(config, ["a", "b"]);
                host.connect(s(0));
                assert_eq!(host.pick.poll_timeout(), Some(ms(delay)));
            }
            Err(error) => {
                assert!(!valid, "{delay} ms");
                assert_eq!(error, ConfigError::ConnectionAttemptDelay(ms(delay)));
                assert!(
                    error.to_string().contains(&format!("{:?}", ms(delay))),
                    "{error}"
                );
            }
        }
    }
}

/// (A4) A failure of the attempt begun last gives the next address its turn; another does not.
#[test]
fn rule_grpc_a4_a_failure_starts_the_next_address_at_once() {
    let mut host = Host::new(["a", "b", "c", "d"]);
    host.connect(s(0));
    assert_eq!(host.poll(ms(250)), ["start b #1"]);
    assert_eq!(host.fail(ms(300), 0), [""; 0], "b has its time");
    assert_eq!(host.fail(ms(400), 1), ["start c #2"]);
    assert_eq!(host.poll(ms(649)), [""; 0]);
    assert_eq!(host.poll(ms(650)), ["start d #3"]);
}

/// (A4) An address that waits is passed over, and is tried when its wait ends.
#[test]
fn rule_grpc_a4_an_address_that_waits_is_passed_over() {
    let mut host = Host::new(["a", "b", "c"]);
    host.connect(s(0));
    assert_eq!(host.fail(s(0), 0), ["start b #1"]);
    host.settle(s(0), 1);
    host.fail(ms(10), 1);
    // a has failed and b keeps its distance from its last start: only c may be dialled.
    assert_eq!(host.connect(ms(20)), ["start c #2"]);
    assert_eq!(host.poll(s(1)), ["start a #3", "start b #4"]);
}

/// (A4) A black hole at the head is not dialled again before the others had their turn, though its
/// own wait was over long ago.
#[test]
fn rule_grpc_a4_who_has_failed_lets_the_others_have_their_turn() {
    let mut config = Config::GRPC;
    config.min_connect_timeout = s(1); // the first backoff is no longer
    let mut host = Host::with(config, ["a", "b", "c", "d", "e", "f"]);
    host.connect(s(0));
    for (at, address) in [(250, "b"), (500, "c"), (750, "d")] {
        assert_eq!(host.poll(ms(at)).len(), 1, "{address}");
    }
    assert_eq!(host.poll(s(1)), ["abort #0", "start e #4"]);
    assert_eq!(host.poll(ms(1_250)), ["abort #1", "start f #5"]);
    assert_eq!(host.pick.poll_timeout(), Some(ms(1_500)));
    assert_eq!(host.poll(ms(1_499)), [""; 0]);
    let again = host.poll(ms(1_500));
    assert_eq!(
        again,
        ["abort #2", "start a #6", "start b #7", "start c #8"]
    );
}

/// (A5) The first SETTINGS wins, and every other attempt is cancelled: no failure, no success.
#[test]
fn rule_grpc_a5_the_first_settings_wins() {
    let mut host = Host::new(["a", "b", "c"]);
    host.connect(s(0));
    host.poll(ms(250));
    host.poll(ms(500));
    let mut aborts = host.settle(ms(600), 1);
    aborts.sort();
    assert_eq!(aborts, ["abort #0", "abort #2"]);
    let attempt = host.id(1);
    assert_eq!(
        host.pick.state(),
        State::Ready {
            attempt,
            since: ms(600)
        }
    );
    assert_eq!((host.pick.failures(), host.pick.poll_timeout()), (0, None));
    let late = host.pick.handle_settings(ms(601), host.id(0));
    assert_eq!(late, grpc_backoff::Verdict::Stale);
}

/// (A6) A pass has failed once every address has; then each is tried when its own wait ends, and
/// the state is TRANSIENT_FAILURE until READY.
#[test]
fn rule_grpc_a6_a_failed_pass_is_a_transient_failure_until_ready() {
    let mut host = Host::new(["a", "b"]);
    host.connect(s(0));
    assert_eq!(host.poll(ms(250)), ["start b #1"]);
    host.fail(ms(300), 1);
    assert!(
        matches!(host.pick.state(), State::Connecting { .. }),
        "a has not failed yet"
    );
    host.fail(ms(400), 0);
    assert_eq!(host.pick.state(), State::TransientFailure { until: s(1) });
    assert_eq!(host.poll(s(1)), ["start a #2"]);
    assert_eq!(
        host.pick.state(),
        State::TransientFailure { until: ms(1_250) }
    );
    assert_eq!(host.poll(ms(1_250)), ["start b #3"]);
    // Both are in flight: nothing starts before the first connect deadline.
    assert_eq!(host.pick.next_start(), None);
    assert_eq!(host.pick.state(), State::TransientFailure { until: s(21) });
    assert_eq!(host.settle(s(2), 3), ["abort #2"]);
    assert!(matches!(host.pick.state(), State::Ready { .. }));
}

/// (A6) Nobody wanting a connection ends it too: the next run is CONNECTING again.
#[test]
fn rule_grpc_a6_a_new_run_is_no_failure() {
    let mut host = Host::new(["a", "b"]);
    host.connect(s(0));
    host.fail(s(0), 0);
    host.fail(s(0), 1);
    host.pick.withdraw(s(0));
    assert_eq!(host.pick.state(), State::Idle);
    // Before their waits are over the pass has failed when it begins.
    assert_eq!(host.connect(ms(500)), [""; 0]);
    assert_eq!(host.pick.state(), State::TransientFailure { until: s(1) });
    host.pick.withdraw(ms(500));
    assert_eq!(host.connect(s(60)), ["start a #2"]);
    assert!(matches!(host.pick.state(), State::Connecting { .. }));
}

/// (D15) A dispersed reset gives each address a point of its own, the first by the draw itself.
#[test]
fn rule_grpc_d15_each_address_has_its_own_point_of_the_window() {
    let mut host = Host::new(["a", "b", "c"]);
    host.connect(s(0));
    for id in 0..3 {
        host.fail(s(0), id);
    }
    host.pick.reset_within(s(0), ms(900), 1 << 62);
    let waits: Vec<_> = (host.pick.connections())
        .map(|(_, own)| own.snapshot(s(0)).wait.as_millis())
        .collect();
    // A quarter, and then further by the golden ratio, around the window.
    assert_eq!(waits, [225, 781, 437]);
}

/// (A10) The whole gives up when every address has, and a run that another address ends lets
/// those that gave up try again.
#[test]
fn rule_grpc_a10_it_gives_up_when_every_address_has() {
    let max_attempts = 1.try_into().ok();
    let mut host = Host::with(
        Config {
            max_attempts,
            ..Config::GRPC
        },
        ["a", "b"],
    );
    host.connect(s(0));
    assert_eq!(host.fail(s(0), 0), ["start b #1"]);
    host.settle(s(0), 1);
    host.fail(s(10), 1);
    assert_eq!(host.connect(s(10)), ["start a #2"]);
    assert_eq!(host.fail(s(10), 2), ["start b #3"]);
    host.fail(s(10), 3);
    assert_eq!(
        host.pick.state(),
        State::GaveUp {
            limit: Limit::Attempts
        }
    );
    assert_eq!(
        (host.pick.is_wanted(), host.pick.poll_timeout()),
        (false, None)
    );
    assert_eq!(host.connect(s(1_000)), [""; 0]);
    host.pick.reset(s(1_000));
    assert_eq!(host.connect(s(1_000)), ["start a #4"]);
}

/// (A10) The time limit counts for all from when a connection is wanted, whoever's turn it is.
#[test]
fn rule_grpc_a10_the_time_limit_counts_from_when_a_connection_is_wanted() {
    for addresses in [&["a"][..], &["a", "b", "c", "d"], &[]] {
        let max_elapsed = Some(ms(600));
        let config = Config {
            max_elapsed,
            ..Config::GRPC
        };
        let mut host = Host::with(config, addresses.iter().copied());
        host.connect(s(1));
        host.poll(ms(1_250));
        host.poll(ms(1_500));
        assert!(host.pick.poll_timeout().is_some_and(|at| at <= ms(1_600)));
        host.poll(ms(1_600));
        let limit = Limit::Elapsed;
        assert_eq!(host.pick.state(), State::GaveUp { limit }, "{addresses:?}");
        assert_eq!(host.pick.poll_timeout(), None);
    }
}
