//! How often a client dials servers that let it down: plain tonic, and tonic with this crate's
//! connector.
//!
//! `cargo run --release -p grpc-backoff --features tonic --example dials -- --seconds 10 --json`
//!
//! Every server lets down both clients at the same time, all servers side by side. A client makes
//! one call after another, each as soon as the one before has its answer or has failed.

use grpc_backoff::{Config, tonic::Builder};
use grpc_faults::{Fault, GoAway, Listener};
use http::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use std::any::Any;
use std::net::SocketAddr;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use std::{env, io};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::util::BoxService;
use tower::{Service, ServiceExt, service_fn};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type BoxChannel = BoxService<Request<Body>, Response<Body>, Status>;

#[tokio::main]
async fn main() -> ExitCode {
    let counted = match arguments() {
        Ok((seconds, json)) => count(seconds, json).await,
        Err(error) => Err(error),
    };
    if let Err(error) = counted {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn count(seconds: u32, json: bool) -> Result<(), BoxError> {
    let mut running = JoinSet::new();
    for (place, fault) in FAULTS.into_iter().enumerate() {
        running.spawn(async move { dials(fault, seconds).await.map(|both| (place, both)) });
    }
    let mut counts = [[0; 2]; FAULTS.len()];
    while let Some(counted) = running.join_next().await {
        let (place, both) = counted??;
        counts[place] = both;
    }
    print(seconds, &counts, json);
    Ok(())
}

fn arguments() -> Result<(u32, bool), BoxError> {
    let (mut seconds, mut json) = (10, false);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--seconds" => {
                let value = arguments.next().ok_or("--seconds has no value")?;
                seconds = value
                    .parse()
                    .map_err(|e| format!("--seconds {value}: {e}"))?;
            }
            other => return Err(format!("{other} is neither --seconds N nor --json").into()),
        }
    }
    if !(1..=600).contains(&seconds) {
        return Err(format!("--seconds {seconds} is not within 1 to 600").into());
    }
    Ok((seconds, json))
}

fn print(seconds: u32, counts: &[[u32; 2]], json: bool) {
    let rows = FAULTS.iter().zip(counts);
    if json {
        let rows = rows.map(|(&fault, [plain, ours])| {
            let (server, _) = names(fault);
            format!(r#"{{"server":"{server}","plain":{plain},"ours":{ours}}}"#)
        });
        let servers = rows.collect::<Vec<_>>().join(",");
        println!(r#"{{"seconds":{seconds},"servers":[{servers}]}}"#);
        return;
    }
    println!("| dials in {seconds} s of a server that | plain tonic | ours |\n|---|---|---|");
    for (&fault, [plain, ours]) in rows {
        println!("| {} | {plain} | {ours} |", names(fault).1);
    }
}

const SHORT: Duration = Duration::from_millis(50);
const FAULTS: [Fault; 15] = [
    Fault::Refuse,
    Fault::AcceptThenClose,
    Fault::BlackHole,
    Fault::TlsStall,
    Fault::TlsFailure,
    Fault::SettingsLate(Duration::from_secs(3)),
    Fault::SettingsByteByByte(SHORT),
    Fault::SettingsAfterRequest,
    Fault::WrongFirstFrame,
    Fault::Http1,
    Fault::SettingsThenClose(SHORT),
    Fault::GoAway(GoAway::MaxAge, SHORT),
    Fault::GoAway(GoAway::TooManyPings, SHORT),
    Fault::HalfOpen,
    Fault::Healthy,
];

/// The key of a server, and what it does.
const fn names(fault: Fault) -> (&'static str, &'static str) {
    match fault {
        Fault::Refuse => ("refuse", "refuses"),
        Fault::AcceptThenClose => ("accept_then_close", "accepts and closes"),
        Fault::BlackHole => ("black_hole", "never says anything"),
        Fault::TlsStall => ("tls_stall", "stops in the TLS handshake"),
        Fault::TlsFailure => ("tls_failure", "refuses in the TLS handshake"),
        Fault::SettingsLate(_) => ("settings_late", "sends SETTINGS after 3 s"),
        Fault::SettingsByteByByte(_) => (
            "settings_byte_by_byte",
            "sends a byte of SETTINGS every 50 ms",
        ),
        Fault::SettingsAfterRequest => (
            "settings_after_request",
            "sends SETTINGS after the first request",
        ),
        Fault::WrongFirstFrame => ("wrong_first_frame", "sends a PING before SETTINGS"),
        Fault::Http1 => ("http1", "answers in HTTP/1.1"),
        Fault::SettingsThenClose(_) => {
            ("settings_then_close", "sends SETTINGS, closes after 50 ms")
        }
        Fault::GoAway(GoAway::MaxAge, _) => {
            ("go_away_max_age", "says GOAWAY `max_age` after 50 ms")
        }
        Fault::GoAway(GoAway::TooManyPings, _) => (
            "go_away_too_many_pings",
            "says GOAWAY `too_many_pings` after 50 ms",
        ),
        Fault::HalfOpen => ("half_open", "is silent after SETTINGS, keepalive of 1 s"),
        Fault::Healthy => ("healthy", "works"),
    }
}

/// How often plain tonic dials such a server in this time, and how often we do.
async fn dials(fault: Fault, seconds: u32) -> Result<[u32; 2], BoxError> {
    let (address, _server) = serve(fault)?;
    let tls = matches!(fault, Fault::TlsStall | Fault::TlsFailure);
    let mut endpoint = Endpoint::from_static("http://dials.test");
    if fault == Fault::HalfOpen {
        let second = Duration::from_secs(1);
        endpoint = endpoint
            .http2_keep_alive_interval(second)
            .keep_alive_timeout(second);
    }
    let counts = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
    let [plain, ours] = counts
        .each_ref()
        .map(|count| connector(address, tls, count));

    let plain = endpoint.connect_with_connector_lazy(plain);
    let ours = Builder::new(Config::GRPC).over(ours).build()?;
    let ours = ours.wait_for_ready().lazy(endpoint); // its calls wait for the next attempt

    let both = async { tokio::join!(call_on(boxed(plain)), call_on(boxed(ours))) };
    let _ = timeout(Duration::from_secs(seconds.into()), both).await;
    Ok(counts.map(|count| count.load(Relaxed)))
}

/// A server, and what keeps it. A port that is bound refuses as long as nobody listens.
fn serve(fault: Fault) -> io::Result<(SocketAddr, Box<dyn Any + Send>)> {
    if fault == Fault::Refuse {
        let port = TcpSocket::new_v4()?;
        port.bind(([127, 0, 0, 1], 0).into())?;
        return Ok((port.local_addr()?, Box::new(port)));
    }
    let listener = Listener::bind(fault)?;
    Ok((listener.address(), Box::new(listener)))
}

/// One call after another without end; a failed one is made again at once.
async fn call_on(channel: BoxChannel) {
    let mut client = HealthClient::new(channel);
    loop {
        let answer = client.check(HealthCheckRequest::default()).await;
        if answer.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

fn boxed<S>(channel: S) -> BoxChannel
where
    S: Service<Request<Body>, Response = Response<Body>, Error: Into<BoxError>> + Send + 'static,
    S::Future: Send,
{
    (channel.map_err(|error| Status::from_error(error.into()))).boxed()
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}
type Dialled = Pin<Box<dyn Future<Output = io::Result<TokioIo<Box<dyn Stream>>>> + Send>>;

/// Both clients connect by this, and are counted by it.
fn connector(
    address: SocketAddr,
    tls: bool,
    count: &Arc<AtomicU32>,
) -> impl Service<Uri, Response = TokioIo<Box<dyn Stream>>, Error = io::Error, Future = Dialled>
+ Send
+ use<> {
    let count = Arc::clone(count);
    service_fn(move |_: Uri| -> Dialled {
        count.fetch_add(1, Relaxed);
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            let stream: Box<dyn Stream> = match tls {
                true => Box::new(secure(stream).await?),
                false => Box::new(stream),
            };
            Ok(TokioIo::new(stream))
        })
    })
}

/// No server here gets as far as a certificate, so none is trusted.
async fn secure(stream: TcpStream) -> io::Result<impl Stream> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = "dials.test".try_into().map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}
