use super::*;
use crate::{FirstDelay, FlapGuard, Ratio, Reset, Timing};
use std::string::ToString;

extern crate std;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn the_state_of_a_connection_is_88_bytes_beside_its_parameters() {
    assert_eq!(size_of::<Machine>(), 88);
    assert_eq!(size_of::<Connection>(), 184);
}

#[test]
fn a_config_comes_back_as_it_was_given() {
    let mut others = Config {
        initial_backoff: Duration::from_millis(7),
        multiplier: Ratio::new(3, 2),
        jitter: Ratio::new(1, 3),
        max_backoff: s(7),
        min_connect_timeout: s(3),
        connection_attempt_delay: s(2),
        first_delay: FirstDelay::Exact,
        timing: Timing::FromFailure,
        reset: Reset::AfterStable(s(9)),
        flap_guard: FlapGuard::Off,
        max_attempts: 5.try_into().ok(),
        max_elapsed: Some(s(600)),
    };
    for config in [Config::GRPC, others] {
        assert_eq!(Connection::new(config).expect("valid").config(), config);
    }
    others.max_elapsed = Some(Duration::MAX);
    let config = Connection::new(others).expect("valid").config();
    assert_eq!(config.max_elapsed, None, "it never elapses");
}

#[test]
fn it_explains_itself_in_every_state() {
    let mut config = Config::GRPC;
    config.max_attempts = 3.try_into().ok();
    let mut connection = Connection::new(config).expect("valid");
    let mut lines = std::vec::Vec::new();
    let mut explain = |connection: &Connection, now| {
        lines.push(connection.explain(now).to_string());
    };
    let start = |connection: &mut Connection, now| {
        let action = connection.poll_action(now, || 1 << 63);
        let Some(Action::Start(start)) = action else {
            panic!("{action:?}");
        };
        start.attempt
    };
    explain(&connection, s(0));
    connection.connect(s(0));
    explain(&connection, s(0));
    let mut attempt = start(&mut connection, s(0));
    explain(&connection, s(8));
    assert_eq!(connection.handle_settings(s(8), attempt), Verdict::Accepted);
    explain(&connection, s(20));
    assert_eq!(connection.handle_lost(s(20), attempt), Verdict::Accepted);
    connection.connect(s(20));
    for _ in 0..3 {
        let now = connection.poll_timeout().expect("wanted");
        attempt = start(&mut connection, now);
        assert_eq!(connection.handle_failed(now, attempt), Verdict::Accepted);
        explain(&connection, now + Duration::from_nanos(1));
    }
    connection.reset(s(30));
    assert_eq!(connection.shutdown(), None);
    explain(&connection, s(30));
    assert_eq!(
        lines,
        [
            "IDLE; no connection wanted",
            "IDLE; next attempt now",
            "CONNECTING, attempt #0 after 0 failures; aborted in 12.0 s unless SETTINGS arrives",
            "READY for 12.0 s by attempt #0",
            "TRANSIENT_FAILURE after 1 failure; next attempt in 1.0 s",
            "TRANSIENT_FAILURE after 2 failures; next attempt in 1.6 s",
            "GAVE_UP after 3 failures: max_attempts reached",
            "SHUTDOWN",
        ]
    );
}

#[test]
fn a_host_that_is_late_learns_what_was_planned() {
    let mut connection = Connection::new(Config::GRPC).expect("valid");
    connection.connect(s(2));
    let Some(Action::Start(first)) = connection.poll_action(s(3), || 0) else {
        panic!("a start");
    };
    assert_eq!(first.due_at, s(2));
    assert_eq!(
        connection.handle_failed(s(3), first.attempt),
        Verdict::Accepted
    );
    let Some(Action::Start(second)) = connection.poll_action(s(60), || 0) else {
        panic!("a start");
    };
    assert_eq!(second.due_at, s(3) + first.backoff);
    assert_eq!(
        second.deadline,
        s(80),
        "its time counts from the actual start"
    );
}
