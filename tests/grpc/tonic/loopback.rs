//! Against tonic's own server, over sockets.

use super::tls::{certificate, trusting};
use super::{call, request};
use grpc_backoff::tonic::{Builder, Channel, Connector};
use grpc_backoff::{Config, State, Wait};
use http::Uri;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::{Endpoint, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

/// Answers every call with an empty message, and notes what the call was made of.
#[derive(Clone, Default)]
struct Empty {
    seen: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    uri: String,
    user_agent: String,
}

impl NamedService for Empty {
    const NAME: &'static str = "test.Test";
}

struct Answer;

impl UnaryService<()> for Answer {
    type Response = ();
    type Future = Ready<Result<Response<()>, Status>>;

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(())))
    }
}

impl Service<http::Request<Body>> for Empty {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: http::Request<Body>) -> Self::Future {
        let agent = call
            .headers()
            .get("user-agent")
            .map(|agent| agent.to_str().expect("text"));
        self.seen.lock().expect("sound").push(Seen {
            uri: call.uri().to_string(),
            user_agent: agent.unwrap_or_default().to_owned(),
        });
        let mut grpc = Grpc::new(ProstCodec::<(), ()>::default());
        Box::pin(async move { Ok(grpc.unary(Answer, call).await) })
    }
}

/// A running server in a runtime of its own, which takes its connections along when it is killed.
struct Running {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    kill: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(address: SocketAddr, identity: Option<Identity>) -> Self {
        let listener = std::net::TcpListener::bind(address).expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("bound");
        let service = Empty::default();
        let seen = Arc::clone(&service.seen);
        let (kill, killed) = oneshot::channel();
        let serving = async move {
            let listener = TcpListener::from_std(listener).expect("a socket");
            let mut server = Server::builder();
            if let Some(identity) = identity {
                let tls = ServerTlsConfig::new().identity(identity);
                server = server.tls_config(tls).expect("an identity");
            }
            let incoming = TcpListenerStream::new(listener);
            tokio::select! {
                served = server.add_service(service).serve_with_incoming(incoming) => {
                    served.expect("it serves");
                }
                _ = killed => {}
            }
        };
        let thread = std::thread::spawn(move || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder
                .enable_all()
                .build()
                .expect("a runtime")
                .block_on(serving);
        });
        Self {
            address,
            seen,
            kill: Some(kill),
            thread: Some(thread),
        }
    }

    fn local() -> Self {
        Self::start(ANY, None)
    }

    /// Its sockets are closed when this returns.
    fn kill(&mut self) {
        drop(self.kill.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn quick() -> Config {
    let mut config = Config::GRPC;
    config.initial_backoff = Duration::from_millis(20);
    config.max_backoff = Duration::from_millis(100);
    config
}

/// More than anything here takes; only a test that fails needs it.
async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .expect("in time")
}

#[tokio::test]
async fn a_channel_survives_its_server() {
    let mut server = Running::local();
    let target: Uri = format!("http://localhost:{}", server.address.port())
        .parse()
        .expect("a URI");
    let channel = Channel::new(quick(), target).expect("valid");
    let mut calls = channel.clone().calls(Wait::ForReady);
    in_time(call(&mut calls)).await.expect("it answers");
    let seen = server.seen.lock().expect("sound")[0].clone();
    assert_eq!(
        seen.uri,
        format!("http://localhost:{}/test.Test/Empty", server.address.port())
    );
    assert!(seen.user_agent.starts_with("grpc-backoff/"), "{seen:?}");

    server.kill();
    let mut watch = channel.watch();
    let gone = watch.wait_for(|status| matches!(status.state, State::TransientFailure { .. }));
    in_time(gone).await.expect("the channel is there");
    let back = Running::start(server.address, None);
    let ready = watch.wait_for(|status| matches!(status.state, State::Ready { .. }));
    in_time(ready).await.expect("the channel is there");
    in_time(call(&mut calls)).await.expect("it answers");
    assert_eq!(back.seen.lock().expect("sound").len(), 1);
}

#[tokio::test]
async fn tonics_channel_survives_its_server() {
    let mut server = Running::local();
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).expect("a URI");
    let endpoint = endpoint.user_agent("mine").expect("text");
    let connector = Connector::new(quick()).expect("valid").wait_for_ready();
    let mut channel = connector.lazy(endpoint);
    in_time(call(&mut channel)).await.expect("it answers");
    let seen = server.seen.lock().expect("sound")[0].clone();
    assert!(seen.user_agent.starts_with("mine tonic/"), "{seen:?}");

    server.kill();
    let back = Running::start(server.address, None);
    let mut tries = 0; // a call may find the old connection before it is known to be gone
    while in_time(call(&mut channel)).await.is_err() {
        tries += 1;
        assert!(tries < 100);
    }
    assert_eq!(back.seen.lock().expect("sound").len(), 1);
}

/// Tonic itself is built with TLS here, which would wrap or refuse `https` outside the connector.
#[tokio::test]
async fn over_tls_calls_say_https_and_the_name() {
    let own = certificate(&["localhost"]);
    let identity = Identity::from_pem(own.cert.pem(), own.signing_key.serialize_pem());
    let server = Running::start(ANY, Some(identity));
    let target = format!("https://localhost:{}", server.address.port());
    let tls = trusting(own.cert.der());

    let uri: Uri = target.parse().expect("a URI");
    let builder = Builder::new(quick()).with_tls(tls.clone());
    let mut channel = builder.channel(uri).expect("valid").calls(Wait::ForReady);
    in_time(call(&mut channel)).await.expect("it answers");

    let endpoint = Endpoint::from_shared(target.clone()).expect("a URI");
    let connector = Builder::new(quick()).with_tls(tls).build().expect("valid");
    let mut channel = connector.wait_for_ready().lazy(endpoint);
    in_time(call(&mut channel)).await.expect("it answers");

    let seen = server.seen.lock().expect("sound").clone();
    let uris: Vec<_> = seen.iter().map(|seen| &*seen.uri).collect();
    let expected = format!("{target}/test.Test/Empty");
    assert_eq!(uris, [&*expected; 2]);
}

/// What nobody said of TLS: for `https` it is spoken, and Mozilla's list knows no such certificate.
#[tokio::test]
async fn https_alone_is_tls_that_trusts_the_public_authorities() {
    let own = certificate(&["localhost"]);
    let identity = Identity::from_pem(own.cert.pem(), own.signing_key.serialize_pem());
    let server = Running::start(ANY, Some(identity));
    let target = format!("https://localhost:{}", server.address.port());
    let channel = Channel::new(quick(), target.parse().expect("a URI")).expect("valid");
    let mut watch = channel.watch();
    let refused = watch.wait_for(|status| {
        let status = status.to_string();
        status.contains("last: TLS: invalid peer certificate: UnknownIssuer")
    });
    in_time(refused).await.expect("the channel is there");
}

#[tokio::test]
async fn an_inner_connector_to_a_unix_socket() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a new socket");
    let service = Empty::default();
    let seen = Arc::clone(&service.seen);
    let incoming = UnixListenerStream::new(listener);
    let serving = Server::builder()
        .add_service(service)
        .serve_with_incoming(incoming);
    let task = tokio::spawn(serving);

    let inner = service_fn(move |_: Uri| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
    });
    let builder = Builder::new(quick()).over(inner);
    let mut channel = builder
        .channel("http://localhost".parse().expect("a URI"))
        .expect("valid")
        .calls(Wait::ForReady);
    let mut patient = Request::new(());
    patient.set_timeout(Duration::from_secs(20));
    in_time(request(&mut channel, patient))
        .await
        .expect("it answers");
    assert_eq!(
        seen.lock().expect("sound")[0].uri,
        "http://localhost/test.Test/Empty"
    );
    task.abort();
}
