use conformance::draws::{Draws, middle};
use conformance::grpc::{actions, fail, fail_times, lose, machine, settle, started};
use conformance::time::{ms, ns, s};
use grpc_backoff::{
    Action, Config, Connection, FirstDelay, FlapGuard, Ratio, Reset, State, Timing,
};
use std::time::Duration;

/// (S1) After a failed attempt the next one waits, each time longer.
#[test]
fn rule_grpc_s1_a_failed_attempt_is_not_retried_at_once() {
    let mut connection = machine();
    connection.connect(s(0));
    let (mut now, mut last_gap) = (s(0), s(0));
    for _ in 0..11 {
        let start = started(&mut connection, now);
        fail(&mut connection, now, start.attempt);
        assert_eq!(actions(&mut connection, now, middle), [], "not at once");
        let next = connection.poll_timeout().expect("wanted");
        assert!(next - now > last_gap, "exponential: {now:?} to {next:?}");
        (last_gap, now) = (next - now, next);
    }
}

/// (S2) The document's values are the default.
#[test]
fn rule_grpc_s2_the_default_values_are_the_documents() {
    let config = Config::default();
    assert_eq!(config.initial_backoff, s(1));
    assert_eq!(config.multiplier, Ratio::new(8, 5));
    assert_eq!(config.jitter, Ratio::new(1, 5));
    assert_eq!(config.max_backoff, s(120));
    assert_eq!(config.min_connect_timeout, s(20));
    assert_eq!(config, Config::GRPC);
}

/// (S3) What is spaced is the starts: a failure after 0.7 s does not push the next start back.
#[test]
fn rule_grpc_s3_starts_are_spaced_not_gaps_after_failures() {
    for fails_after in [ms(0), ms(700), ms(999)] {
        let mut connection = machine();
        connection.connect(s(5));
        let first = started(&mut connection, s(5));
        fail(&mut connection, s(5) + fails_after, first.attempt);
        assert_eq!(connection.poll_timeout(), Some(s(6)), "{fails_after:?}");
    }
}

/// (S4) The first attempt starts at once and its backoff deadline is its start + INITIAL.
#[test]
fn rule_grpc_s4_the_first_attempt_starts_at_once() {
    let mut connection = machine();
    connection.connect(s(7));
    assert_eq!(connection.poll_timeout(), Some(s(7)));
    let first = started(&mut connection, s(7));
    assert_eq!(first.backoff, Config::GRPC.initial_backoff);
    fail(&mut connection, ms(7_400), first.attempt);
    assert_eq!(
        connection.state(),
        State::TransientFailure { until: s(7 + 1) }
    );
}

/// (S5) The connect deadline is max(backoff deadline, start + MIN_CONNECT_TIMEOUT), up to
/// SETTINGS; there the attempt is aborted.
#[test]
fn rule_grpc_s5_the_connect_deadline_is_the_later_of_two() {
    // failures before, its delay: 1.6^7 s is above 20 s, the ones before are below.
    for (failures, backoff) in [(0, s(1)), (6, ns(16_777_216_000)), (7, ns(26_843_545_600))] {
        let mut connection = machine();
        fail_times(&mut connection, failures);
        connection.connect(s(0));
        let now = connection.poll_timeout().expect("wanted");
        let start = started(&mut connection, now);
        assert_eq!(start.backoff, backoff, "after {failures} failures");
        assert_eq!(
            start.deadline,
            now + backoff.max(s(20)),
            "after {failures} failures"
        );

        assert_eq!(actions(&mut connection, start.deadline - ns(1), middle), []);
        let [Action::Abort(abort), Action::Start(_)] =
            actions(&mut connection, start.deadline, middle)[..]
        else {
            panic!("the attempt is aborted and the next one starts");
        };
        assert_eq!(abort.attempt, start.attempt);
    }
}

/// (S6) After a failure the machine waits until the backoff deadline; a late failure is followed
/// at once.
#[test]
fn rule_grpc_s6_it_waits_until_the_backoff_deadline_or_not_at_all() {
    for (fails_at, next) in [
        (ms(300), s(1)),
        (ms(999), s(1)),
        (s(1), s(1)),
        (s(15), s(15)),
    ] {
        let mut connection = machine();
        connection.connect(s(0));
        let first = started(&mut connection, s(0));
        fail(&mut connection, fails_at, first.attempt);
        assert_eq!(
            connection.poll_timeout(),
            Some(next),
            "failed at {fails_at:?}"
        );
        assert_eq!(actions(&mut connection, next - ns(1), middle), []);
        started(&mut connection, next);
    }
}

/// (S7) Each delay is the one before jitter, times MULTIPLIER, at most MAX, and JITTER of it
/// either way.
#[test]
fn rule_grpc_s7_delays_grow_by_the_multiplier_and_are_jittered() {
    for (draw, fifths) in [(0, 4), (1 << 63, 5), (u64::MAX, 6)] {
        let mut connection = machine();
        connection.connect(s(0));
        let mut before_jitter = 1_000_000_000;
        for attempt in 0..14 {
            let now = connection.poll_timeout().expect("wanted");
            let [Action::Start(start)] = actions(&mut connection, now, || draw)[..] else {
                panic!("a start")
            };
            let fifth = before_jitter / 5;
            let expected = before_jitter - 5 * fifth + fifths * fifth;
            assert_eq!(
                start.backoff,
                ns(expected),
                "attempt {attempt}, draw {draw:#x}"
            );
            fail(&mut connection, now, start.attempt);
            assert_eq!(connection.poll_timeout(), Some(now + start.backoff));
            before_jitter = (before_jitter * 8 / 5).min(120_000_000_000);
        }
    }
}

/// (S8) MAX caps the value before jitter, so delays reach 144 s, and jitter never compounds:
/// after high draws the middle one gives the plain value.
#[test]
fn rule_grpc_s8_the_cap_is_before_jitter_and_jitter_never_compounds() {
    let mut connection = machine();
    connection.connect(s(0));
    let mut delay_of = |draw: u64| {
        let now = connection.poll_timeout().expect("wanted");
        let [Action::Start(start)] = actions(&mut connection, now, || draw)[..] else {
            panic!("a start")
        };
        fail(&mut connection, now, start.attempt);
        start.backoff
    };
    for _ in 0..5 {
        delay_of(u64::MAX);
    }
    assert_eq!(delay_of(1 << 63), ns(10_485_760_000), "1.6^5 s");
    for _ in 6..11 {
        delay_of(u64::MAX);
    }
    assert_eq!(delay_of(u64::MAX), s(144));
    assert_eq!(delay_of(0), s(96));
}

/// (S9) The delay after an attempt is drawn when that attempt starts, once, since it feeds the
/// connect deadline too.
#[test]
fn rule_grpc_s9_the_delay_is_drawn_once_when_the_attempt_starts() {
    let mut config = Config::GRPC;
    config.min_connect_timeout = ms(1);
    let mut connection = Connection::new(config).expect("valid");
    let mut draws = 0;
    let mut now = s(0);
    connection.connect(now);
    for attempt in 1..=100 {
        let mut start = None;
        for action in actions(&mut connection, now, || {
            draws += 1;
            u64::MAX
        }) {
            if let Action::Start(started) = action {
                start = Some(started);
            }
        }
        let start = start.expect("an attempt is due");
        assert_eq!(draws, attempt, "one draw per start, none for an abort");
        assert_eq!(
            start.deadline,
            now + start.backoff,
            "the same jittered delay"
        );
        now = start.deadline;
    }
}

/// (S10) Success ends the run: no deadline is left.
#[test]
fn rule_grpc_s10_success_ends_the_run() {
    let mut connection = machine();
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    settle(&mut connection, s(3), first.attempt);
    assert_eq!(connection.poll_timeout(), None);
    assert_eq!(actions(&mut connection, s(1_000_000), middle), []);
}

/// (S11) SETTINGS, and nothing before it, puts the delay back to INITIAL.
#[test]
fn rule_grpc_s11_the_series_resets_when_settings_arrives() {
    let mut connection = machine();
    fail_times(&mut connection, 6);
    let now = connection.poll_timeout().expect("wanted");
    let seventh = started(&mut connection, now);
    assert_eq!(connection.failures(), 6, "connecting is no success");
    settle(&mut connection, now + s(1), seventh.attempt);
    assert_eq!(connection.failures(), 0);

    lose(&mut connection, now + s(60), seventh.attempt);
    connection.connect(now + s(60));
    assert_eq!(started(&mut connection, now + s(60)).backoff, s(1));
}

/// The starts of a client whose attempts end three ways in turn, each soon: a failure, a failure,
/// and a connection that is lost.
fn starts(config: Config, seed: u64) -> Vec<Duration> {
    let mut draws = Draws::Splitmix64(seed);
    let mut connection = Connection::new(config).expect("valid");
    connection.connect(s(0));
    let mut starts = Vec::new();
    while starts.len() < 15 {
        let now = connection.poll_timeout().expect("wanted");
        for action in actions(&mut connection, now, || draws.draw()) {
            if let Action::Start(start) = action {
                starts.push(now);
                if starts.len().is_multiple_of(3) {
                    settle(&mut connection, now + ms(50), start.attempt);
                }
                fail(&mut connection, now + ms(100), start.attempt);
                connection.connect(now + ms(100));
            }
        }
    }
    starts
}

/// (S13) By the same draws no option starts an attempt before the document would, which knows no
/// guard; and each option does make a difference.
#[test]
fn rule_grpc_s13_every_option_is_slower() {
    let document = Config {
        flap_guard: FlapGuard::Off,
        ..Config::GRPC
    };
    let from_failure = Config {
        timing: Timing::FromFailure,
        ..document
    };
    let after_stable = Config {
        reset: Reset::AfterStable(s(10)),
        ..document
    };
    for seed in 0..200 {
        let documents = starts(document, seed);
        for option in [Config::GRPC, from_failure, after_stable] {
            let ours = starts(option, seed);
            assert_ne!(ours, documents, "seed {seed}: {option:?}");
            for (n, (ours, documents)) in ours.iter().zip(&documents).enumerate() {
                assert!(ours >= documents, "seed {seed}, start {n}: {option:?}");
            }
        }
    }
}

/// (S13) An exact first delay is not much faster, by at most JITTER of INITIAL each time; and
/// with any option the clients disperse.
#[test]
fn rule_grpc_s13_every_option_disperses() {
    let exact = Config {
        first_delay: FirstDelay::Exact,
        ..Config::GRPC
    };
    let from_failure = Config {
        timing: Timing::FromFailure,
        ..Config::GRPC
    };
    let after_stable = Config {
        reset: Reset::AfterStable(s(10)),
        ..Config::GRPC
    };
    let mut earlier = 0;
    for seed in 0..200 {
        let pairs = starts(exact, seed)
            .into_iter()
            .zip(starts(Config::GRPC, seed));
        for (n, (ours, documents)) in (0..).zip(pairs) {
            let firsts = 2 * (n / 3) + u32::from(n % 3 > 0); // the guard's delay is one too
            assert!(
                ours + ms(200) * firsts >= documents,
                "seed {seed}, start {n}"
            );
            earlier += u32::from(ours < documents);
        }
    }
    assert!(earlier > 0, "it can be faster, hence the lint");
    for option in [Config::GRPC, exact, from_failure, after_stable] {
        let thirds: std::collections::HashSet<Duration> =
            (0..200).map(|seed| starts(option, seed)[2]).collect();
        assert!(thirds.len() >= 199, "by the third attempt: {option:?}");
    }
}

/// (S14) A READY connection that is lost begins a new run: its first attempt is immediate.
#[test]
fn rule_grpc_s14_a_lost_connection_begins_a_new_run_at_once() {
    let mut connection = machine();
    let now = fail_times(&mut connection, 4);
    let next = connection.poll_timeout().expect("wanted");
    assert!(next > now);
    let fifth = started(&mut connection, next);
    settle(&mut connection, next, fifth.attempt);
    lose(&mut connection, next + s(2), fifth.attempt);
    connection.connect(next + s(2));
    let first = started(&mut connection, next + s(2));
    assert_eq!((first.due_at, first.backoff), (next + s(2), s(1)));
}
