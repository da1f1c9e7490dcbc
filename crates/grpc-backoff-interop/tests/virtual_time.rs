//! The whole test in virtual time: 540 s pass at once, over pipes instead of sockets.

use grpc_backoff::tonic::{Builder, Tls};
use grpc_backoff_interop::client::Verdict;
use grpc_backoff_interop::proto::reconnect_service_client::ReconnectServiceClient;
use grpc_backoff_interop::proto::reconnect_service_server::ReconnectServiceServer;
use grpc_backoff_interop::proto::{Empty, ReconnectInfo, ReconnectParams};
use grpc_backoff_interop::{Recorder, Scale, client, dial, server, tls};
use grpc_faults::Judge;
use http::Uri;
use hyper_util::rt::TokioIo;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::io;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::io::{DuplexStream, duplex};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tonic::Code;
use tonic::transport::Endpoint;
use tower::{Service, service_fn};

const LASTS: Duration = Duration::from_secs(540);
const MAX: Duration = Duration::from_secs(120);

fn recorder(judge: Judge) -> Recorder {
    Recorder::new(judge, |line| println!("{line}"))
}

/// A retry port in memory.
fn retry_port(
    recorder: &Recorder,
    tls: Option<TlsAcceptor>,
) -> impl Service<Uri, Response = TokioIo<DuplexStream>, Error = io::Error, Future: Send> + Send + use<>
{
    let recorder = recorder.clone();
    service_fn(move |_: Uri| {
        recorder.handle_accepted();
        let (client, server) = duplex(64 * 1024);
        if let Some(tls) = tls.clone() {
            let recorder = recorder.clone();
            tokio::spawn(server::close_after_handshake(server, recorder, tls));
        }
        async move { Ok(TokioIo::new(client)) }
    })
}

fn uri() -> Uri {
    Uri::from_static("http://localhost:1")
}

fn control(recorder: &Recorder) -> ReconnectServiceServer<Recorder> {
    ReconnectServiceServer::new(recorder.clone())
}

const SEEDS: [u64; 3] = [1, 2, 3];

/// Our connector's parts, with its draws from a seed.
fn builder(scale: Scale, seed: u64) -> Builder {
    let mut rng = SmallRng::seed_from_u64(seed);
    println!("seed {seed}");
    Builder::new(scale.config(scale.of(MAX))).with_draws(move || rng.next_u64())
}

/// Runs tonic with our connector against the server for 540 s.
async fn ours(scale: u32, seed: u64, tls: Option<(TlsAcceptor, Tls)>) -> ReconnectInfo {
    let scale = Scale(NonZeroU32::new(scale).expect("not 0"));
    let recorder = recorder(scale.judge(Judge::OFFICIAL.early));
    let (acceptor, trusting) = tls.unzip();
    let mut builder = builder(scale, seed).over(retry_port(&recorder, acceptor));
    if let Some(tls) = trusting {
        builder = builder.with_tls(tls);
    }
    let connector = builder.build().expect("valid").wait_for_ready();
    let dial = dial::by_calls(connector.lazy(Endpoint::from(uri())), scale.of(LASTS));
    let seen = client::observed(control(&recorder), scale.of(MAX), dial).await;
    seen.expect("the control service answers")
}

#[tokio::test(start_paused = true)]
async fn ours_passes_in_plaintext() {
    for seed in SEEDS {
        let seen = ours(1, seed, None).await;
        Verdict::of(&seen, Judge::OFFICIAL).check().expect("a pass");
        assert!((11..=14).contains(&seen.backoff_ms.len()), "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn ours_passes_by_tls_which_is_no_acceptance() {
    let tls::Identity { acceptor, ca_pem } = tls::Identity::generate().expect("a certificate");
    let trusting = tls::trusting(ca_pem.as_bytes()).expect("just made");
    for seed in SEEDS {
        let tls = Some((acceptor.clone(), Tls::new(trusting.clone())));
        let seen = ours(1, seed, tls).await;
        Verdict::of(&seen, Judge::OFFICIAL).check().expect("a pass");
    }
}

/// Almost without tolerance: in virtual time nothing is late.
#[tokio::test(start_paused = true)]
async fn ours_passes_scaled() {
    let scale = Scale(NonZeroU32::new(100).expect("not 0"));
    let exact = scale.judge(Duration::from_millis(1)); // tokio's timers and the protocol round to it
    for seed in SEEDS {
        let seen = ours(100, seed, None).await;
        Verdict::of(&seen, exact).check().expect("a pass");
    }
}

/// It dials in the background, without a call.
#[tokio::test(start_paused = true)]
async fn our_own_channel_passes() {
    for seed in SEEDS {
        let recorder = recorder(Judge::OFFICIAL);
        let scale = Scale(NonZeroU32::MIN);
        let dial = async {
            let builder = builder(scale, seed).over(retry_port(&recorder, None));
            let channel = builder.channel(uri())?;
            sleep(LASTS).await;
            drop(channel);
            Ok(())
        };
        let seen = client::observed(control(&recorder), MAX, dial).await;
        let seen = seen.expect("an answer");
        Verdict::of(&seen, Judge::OFFICIAL).check().expect("a pass");
    }
}

#[tokio::test(start_paused = true)]
async fn plain_tonic_fails() {
    let recorder = recorder(Judge::OFFICIAL);
    let port = retry_port(&recorder, None);
    let channel = Endpoint::from(uri()).connect_with_connector_lazy(port);
    let dial = dial::by_calls(channel, LASTS);
    let seen = client::observed(control(&recorder), MAX, dial).await;
    let seen = seen.expect("an answer");
    assert!(!seen.passed);
    let dials = seen.backoff_ms.len();
    assert!(dials > 100, "a dial per call: {dials}");
    Verdict::of(&seen, Judge::OFFICIAL)
        .check()
        .expect_err("a fail");
}

#[tokio::test(start_paused = true)]
async fn a_constant_interval_fails() {
    let recorder = recorder(Judge::OFFICIAL);
    let port = retry_port(&recorder, None);
    let dial = async {
        dial::at_an_interval(Duration::from_secs(1), uri(), port, LASTS).await;
        Ok(())
    };
    let seen = client::observed(control(&recorder), MAX, dial)
        .await
        .expect("an answer");
    assert!(!seen.passed);
    assert!(seen.backoff_ms[..2] == [1_000, 1_000], "{seen:?}");
    let told = Verdict::of(&seen, Judge::OFFICIAL).to_string();
    let rest = format!("... and {} more", seen.backoff_ms.len() - 30);
    assert_eq!(told.lines().nth(30), Some(&*rest), "{told}");
}

/// The official server passes it.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_comes_fails_and_knows_it_even_when_told_otherwise() {
    let recorder = recorder(Judge::OFFICIAL);
    let dial = async {
        sleep(LASTS).await;
        Ok(())
    };
    let seen = client::observed(control(&recorder), MAX, dial)
        .await
        .expect("an answer");
    assert_eq!((seen.passed, seen.backoff_ms.len()), (false, 0));

    let official = ReconnectInfo {
        passed: true,
        backoff_ms: Vec::new(),
    };
    let error = Verdict::of(&official, Judge::OFFICIAL)
        .check()
        .expect_err("no proof");
    assert_eq!(
        error.to_string(),
        "the server saw no gap: that proves nothing"
    );
}

/// The official server takes the parameter of the first Start for all that follow.
#[tokio::test(start_paused = true)]
async fn every_start_has_its_own_parameter() {
    let recorder = recorder(Judge::OFFICIAL);
    let mut service = ReconnectServiceClient::new(control(&recorder));
    for (max_reconnect_backoff_ms, passed) in
        [(1_000, true), (120_000, false), (0, false), (1_000, true)]
    {
        let params = ReconnectParams {
            max_reconnect_backoff_ms,
        };
        service.start(params).await.expect("started");
        for _ in 0..5 {
            recorder.handle_accepted();
            sleep(Duration::from_secs(1)).await;
        }
        let seen = service.stop(Empty {}).await.expect("stopped").into_inner();
        assert_eq!(seen.passed, passed, "{max_reconnect_backoff_ms}: {seen:?}");
        assert_eq!(seen.backoff_ms, [1_000; 4]);
    }
}

#[tokio::test(start_paused = true)]
async fn errors_name_the_value_and_what_to_do() {
    let recorder = recorder(Judge::OFFICIAL);
    let mut service = ReconnectServiceClient::new(control(&recorder));
    for max_reconnect_backoff_ms in [-1, i32::MIN, 1, 999] {
        let params = ReconnectParams {
            max_reconnect_backoff_ms,
        };
        let error = service.start(params).await.expect_err("refused");
        assert_eq!(error.code(), Code::InvalidArgument);
        assert_eq!(
            error.message(),
            format!(
                "max_reconnect_backoff_ms is {max_reconnect_backoff_ms}: it must be at least the \
                 first delay, 1s (D3), or 0 for 120s"
            )
        );
    }
    let error = service.stop(Empty {}).await.expect_err("refused");
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert_eq!(error.message(), "no record is running: Start one");
}

/// A client that died before its Stop blocks no other.
#[tokio::test(start_paused = true)]
async fn a_start_ends_a_record_that_nobody_stopped() {
    let recorder = recorder(Judge::OFFICIAL);
    let mut service = ReconnectServiceClient::new(control(&recorder));
    service
        .start(ReconnectParams::default())
        .await
        .expect("started");
    recorder.handle_accepted();
    service
        .start(ReconnectParams::default())
        .await
        .expect("started again");
    recorder.handle_accepted();
    sleep(Duration::from_millis(1_300)).await;
    recorder.handle_accepted();
    let seen = service.stop(Empty {}).await.expect("stopped").into_inner();
    assert_eq!(
        seen,
        ReconnectInfo {
            passed: true,
            backoff_ms: vec![1_300]
        }
    );
}
