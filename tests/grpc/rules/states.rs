use conformance::draws::middle;
use conformance::grpc::{actions, fail, fail_times, lose, machine, settle, started, with};
use conformance::time::{ms, s};
use grpc_backoff::{Abort, Reset, State};

/// (C1) Every failure passes through TRANSIENT_FAILURE, even for a wait of zero.
#[test]
fn rule_grpc_c1_every_failure_passes_through_transient_failure() {
    let mut connection = machine();
    assert_eq!(connection.state(), State::Idle);
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    assert!(matches!(connection.state(), State::Connecting { .. }));
    fail(&mut connection, s(10), first.attempt);
    assert_eq!(connection.state(), State::TransientFailure { until: s(10) });

    let second = started(&mut connection, s(10));
    // The abort at the connect deadline is a failure too, seen between two actions.
    let abort = connection.poll_action(second.deadline, middle);
    assert_eq!(
        abort,
        Some(grpc_backoff::Action::Abort(Abort {
            attempt: second.attempt
        }))
    );
    assert_eq!(
        connection.state(),
        State::TransientFailure {
            until: second.deadline
        }
    );
}

/// (C1) SHUTDOWN is final, from every state.
#[test]
fn rule_grpc_c1_shutdown_is_final() {
    let idle = machine();
    let mut failed = machine();
    fail_times(&mut failed, 3);
    let mut connecting = machine();
    connecting.connect(s(0));
    let first = started(&mut connecting, s(0));
    let mut ready = connecting.clone();
    settle(&mut ready, s(1), first.attempt);
    let abort = Some(Abort {
        attempt: first.attempt,
    });

    for (mut connection, expected) in [
        (idle, None),
        (failed, None),
        (connecting, abort),
        (ready, abort),
    ] {
        assert_eq!(connection.shutdown(), expected);
        connection.connect(s(200));
        connection.reset(s(200));
        assert_eq!(connection.retarget(s(200)), None);
        assert_eq!(connection.withdraw(s(200)), None);
        assert_eq!(connection.shutdown(), None);
        assert_eq!(connection.state(), State::Shutdown);
        assert_eq!(connection.poll_timeout(), None);
        assert_eq!(actions(&mut connection, s(100_000), middle), []);
    }
}

/// (C2) A READY connection that is lost goes to IDLE, and connects again only when wanted.
#[test]
fn rule_grpc_c2_a_lost_connection_is_idle_until_wanted() {
    let mut connection = machine();
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    settle(&mut connection, s(1), first.attempt);
    connection.connect(s(2)); // there is one already
    lose(&mut connection, s(10), first.attempt);
    assert_eq!(connection.state(), State::Idle);
    assert_eq!(connection.poll_timeout(), None);
    assert_eq!(actions(&mut connection, s(1_000), middle), []);
    connection.connect(s(1_000));
    started(&mut connection, s(1_000));
}

/// (C4) A reset wakes a machine in TRANSIENT_FAILURE now and restarts the series.
#[test]
fn rule_grpc_c4_a_reset_wakes_and_restarts_the_series() {
    let mut connection = machine();
    let last = fail_times(&mut connection, 9);
    assert!(connection.poll_timeout().expect("wanted") > last + s(40));
    connection.reset(last + s(1));
    assert_eq!(connection.failures(), 0);
    let next = started(&mut connection, last + s(1));
    assert_eq!(next.backoff, s(1), "the series restarted");
    fail(&mut connection, last + s(1), next.attempt);
    assert_eq!(
        connection.poll_timeout(),
        Some(last + s(2)),
        "and only once"
    );
}

/// (C4) It restarts the series whatever the state, and never starts what nobody wants.
#[test]
fn rule_grpc_c4_a_reset_counts_in_every_state() {
    let mut connection = machine();
    let now = fail_times(&mut connection, 5);
    assert_eq!(connection.withdraw(now), None);
    connection.reset(now); // unwanted: it wakes to IDLE
    assert_eq!(actions(&mut connection, now, middle), []);
    assert_eq!(connection.state(), State::Idle);

    connection.connect(now);
    let start = started(&mut connection, now);
    assert_eq!(start.backoff, s(1));
    settle(&mut connection, now, start.attempt);
    connection.reset(now);
    assert!(matches!(connection.state(), State::Ready { .. }));

    // A reset ends the guard's wait as well.
    lose(&mut connection, now + ms(1), start.attempt);
    connection.connect(now + ms(1));
    assert_eq!(connection.poll_timeout(), Some(now + s(1)));
    connection.reset(now + ms(2));
    started(&mut connection, now + ms(2));
}

/// (C4) A reset in READY restarts the series, `AfterStable` or not; the guard stays.
#[test]
fn rule_grpc_c4_a_reset_in_ready_leaves_the_guard() {
    let mut connection = with(|config| config.reset = Reset::AfterStable(s(60)));
    fail_times(&mut connection, 5);
    let now = connection.poll_timeout().expect("wanted");
    let sixth = started(&mut connection, now);
    settle(&mut connection, now, sixth.attempt);
    connection.reset(now);
    lose(&mut connection, now + ms(1), sixth.attempt);
    connection.connect(now + ms(1));
    assert_eq!(connection.poll_timeout(), Some(now + s(1)));
    assert_eq!(started(&mut connection, now + s(1)).backoff, s(1));
}
