use conformance::draws::middle;
use conformance::grpc::{actions, fail, fail_times, lose, machine, settle, started, with};
use conformance::time::{ms, ns, s};
use grpc_backoff::{Abort, Action, Config, Connection, Limit, Reset, State, Timing, Verdict};
use std::time::Duration;

/// (D5) After a reset in flight a failure is followed at once, by the first delay again.
#[test]
fn rule_grpc_d5_a_reset_in_flight_restarts_the_series() {
    for timing in [Timing::FromStart, Timing::FromFailure] {
        let mut connection = with(|config| config.timing = timing);
        fail_times(&mut connection, 9);
        let now = connection.poll_timeout().expect("wanted");
        let tenth = started(&mut connection, now);
        connection.reset(now + s(1));
        assert_eq!(
            connection.poll_timeout(),
            Some(tenth.deadline),
            "it goes on as before"
        );
        fail(&mut connection, now + s(2), tenth.attempt);
        let next = started(&mut connection, now + s(2));
        assert_eq!(next.backoff, s(1), "{timing:?}");
        fail(&mut connection, now + s(2), next.attempt);
        assert_eq!(
            connection.poll_timeout(),
            Some(now + s(3)),
            "the reset counted once"
        );
    }
}

/// (D6) One outcome per attempt: a late one changes nothing, and says to close that connection.
#[test]
fn rule_grpc_d6_a_late_outcome_changes_nothing() {
    let mut connection = machine();
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    let second = started(&mut connection, first.deadline);
    assert!(first.attempt < second.attempt);

    let before = (
        connection.state(),
        connection.failures(),
        connection.poll_timeout(),
    );
    let now = first.deadline + s(1);
    for verdict in [
        connection.handle_settings(now, first.attempt),
        connection.handle_failed(now, first.attempt),
        connection.handle_lost(now, first.attempt),
    ] {
        assert_eq!(verdict, Verdict::Stale);
    }
    assert_eq!(
        (
            connection.state(),
            connection.failures(),
            connection.poll_timeout()
        ),
        before
    );

    settle(&mut connection, now, second.attempt);
    assert_eq!(
        connection.handle_settings(now, second.attempt),
        Verdict::Stale,
        "it had its outcome"
    );
    assert!(matches!(connection.state(), State::Ready { .. }));
}

/// (D6) The current attempt's end counts by whatever name: the host need not know how far it
/// had come.
#[test]
fn rule_grpc_d6_an_end_counts_whatever_it_is_called() {
    let mut connection = machine();
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    lose(&mut connection, ms(100), first.attempt); // it was never READY
    assert_eq!(connection.failures(), 1);
    assert_eq!(
        connection.state(),
        State::TransientFailure { until: s(1) },
        "a failure"
    );
    let second = started(&mut connection, s(1));
    settle(&mut connection, s(2), second.attempt);
    fail(&mut connection, s(60), second.attempt); // it is READY
    assert_eq!(
        (connection.state(), connection.failures()),
        (State::Idle, 0)
    );
    connection.connect(s(60));
    assert_eq!(started(&mut connection, s(60)).backoff, s(1), "a loss");
}

/// (D6) SETTINGS counts until the machine has asked to abort, even past the deadline.
#[test]
fn rule_grpc_d6_an_attempt_lives_until_it_is_aborted() {
    let mut connection = machine();
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    settle(&mut connection, first.deadline + s(5), first.attempt);
    assert_eq!(actions(&mut connection, s(100), middle), []);
}

/// (D7) From any failure a new start follows within 1.2 x 120 s, and never two are in flight.
#[test]
fn rule_grpc_d7_a_start_follows_every_failure_within_144_seconds() {
    let mut connection = machine();
    connection.connect(s(0));
    let mut failed_at = s(0);
    for _ in 0..50 {
        let now = connection
            .poll_timeout()
            .expect("CONNECTING and TRANSIENT_FAILURE have a deadline");
        assert!(now - failed_at <= s(144));
        let [Action::Start(start)] = actions(&mut connection, now, || u64::MAX)[..] else {
            panic!("a start")
        };
        assert!(connection.poll_timeout().is_some());
        connection.connect(now); // wanting twice starts nothing
        assert_eq!(actions(&mut connection, now, middle), []);
        failed_at = now + ms(10);
        fail(&mut connection, failed_at, start.attempt);
    }
}

/// (D7) A deadline at the end of time never comes, so no loop around the machine spins there.
#[test]
fn rule_grpc_d7_the_end_of_time_never_comes() {
    let almost = ns(u64::MAX - 1);
    let mut connection = machine();
    connection.connect(almost);
    let start = started(&mut connection, almost);
    assert_eq!(start.deadline, Duration::MAX);
    for now in [almost, ns(u64::MAX), Duration::MAX] {
        assert_eq!(actions(&mut connection, now, middle), []);
        assert_eq!(connection.poll_timeout(), None);
    }
    fail(&mut connection, Duration::MAX, start.attempt);
    assert_eq!(actions(&mut connection, Duration::MAX, middle), []);
    assert_eq!(
        connection.explain(Duration::MAX).to_string(),
        "TRANSIENT_FAILURE after 1 failure; no next attempt before the end of time"
    );

    let mut late = machine();
    late.connect(Duration::MAX);
    assert_eq!(actions(&mut late, Duration::MAX, middle), []);
}

/// (D8) Nobody watches a failure that nobody waits for: the state is IDLE at once.
#[test]
fn rule_grpc_d8_a_withdrawn_machine_is_idle() {
    let mut connection = machine();
    fail_times(&mut connection, 1);
    assert!(matches!(connection.state(), State::TransientFailure { .. }));
    assert_eq!(connection.withdraw(ms(50)), None);
    assert_eq!(connection.state(), State::Idle);
    assert_eq!(connection.poll_timeout(), None, "there is nothing to do");
    assert_eq!(connection.snapshot(ms(50)).wait, ms(950), "and it waits");
}

/// (D8) Withdrawn, the wait still counts: wanting again before its end does not shorten it, and
/// after its end starts at once.
#[test]
fn rule_grpc_d8_a_withdrawn_wait_still_counts() {
    for wanted_again in [ms(100), ms(900), s(1), s(30)] {
        let mut connection = machine();
        fail_times(&mut connection, 1);
        assert_eq!(connection.withdraw(ms(50)), None);
        for now in [ms(60), wanted_again] {
            assert_eq!(
                actions(&mut connection, now, middle),
                [],
                "nobody wants one"
            );
        }
        connection.connect(wanted_again);
        let expected = wanted_again.max(s(1));
        assert_eq!(connection.poll_timeout(), Some(expected));
        assert_eq!(
            started(&mut connection, expected).backoff,
            ns(1_600_000_000),
            "the series goes on"
        );
    }
}

/// (D9) A server that accepts and drops at once is dialled a first delay after the last start.
#[test]
fn rule_grpc_d9_a_flapping_server_sees_one_connection_a_second() {
    let mut connection = machine();
    fail_times(&mut connection, 8);
    let mut now = connection.poll_timeout().expect("wanted");
    for _ in 0..20 {
        // It is a jittered INITIAL, however large the attempt's own delay.
        let [Action::Start(start)] = actions(&mut connection, now, || 0)[..] else {
            panic!("a start")
        };
        settle(&mut connection, now, start.attempt);
        lose(&mut connection, now + ms(1), start.attempt);
        connection.connect(now + ms(1));
        assert_eq!(connection.poll_timeout(), Some(now + ms(800)));
        now += ms(800);
    }
}

/// (D9) `AfterStable`: only a connection that stayed up resets the series; one lost sooner
/// leaves it where a failure would.
#[test]
fn rule_grpc_d9_after_stable_resets_only_after_that_time() {
    for (up, next_backoff) in [(s(30) - ns(1), ns(4_096_000_000)), (s(30), s(1))] {
        let mut connection = with(|config| config.reset = Reset::AfterStable(s(30)));
        fail_times(&mut connection, 2);
        let now = connection.poll_timeout().expect("wanted");
        let third = started(&mut connection, now);
        settle(&mut connection, now, third.attempt);
        lose(&mut connection, now + up, third.attempt);
        connection.connect(now + up);
        assert_eq!(
            started(&mut connection, now + up).backoff,
            next_backoff,
            "up for {up:?}"
        );
    }
    let mut connection = with(|config| config.reset = Reset::AfterStable(s(30)));
    fail_times(&mut connection, 4);
    let now = connection.poll_timeout().expect("wanted");
    let fifth = started(&mut connection, now);
    settle(&mut connection, now, fifth.attempt);
    lose(&mut connection, now + s(1), fifth.attempt);
    connection.connect(now + s(1));
    assert_eq!(
        connection.poll_timeout(),
        Some(now + fifth.backoff),
        "its own delay, 6.5536 s"
    );
}

/// (D9) With `AfterStable`, what is lost too soon is a failure for `max_attempts` as well.
#[test]
fn rule_grpc_d9_what_is_lost_too_soon_counts_as_a_failure() {
    let mut connection = with(|config| {
        config.reset = Reset::AfterStable(s(30));
        config.max_attempts = 3.try_into().ok();
    });
    connection.connect(s(0));
    for failures in 1..=3 {
        let now = connection.poll_timeout().expect("wanted");
        let start = started(&mut connection, now);
        settle(&mut connection, now, start.attempt);
        lose(&mut connection, now + ms(1), start.attempt);
        assert_eq!(connection.failures(), failures);
        connection.connect(now + ms(1));
    }
    let limit = Limit::Attempts;
    assert_eq!(connection.state(), State::GaveUp { limit });
}

/// (D10) A snapshot holds spans, so it is restored under another clock: what is left is waited.
#[test]
fn rule_grpc_d10_a_restored_machine_waits_what_is_left() {
    let mut connection = machine();
    let last = fail_times(&mut connection, 8);
    let left = connection.poll_timeout().expect("wanted") - (last + s(3));
    let snapshot = connection.snapshot(last + s(3));
    assert_eq!((snapshot.failures, snapshot.wait), (8, left));
    assert_eq!(snapshot.attempts, 8);

    let mut restored = Connection::restore(Config::GRPC, s(1_000), snapshot).expect("valid");
    restored.connect(s(1_000));
    assert_eq!(restored.poll_timeout(), Some(s(1_000) + left));
    let ninth = started(&mut restored, s(1_000) + left);
    assert_eq!(ninth.backoff, ns(42_949_672_960), "the ninth delay");
    assert_eq!(ninth.attempt.get(), 8, "no id is given twice");
}

/// (D10) Giving up forgets no wait: a restored machine may try again, but not at once.
#[test]
fn rule_grpc_d10_a_machine_that_gave_up_waits_when_restored() {
    let attempts = |config: &mut Config| config.max_attempts = 9.try_into().ok();
    let elapsed = |config: &mut Config| config.max_elapsed = Some(s(80));
    for mut connection in [with(attempts), with(elapsed)] {
        let config = connection.config();
        let ninth = fail_times(&mut connection, 9);
        assert!(matches!(connection.state(), State::GaveUp { .. }));
        let snapshot = connection.snapshot(ninth + s(1));
        assert_eq!(snapshot.wait, ns(42_949_672_960) - s(1));
        let mut restored = Connection::restore(config, s(0), snapshot).expect("valid");
        assert_eq!(restored.state(), State::Idle);
        restored.connect(s(0));
        assert_eq!(restored.poll_timeout(), Some(snapshot.wait));
    }
}

/// (D10) Nothing stored makes a machine wait longer than its longest delay.
#[test]
fn rule_grpc_d10_a_restored_wait_is_never_longer_than_the_longest_delay() {
    let mut snapshot = machine().snapshot(s(0));
    snapshot.wait = Duration::MAX;
    snapshot.backoff = Some(Duration::MAX);
    let mut restored = Connection::restore(Config::GRPC, s(0), snapshot).expect("valid");
    restored.connect(s(0));
    assert_eq!(restored.poll_timeout(), Some(s(144)));
    assert_eq!(started(&mut restored, s(144)).backoff, s(120));
}

/// (D12) A cancelled attempt is neither success nor failure; starts stay spaced all the same.
#[test]
fn rule_grpc_d12_a_cancelled_attempt_does_not_count() {
    let mut connection = machine();
    fail_times(&mut connection, 3);
    let now = connection.poll_timeout().expect("wanted");
    let fourth = started(&mut connection, now);
    assert_eq!(
        connection.withdraw(now + s(1)),
        Some(Abort {
            attempt: fourth.attempt
        })
    );
    assert_eq!(
        (connection.state(), connection.failures()),
        (State::Idle, 3)
    );
    assert_eq!(
        connection.handle_settings(now + s(1), fourth.attempt),
        Verdict::Stale
    );

    connection.connect(now + s(1));
    let next = now + fourth.backoff;
    assert_eq!(connection.poll_timeout(), Some(next), "as if it had failed");
    assert_eq!(
        started(&mut connection, next).backoff,
        fourth.backoff,
        "as if it had not"
    );
}

/// (D13) A connection may be used before SETTINGS; the backoff does not care, and resets only
/// when SETTINGS arrives.
#[test]
fn rule_grpc_d13_usable_for_calls_and_reset_are_two_facts() {
    // Calls go out while the machine is still CONNECTING; the server answers with SETTINGS late.
    let mut connection = machine();
    fail_times(&mut connection, 2);
    let now = connection.poll_timeout().expect("wanted");
    let third = started(&mut connection, now);
    assert_eq!(actions(&mut connection, now + s(15), middle), []);
    assert_eq!(connection.failures(), 2, "in use, and not reset");
    let mut dies = connection.clone();
    settle(&mut connection, now + s(15), third.attempt);
    assert_eq!(connection.failures(), 0);

    fail(&mut dies, now + s(15), third.attempt); // in use, but never accepted
    assert_eq!(dies.failures(), 3);
}
