//! (D14) What `tracing` is told, field by field.

use super::{Server, client};
use conformance::draws::middle;
use conformance::listening::listen;
use conformance::time::{ms, s};
use grpc_backoff::{Attempt, Config, ConnectionGuard, Failure, Phase, Reconnector, Verdict};
use std::fmt::{self, Write};
use std::future::ready;
use std::sync::{Arc, Mutex};
use tokio::time::{sleep, timeout};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// Writes down each event of `grpc_backoff`, after the span that it is in.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Captured>>);

#[derive(Default)]
struct Captured {
    spans: Vec<String>,
    entered: Vec<u64>,
    lines: Vec<String>,
}

impl Capture {
    fn install() -> (Self, DefaultGuard) {
        let capture = Self::default();
        (capture.clone(), listen(capture))
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("sound").lines)
    }
}

/// The fields as text.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " \"{value:?}\""),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Capture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("grpc_backoff")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(span.metadata().name().to_owned());
        span.record(&mut fields);
        let mut captured = self.0.lock().expect("sound");
        captured.spans.push(fields.0);
        Id::from_u64(captured.spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(event.metadata().level().to_string());
        event.record(&mut fields);
        let mut captured = self.0.lock().expect("sound");
        let span = captured
            .entered
            .last()
            .map(|&id| captured.spans[id as usize - 1].clone());
        let line = span.map_or_else(|| fields.0.clone(), |span| format!("{span}: {}", fields.0));
        captured.lines.push(line);
    }

    fn enter(&self, span: &Id) {
        self.0.lock().expect("sound").entered.push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.0.lock().expect("sound").entered.pop();
    }
}

/// (D14) One attempt that fails in its TLS phase, one that is accepted, a loss, the end.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_the_life_of_a_connection_is_told_event_by_event() {
    let (capture, _installed) = Capture::install();
    let dial = |attempt: Attempt<&'static str>| async move {
        attempt.enter(Phase::Tls);
        sleep(ms(250)).await;
        match attempt.id().get() {
            0 => Err(Failure::Retry("bad certificate")),
            _ => Ok(()),
        }
    };
    let mut client = Reconnector::with_addresses(Config::GRPC, ["north"], dial)
        .expect("valid")
        .with_draws(middle)
        .named("inventory");
    assert_eq!(client.connect().await, Ok(()));
    client.lost();
    client.shutdown();

    let attempt = |n| format!("attempt grpc.target=\"inventory\" attempt={n} address=\"north\": ");
    let expected = [
        "DEBUG \"state\" grpc.target=\"inventory\" state=\"CONNECTING\"".to_owned(),
        attempt(0) + "DEBUG \"connecting\" backoff=1s late=0ns",
        attempt(0) + "TRACE \"phase\" grpc.target=\"inventory\" attempt=0 phase=TLS",
        "DEBUG \"attempt ended\" grpc.target=\"inventory\" attempt=0 outcome=failed: bad certificate phase=TLS took=250ms".to_owned(),
        "DEBUG \"state\" grpc.target=\"inventory\" state=\"TRANSIENT_FAILURE\"".to_owned(),
        "DEBUG \"state\" grpc.target=\"inventory\" state=\"CONNECTING\"".to_owned(),
        attempt(1) + "DEBUG \"connecting\" backoff=1.6s late=0ns",
        attempt(1) + "TRACE \"phase\" grpc.target=\"inventory\" attempt=1 phase=TLS",
        "DEBUG \"attempt ended\" grpc.target=\"inventory\" attempt=1 outcome=connected phase=TLS took=250ms".to_owned(),
        "DEBUG \"state\" grpc.target=\"inventory\" state=\"READY\"".to_owned(),
        "INFO \"connection lost\" grpc.target=\"inventory\" attempt=1 why=unknown".to_owned(),
        "DEBUG \"state\" grpc.target=\"inventory\" state=\"IDLE\"".to_owned(),
        "DEBUG \"state\" grpc.target=\"inventory\" state=\"SHUTDOWN\"".to_owned(),
    ];
    let lines = capture.lines();
    assert_eq!(lines, expected, "{lines:#?}");
}

/// (D14) How late a start is, against what was due.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_a_start_that_nobody_drove_is_told_as_late() {
    let (capture, _installed) = Capture::install();
    let (mut client, _) = client(Config::GRPC, [Server::Refuses]);
    assert!(timeout(ms(500), client.connect()).await.is_err());
    sleep(ms(2_500)).await; // nobody waits: due at 1 s, started at 3 s
    assert!(timeout(ms(500), client.connect()).await.is_err());
    let lines = capture.lines();
    let late = "attempt attempt=1 address=(): DEBUG \"connecting\" backoff=1.6s late=2s";
    assert!(lines.iter().any(|line| line == late), "{lines:#?}");
}

/// (D14) Why a connection was lost, and what is worth a warning.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_losses_have_a_reason_and_giving_up_is_a_warning() {
    let (capture, _installed) = Capture::install();
    let dial = |attempt: Attempt| ready(Ok::<ConnectionGuard, Failure<&str>>(attempt.guard()));
    let mut client = Reconnector::new(Config::GRPC, dial).expect("valid");
    let guard = client.connect().await.expect("at once");
    assert_eq!(guard.accepted(), Verdict::Accepted);
    let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    guard.disconnected((&reset).into(), &reset);
    let lost =
        "INFO \"connection lost\" attempt=0 why=connection reset reason=\"connection reset\"";
    assert!(capture.lines().iter().any(|line| line == lost));

    let (mut client, _) = super::client(super::limited(1), [Server::Refuses]);
    assert!(client.connect().await.is_err());
    let warning =
        "WARN \"gave up\" status=GAVE_UP after 1 failure: max_attempts reached; last: refused";
    let lines = capture.lines();
    assert!(lines.iter().any(|line| line == warning), "{lines:#?}");

    let resolve = || async { Err::<[(); 1], _>("no such name") };
    let dial = |_: Attempt| async { Ok::<(), Failure<&str>>(()) };
    let mut client = Reconnector::with_resolver(Config::GRPC, resolve, dial).expect("valid");
    assert!(timeout(s(0), client.connect()).await.is_err());
    let failed = "DEBUG \"resolution failed\" resolution=0 why=resolve: no such name";
    let lines = capture.lines();
    assert!(lines.iter().any(|line| line == failed), "{lines:#?}");
}
