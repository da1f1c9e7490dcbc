//! What the gRPC and backoff tests share: vector files, draws, and a driver in virtual time.
#![allow(dead_code, reason = "each test program uses its own part")]

use grpc_backoff::{Action, AttemptId, Connection, Start, Verdict};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The draw in the middle: it gives exactly the value before jitter.
pub(crate) const MIDDLE: u64 = 1 << 63;

pub(crate) fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

pub(crate) fn middle() -> u64 {
    MIDDLE
}

/// A file of `tests/vectors`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VectorFile<V> {
    schema: String,
    document: String,
    unit: String,
    #[serde(rename = "rounding")]
    _rounding: String,
    #[serde(rename = "source")]
    _source: String,
    pub(crate) vectors: Vec<V>,
}

pub(crate) fn load<V: DeserializeOwned>(json: &str, document: &str) -> Vec<V> {
    let file: VectorFile<V> = serde_json::from_str(json).expect("the vector file is well formed");
    assert_eq!(file.schema, "conformance/1");
    assert_eq!(file.document, document);
    assert_eq!(file.unit, "ns");
    file.vectors
}

/// Where a vector takes its draws from; `middle` unless it says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Draws {
    Low,
    #[default]
    Middle,
    High,
    /// Seeded so.
    Splitmix64(u64),
}

impl Draws {
    pub(crate) fn draw(&mut self) -> u64 {
        match self {
            Self::Low => 0,
            Self::Middle => MIDDLE,
            Self::High => u64::MAX,
            Self::Splitmix64(state) => splitmix64(state),
        }
    }
}

/// Steele, Lea and Flood's generator: four lines in any language.
pub(crate) fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Polls until there is nothing more to do at this instant, and checks that it is little.
pub(crate) fn actions(
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

/// The attempt that starts now, with the draw in the middle. Panics if none does.
pub(crate) fn started(connection: &mut Connection, now: Duration) -> Start {
    match actions(connection, now, middle)[..] {
        [Action::Start(start)] | [Action::Abort(_), Action::Start(start)] => start,
        ref other => panic!(
            "no start at {now:?} but {other:?}: {}",
            connection.explain(now)
        ),
    }
}

pub(crate) fn fail(connection: &mut Connection, now: Duration, attempt: AttemptId) {
    assert_eq!(connection.handle_failed(now, attempt), Verdict::Accepted);
}

pub(crate) fn settle(connection: &mut Connection, now: Duration, attempt: AttemptId) {
    assert_eq!(connection.handle_settings(now, attempt), Verdict::Accepted);
}

pub(crate) fn lose(connection: &mut Connection, now: Duration, attempt: AttemptId) {
    assert_eq!(connection.handle_lost(now, attempt), Verdict::Accepted);
}

/// Lets attempts fail at once until `failures` have, and gives the instant of the last start.
pub(crate) fn fail_times(connection: &mut Connection, failures: u32) -> Duration {
    let mut now = Duration::ZERO;
    connection.connect(now);
    while connection.failures() < failures {
        now = connection.poll_timeout().expect("a connection is wanted");
        let start = started(connection, now);
        fail(connection, now, start.attempt);
    }
    now
}
