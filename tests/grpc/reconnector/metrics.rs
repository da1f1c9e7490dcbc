//! (D14) The metrics of gRFC A94: exact counts for everything that can come of an attempt and of
//! a connection.

use super::{Server, client, limited};
use conformance::draws::middle;
use conformance::time::{ms, s};
use grpc_backoff::{
    Attempt, Config, ConnectionGuard, Disconnect, Failure, Phase, Reconnector, Verdict,
    describe_metrics,
};
use metrics::{LocalRecorderGuard, set_default_local_recorder};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use std::future::ready;
use std::io;
use tokio::time::{sleep, timeout};

const SUCCEEDED: &str = "grpc.subchannel.connection_attempts_succeeded";
const FAILED: &str = "grpc.subchannel.connection_attempts_failed";
const DISCONNECTIONS: &str = "grpc.subchannel.disconnections";
const OPEN: &str = "grpc.subchannel.open_connections";

/// This thread's recorder.
struct Recorder {
    snapshotter: Snapshotter,
    _installed: LocalRecorderGuard<'static>,
}

impl Recorder {
    fn install() -> Self {
        let recorder: &'static _ = Box::leak(Box::new(DebuggingRecorder::new()));
        Self {
            snapshotter: recorder.snapshotter(),
            _installed: set_default_local_recorder(recorder),
        }
    }

    /// What has changed since it was last asked: the metric, its labels, by how much.
    fn changes(&self) -> Vec<(String, String, i64)> {
        let changes = self.snapshotter.snapshot().into_vec().into_iter();
        let changes = changes.map(|(key, _, _, value)| {
            let labels = key.key().labels();
            let labels: Vec<_> = labels
                .map(|l| format!("{}={}", l.key(), l.value()))
                .collect();
            let value = match value {
                DebugValue::Counter(count) => count as i64,
                DebugValue::Gauge(level) => level.into_inner() as i64,
                DebugValue::Histogram(_) => panic!("there are none"),
            };
            (key.key().name().to_owned(), labels.join(" "), value)
        });
        let mut changes: Vec<_> = changes.filter(|&(_, _, by)| by != 0).collect();
        changes.sort();
        changes
    }

    #[track_caller]
    fn expect(&self, expected: &[(&str, &str, i64)]) {
        let changes = self.changes();
        let mut expected: Vec<_> = expected
            .iter()
            .map(|&(name, labels, by)| (name.to_owned(), labels.to_owned(), by))
            .collect();
        expected.sort();
        assert_eq!(changes, expected);
    }
}

const UNNAMED: &str = "grpc.target=";
const OPENED: [(&str, &str, i64); 2] = [(SUCCEEDED, UNNAMED, 1), (OPEN, UNNAMED, 1)];

const fn closed(why: &str) -> [(&str, &str, i64); 2] {
    [(DISCONNECTIONS, why, 1), (OPEN, UNNAMED, -1)]
}

const SHUT_DOWN: &str = "grpc.target= grpc.disconnect_error=subchannel shutdown";
const UNKNOWN: &str = "grpc.target= grpc.disconnect_error=unknown";

/// (D14) Successes and losses are counted once, and what is open is their difference.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_an_accepted_connection_is_open_until_it_is_lost() {
    let recorder = Recorder::install();
    let (mut client, _) = client(Config::GRPC, [Server::AcceptsAfter(ms(5))]);
    assert_eq!(client.connect().await, Ok("connection"));
    recorder.expect(&OPENED);
    client.lost();
    recorder.expect(&closed(UNKNOWN));
    client.lost();
    client.shutdown();
    recorder.expect(&[]);
}

/// (D14) Asking for a connection says that the one before is gone.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_connecting_again_closes_what_was_open() {
    let recorder = Recorder::install();
    let (mut client, _) = client(Config::GRPC, [Server::AcceptsAfter(ms(5))]);
    for _ in 0..3 {
        assert_eq!(client.connect().await, Ok("connection"));
    }
    let expected = [
        (SUCCEEDED, UNNAMED, 3),
        (DISCONNECTIONS, UNKNOWN, 2),
        (OPEN, UNNAMED, 1),
    ];
    recorder.expect(&expected);
}

/// (D14) Failures in each phase, passed deadlines, refusals and panics are failures.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_every_kind_of_failure_is_counted_as_one() {
    let recorder = Recorder::install();
    for phase in [Phase::Resolve, Phase::Tcp, Phase::Tls, Phase::Settings] {
        let dial = |attempt: Attempt| {
            attempt.enter(phase);
            ready(Err::<(), _>(Failure::Retry("refused")))
        };
        let mut client = Reconnector::new(limited(3), dial).expect("valid");
        assert!(client.connect().await.is_err());
        recorder.expect(&[(FAILED, UNNAMED, 3)]);
    }
    let (mut hangs, _) = client(limited(2), [Server::Hangs]);
    assert!(hangs.connect().await.is_err());
    recorder.expect(&[(FAILED, UNNAMED, 2)]);

    let (mut refuses, _) = client(Config::GRPC, [Server::RefusesForGood]);
    assert!(refuses.connect().await.is_err());
    recorder.expect(&[(FAILED, UNNAMED, 1)]);
}

/// (D14) (D12) What is cancelled is neither success nor failure.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_a_cancelled_attempt_is_not_counted() {
    let recorder = Recorder::install();
    for cancel in [
        |client: &grpc_backoff::Handle| client.withdraw(),
        |client: &grpc_backoff::Handle| client.retarget([()]),
        |client: &grpc_backoff::Handle| client.shutdown(),
    ] {
        let (mut client, _) = client(Config::GRPC, [Server::Hangs]);
        assert!(timeout(s(1), client.connect()).await.is_err());
        cancel(client.handle());
        recorder.expect(&[]);
    }
    let (mut dropped, _) = client(Config::GRPC, [Server::Hangs]);
    assert!(timeout(s(1), dropped.connect()).await.is_err());
    drop(dropped);
    recorder.expect(&[]);
}

/// (D14) (A5) Of two addresses one wins; the other's attempt is not counted.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_an_attempt_that_another_address_overtook_is_not_counted() {
    let recorder = Recorder::install();
    let dial = |attempt: Attempt<u64>| {
        let delay = ms(*attempt.address());
        async move {
            sleep(delay).await;
            Ok::<_, Failure<&str>>(delay)
        }
    };
    let mut client = Reconnector::with_addresses(Config::GRPC, [900, 10], dial).expect("valid");
    assert_eq!(client.connect().await, Ok(ms(10)));
    recorder.expect(&OPENED);
    client.handle().set_addresses([900]); // not the one in use
    recorder.expect(&closed(SHUT_DOWN));
}

/// (D14) This side's own ends of a connection are told from losses.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_shutting_down_closes_what_was_open() {
    let recorder = Recorder::install();
    for end in [
        |client: &grpc_backoff::Handle| client.retarget([()]),
        |client: &grpc_backoff::Handle| client.shutdown(),
    ] {
        let (mut client, _) = client(Config::GRPC, [Server::AcceptsAfter(ms(5))]);
        assert_eq!(client.connect().await, Ok("connection"));
        client.handle().withdraw(); // what is there stays (D8)
        recorder.expect(&OPENED);
        end(client.handle());
        recorder.expect(&closed(SHUT_DOWN));
    }
    let (mut dropped, _) = client(Config::GRPC, [Server::AcceptsAfter(ms(5))]);
    assert_eq!(dropped.connect().await, Ok("connection"));
    drop(dropped);
    recorder.expect(&[OPENED[0], (DISCONNECTIONS, SHUT_DOWN, 1)]);
}

async fn guarded() -> (
    Reconnector<(), impl FnMut(Attempt) -> Guarded, Guarded>,
    ConnectionGuard,
) {
    let dial = |attempt: Attempt| ready(Ok::<_, Failure<&'static str>>(attempt.guard()));
    let mut client = Reconnector::new(Config::GRPC, dial)
        .expect("valid")
        .with_draws(middle);
    let guard = client.connect().await.expect("at once");
    (client, guard)
}

type Guarded = std::future::Ready<Result<ConnectionGuard, Failure<&'static str>>>;

/// (D14) (D13) A connection that is in use counts from SETTINGS on; what ends it before is a
/// failure, what ends it after that is a disconnection with its cause.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_a_guarded_connection_counts_from_settings_on() {
    let recorder = Recorder::install();
    let (_client, guard) = guarded().await;
    recorder.expect(&[]);
    drop(guard);
    recorder.expect(&[(FAILED, UNNAMED, 1)]);

    let (_client, guard) = guarded().await;
    assert_eq!(guard.accepted(), Verdict::Accepted);
    recorder.expect(&OPENED);
    guard.disconnected(Disconnect::GoAway(0xb), "too_many_pings");
    recorder.expect(&closed(
        "grpc.target= grpc.disconnect_error=GOAWAY ENHANCE_YOUR_CALM",
    ));

    let (client, guard) = guarded().await;
    assert_eq!(guard.accepted(), Verdict::Accepted);
    client.handle().shutdown();
    recorder.expect(&[OPENED[0], (DISCONNECTIONS, SHUT_DOWN, 1)]);
    guard.failed("it is over already");
    recorder.expect(&[]);
}

/// (D14) The labels of A94: the target, what the user adds, and whether it is secure, where the
/// connect function says by its phases.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_labels_name_the_target_and_the_security_level() {
    let recorder = Recorder::install();
    let labels = "grpc.target=dns:///inventory grpc.lb.locality=north";
    for (phases, level) in [
        (&[Phase::Tcp, Phase::Settings][..], "none"),
        (
            &[Phase::Tcp, Phase::Tls, Phase::Settings],
            "privacy_and_integrity",
        ),
    ] {
        let dial = |attempt: Attempt| {
            phases.iter().for_each(|&phase| attempt.enter(phase));
            ready(Ok::<_, Failure<&str>>(()))
        };
        let mut client = Reconnector::new(Config::GRPC, dial)
            .expect("valid")
            .named("dns:///inventory")
            .with_labels([("grpc.lb.locality", "north".to_owned())]);
        assert_eq!(client.connect().await, Ok(()));
        let open = format!("{labels} grpc.security_level={level}");
        recorder.expect(&[(SUCCEEDED, labels, 1), (OPEN, &open, 1)]);
        client.lost();
        let why = format!("{labels} grpc.disconnect_error=unknown");
        recorder.expect(&[(DISCONNECTIONS, &why, 1), (OPEN, &open, -1)]);
    }
}

/// (D14) What an error of a socket counts as.
#[test]
fn rule_grpc_d14_a_disconnection_has_one_of_the_causes_of_a94() {
    let io = |kind| Disconnect::from(&io::Error::from(kind)).to_string();
    assert_eq!(io(io::ErrorKind::ConnectionReset), "connection reset");
    assert_eq!(io(io::ErrorKind::TimedOut), "connection timed out");
    assert_eq!(io(io::ErrorKind::ConnectionAborted), "connection aborted");
    assert_eq!(io(io::ErrorKind::BrokenPipe), "socket error");
    assert_eq!(io(io::ErrorKind::UnexpectedEof), "unknown");
    let unreachable = io::Error::from_raw_os_error(101);
    assert_eq!(Disconnect::from(&unreachable).to_string(), "socket error");

    let codes = (0..=0xd).map(|code| Disconnect::GoAway(code).to_string());
    let names: std::collections::BTreeSet<_> = codes.collect();
    assert_eq!(names.len(), 14, "each of HTTP/2's codes has a name");
    assert!(names.contains("GOAWAY NO_ERROR"));
    let undefined = Disconnect::GoAway(0x1f).to_string();
    assert_eq!(
        undefined, "GOAWAY INTERNAL_ERROR",
        "no server makes the list longer"
    );
}

/// (D14) Whoever installs a recorder has them described: each has a unit and a description.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_every_metric_is_described() {
    let recorder = Recorder::install();
    describe_metrics();
    let script = [Server::Refuses, Server::AcceptsAfter(ms(0))];
    let (mut client, _) = client(Config::GRPC, script);
    assert_eq!(client.connect().await, Ok("connection"));
    client.lost();
    let metrics = recorder.snapshotter.snapshot().into_vec();
    assert_eq!(metrics.len(), 4);
    for (key, unit, description, _) in metrics {
        assert_eq!(unit, Some(metrics::Unit::Count), "{key:?}");
        assert!(description.is_some(), "{key:?}");
    }
}
