use conformance::draws::middle;
use conformance::grpc::{actions, fail, fail_times, lose, settle, started, with};
use conformance::time::{ms, s};
use grpc_backoff::{Config, Connection, Limit, State};
use std::time::Duration;

fn limited(max_attempts: Option<u32>, max_elapsed: Option<Duration>) -> Connection {
    with(|config| {
        config.max_attempts = max_attempts.map(|n| n.try_into().expect("not zero"));
        config.max_elapsed = max_elapsed;
    })
}

fn assert_gave_up(connection: &mut Connection, limit: Limit) {
    assert_eq!(connection.state(), State::GaveUp { limit });
    assert_eq!(connection.poll_timeout(), None);
    connection.connect(s(1_000));
    assert_eq!(actions(connection, s(1_000), middle), [], "it is final");
    connection.reset(s(1_000));
    assert_eq!(connection.state(), State::Idle, "until a reset");
    assert_eq!(
        actions(connection, s(1_000), middle),
        [],
        "which alone starts nothing"
    );
    connection.connect(s(1_000));
    assert_eq!(started(connection, s(1_000)).backoff, s(1));
}

/// (D11) After `max_attempts` failures in a row it gives up, and says so.
#[test]
fn rule_grpc_d11_the_attempts_limit_is_a_reported_end() {
    for limit in [1, 2, 5] {
        let mut connection = limited(Some(limit), None);
        fail_times(&mut connection, limit - 1);
        assert!(!matches!(connection.state(), State::GaveUp { .. }));
        fail_times(&mut connection, limit);
        assert_eq!(connection.attempts(), u64::from(limit));
        assert_gave_up(&mut connection, Limit::Attempts);
    }
}

/// (D11) A success starts the count again.
#[test]
fn rule_grpc_d11_the_attempts_limit_counts_failures_in_a_row() {
    let mut connection = limited(Some(3), None);
    for round in 0..10 {
        let now = s(round * 100);
        connection.connect(now);
        let first = started(&mut connection, now);
        fail(&mut connection, now, first.attempt);
        let second = started(&mut connection, now + s(30));
        fail(&mut connection, now + s(30), second.attempt);
        let third = started(&mut connection, now + s(60));
        settle(&mut connection, now + s(60), third.attempt);
        lose(&mut connection, now + s(90), third.attempt);
    }
}

/// (D11) `max_elapsed` ends a wait that cannot fit at once, and an attempt at the limit.
#[test]
fn rule_grpc_d11_the_time_limit_is_a_reported_end() {
    // 1 s + 1.6 s: the third start would be at 2.6 s.
    for (limit, third) in [(ms(2_600), false), (ms(2_601), true)] {
        let mut connection = limited(None, Some(limit));
        fail_times(&mut connection, 1);
        let second = started(&mut connection, s(1));
        assert_eq!(second.deadline, limit, "no attempt outlasts it");
        fail(&mut connection, s(1), second.attempt);
        if third {
            let third = started(&mut connection, ms(2_600));
            assert_eq!(
                actions(&mut connection, third.deadline, middle).len(),
                1,
                "an abort"
            );
        }
        assert_gave_up(&mut connection, Limit::Elapsed);
    }
}

/// (D11) The time limit counts while a connection is wanted and missing, and from a reset anew.
#[test]
fn rule_grpc_d11_the_time_limit_counts_from_the_want() {
    let mut connection = limited(None, Some(s(10)));
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    settle(&mut connection, s(5), first.attempt);
    lose(&mut connection, s(500), first.attempt);
    connection.connect(s(500));
    assert_eq!(started(&mut connection, s(500)).deadline, s(510));
    assert!(connection.withdraw(s(501)).is_some());
    connection.connect(s(600));
    connection.reset(s(605));
    assert_eq!(started(&mut connection, s(605)).deadline, s(615));
}

/// (D11) A host that slept through the limit is told so; nothing starts late.
#[test]
fn rule_grpc_d11_no_attempt_starts_after_the_time_limit() {
    let mut connection = limited(None, Some(s(10)));
    fail_times(&mut connection, 1);
    assert_eq!(actions(&mut connection, s(3_600), middle), []);
    assert_gave_up(&mut connection, Limit::Elapsed);
}

/// (D11) Saying again that a connection is wanted does not extend the limit.
#[test]
fn rule_grpc_d11_wanting_again_does_not_extend_the_time_limit() {
    let mut connection = limited(None, Some(s(10)));
    connection.connect(s(0));
    started(&mut connection, s(0));
    assert!(connection.withdraw(s(0)).is_some());
    connection.connect(ms(100));
    connection.connect(ms(500));
    assert_eq!(started(&mut connection, s(1)).deadline, ms(10_100));
}

/// (D11) A wait that the guard against flapping imposes is not begun either, if it cannot end
/// before the limit.
#[test]
fn rule_grpc_d11_a_wait_in_idle_that_cannot_fit_is_not_begun() {
    for (limit, fits) in [(ms(400), false), (s(1), false), (ms(1_001), true)] {
        let mut connection = limited(None, Some(limit));
        connection.connect(s(0));
        let first = started(&mut connection, s(0));
        settle(&mut connection, s(0), first.attempt);
        lose(&mut connection, s(0), first.attempt);
        connection.connect(s(0));
        if fits {
            assert_eq!(connection.poll_timeout(), Some(s(1)), "the guard's wait");
        } else {
            assert_gave_up(&mut connection, Limit::Elapsed);
        }
    }
}

/// (D11) Nor is a wait that was kept over a restart. No deadline is ever that of giving up.
#[test]
fn rule_grpc_d11_a_restored_wait_that_cannot_fit_is_not_begun() {
    let mut connection = limited(None, Some(s(10)));
    let fourth = fail_times(&mut connection, 4); // 4.096 s left
    let snapshot = connection.snapshot(fourth);
    for (limit, fits) in [(ms(4_096), false), (ms(4_097), true)] {
        let config = Config {
            max_elapsed: Some(limit),
            ..Config::GRPC
        };
        let mut restored = Connection::restore(config, s(0), snapshot).expect("valid");
        restored.connect(s(0));
        assert_eq!(restored.poll_timeout(), fits.then_some(ms(4_096)));
        if !fits {
            assert_gave_up(&mut restored, Limit::Elapsed);
        }
    }
}
