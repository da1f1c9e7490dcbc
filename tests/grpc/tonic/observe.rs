//! (D14) What can be seen of a channel: its metrics, and its line for people.

use super::{TARGET, over};
use conformance::time::{ms, s};
use grpc_faults::{Fault, Memory};
use metrics::set_default_local_recorder;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use std::collections::BTreeMap;
use tokio::time::sleep;

/// What has changed of each metric, under its last name and the label that is its own.
fn changes(snapshotter: &Snapshotter) -> BTreeMap<String, i64> {
    let metrics = snapshotter.snapshot().into_vec().into_iter();
    let metrics = metrics.map(|(key, _, _, value)| {
        let mut labels = key.key().labels();
        let target = labels.next().map(|label| (label.key(), label.value()));
        assert_eq!(target, Some(("grpc.target", "http://server.test:50051/")));
        let given = labels.next().map(|label| (label.key(), label.value()));
        assert_eq!(given, Some(("grpc.lb.locality", "north")));
        let name = key.key().name().trim_start_matches("grpc.subchannel.");
        let own = labels.next().map_or("", |label| label.value());
        let value = match value {
            DebugValue::Counter(count) => count as i64,
            DebugValue::Gauge(level) => level.into_inner() as i64,
            DebugValue::Histogram(_) => panic!("there are none"),
        };
        (format!("{name} {own}").trim_end().to_owned(), value)
    });
    metrics.filter(|&(_, by)| by != 0).collect()
}

/// (D14) Two refusals, a connection that is closed after SETTINGS, one that stays, the end.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_a_channel_is_counted_and_explains_itself() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _installed = set_default_local_recorder(&recorder);
    let server = Memory::new(Fault::Refuse)
        .after(2, Fault::SettingsThenClose(s(10)))
        .after(3, Fault::Healthy);
    let channel = over(&server)
        .with_labels([("grpc.lb.locality", "north".to_owned())])
        .channel(TARGET.parse().expect("a URI"))
        .expect("valid");
    let expect = |expected: &[(&str, i64)], line: &str| {
        let expected: BTreeMap<_, _> = (expected.iter().copied())
            .map(|(name, by)| (name.to_owned(), by))
            .collect();
        assert_eq!(changes(&snapshotter), expected);
        assert_eq!(channel.status().to_string(), line);
    };
    sleep(ms(1_100)).await;
    expect(
        &[("connection_attempts_failed", 2)],
        "TRANSIENT_FAILURE after 2 failures; last: TCP: connection refused; next attempt in 1.5 s",
    );
    sleep(s(2)).await;
    let opened = [
        ("connection_attempts_succeeded", 1),
        ("open_connections none", 1),
    ];
    expect(&opened, "READY");
    sleep(s(10)).await;
    // One is gone, the next is there: what is open has not changed.
    let replaced = [
        ("connection_attempts_succeeded", 1),
        ("disconnections unknown", 1),
    ];
    expect(&replaced, "READY");
    assert!(channel.handle().explain().starts_with("READY for "));
    channel.shutdown().await;
    let closed = [
        ("disconnections subchannel shutdown", 1),
        ("open_connections none", -1),
    ];
    expect(&closed, "SHUTDOWN");
}
