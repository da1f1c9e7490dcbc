//! The gRPC connection machine in virtual time: what its rules, vectors and properties share.

use std::time::Duration;

use grpc_backoff::{Action, AttemptId, Config, Connection, Start, Verdict};

use crate::draws::middle;
use crate::time::ns;

/// When attempts start that fail at once, by the document's values and with draws in the middle (V1).
pub const FAILING: [Duration; 14] = [
    ns(0),
    ns(1_000_000_000),
    ns(2_600_000_000),
    ns(5_160_000_000),
    ns(9_256_000_000),
    ns(15_809_600_000),
    ns(26_295_360_000),
    ns(43_072_576_000),
    ns(69_916_121_600),
    ns(112_865_794_560),
    ns(181_585_271_296),
    ns(291_536_434_073),
    ns(411_536_434_073),
    ns(531_536_434_073),
];

/// The same of attempts that have no outcome before their connect deadline (V2).
pub const HANGING: [Duration; 12] = [
    ns(0),
    ns(20_000_000_000),
    ns(40_000_000_000),
    ns(60_000_000_000),
    ns(80_000_000_000),
    ns(100_000_000_000),
    ns(120_000_000_000),
    ns(140_000_000_000),
    ns(166_843_545_600),
    ns(209_793_218_560),
    ns(278_512_695_296),
    ns(388_463_858_073),
];

/// A machine with the document's values.
#[must_use]
pub fn machine() -> Connection {
    with(|_| {})
}

/// A machine with the document's values but for this change.
///
/// # Panics
///
/// Where the changed values are refused.
pub fn with(change: impl FnOnce(&mut Config)) -> Connection {
    let mut config = Config::GRPC;
    change(&mut config);
    Connection::new(config).expect("valid")
}

/// Polls until there is nothing more to do at this instant.
///
/// # Panics
///
/// Where that is more than an abort and a start.
pub fn actions(
    connection: &mut Connection,
    now: Duration,
    mut draw: impl FnMut() -> u64,
) -> Vec<Action> {
    let mut actions = Vec::new();
    while let Some(action) = connection.poll_action(now, &mut draw) {
        actions.push(action);
        assert!(
            actions.len() <= 2,
            "more than an abort and a start at {now:?}"
        );
    }
    actions
}

/// The attempt that starts now, with the draw in the middle.
///
/// # Panics
///
/// Where none does.
pub fn started(connection: &mut Connection, now: Duration) -> Start {
    match actions(connection, now, middle)[..] {
        [Action::Start(start)] | [Action::Abort(_), Action::Start(start)] => start,
        ref other => panic!(
            "no start at {now:?} but {other:?}: {}",
            connection.explain(now)
        ),
    }
}

/// Tells that the attempt failed.
///
/// # Panics
///
/// Where that is not accepted.
pub fn fail(connection: &mut Connection, now: Duration, attempt: AttemptId) {
    assert_eq!(connection.handle_failed(now, attempt), Verdict::Accepted);
}

/// Tells that SETTINGS arrived for the attempt.
///
/// # Panics
///
/// Where that is not accepted.
pub fn settle(connection: &mut Connection, now: Duration, attempt: AttemptId) {
    assert_eq!(connection.handle_settings(now, attempt), Verdict::Accepted);
}

/// Tells that the connection of the attempt was lost.
///
/// # Panics
///
/// Where that is not accepted.
pub fn lose(connection: &mut Connection, now: Duration, attempt: AttemptId) {
    assert_eq!(connection.handle_lost(now, attempt), Verdict::Accepted);
}

/// Lets attempts fail at once until `failures` have, and gives the instant of the last start.
///
/// # Panics
///
/// Where the machine gives up before.
pub fn fail_times(connection: &mut Connection, failures: u32) -> Duration {
    let mut now = Duration::ZERO;
    connection.connect(now);
    while connection.failures() < failures {
        now = connection.poll_timeout().expect("a connection is wanted");
        let start = started(connection, now);
        fail(connection, now, start.attempt);
    }
    now
}
