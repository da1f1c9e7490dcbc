//! The gRPC connection machine in virtual time: what its rules, vectors and properties share.

use std::time::Duration;

use grpc_backoff::{Action, AttemptId, Config, Connection, Start, Verdict};

use crate::draws::middle;

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
