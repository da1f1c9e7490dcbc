//! The tonic layer: in virtual time against servers in memory, and once against a real tonic
//! server over sockets.

mod channel;
mod connector;
mod loopback;
mod observe;
mod settings;
mod streams;
mod tls;

use conformance::draws::middle;
use grpc_backoff::Config;
use grpc_backoff::tonic::Builder;
use grpc_faults::Memory;
use http::uri::PathAndQuery;
use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::Instant;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;
use tonic_types::StatusExt;
use tower::Service;

/// A connector or channel to this server, with middle draws.
fn over(server: &Memory) -> Builder {
    Builder::new(Config::GRPC)
        .over(server.clone())
        .with_draws(middle)
}

const TARGET: &str = "http://server.test:50051";

fn endpoint() -> Endpoint {
    Endpoint::from_static(TARGET)
}

/// A unary call with an empty message, made as generated code makes it.
async fn call<S>(service: &mut S) -> Result<(), Status>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Error: Into<Box<dyn Error + Send + Sync>> + Debug,
{
    request(service, Request::new(())).await
}

async fn request<S>(service: &mut S, request: Request<()>) -> Result<(), Status>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Error: Into<Box<dyn Error + Send + Sync>> + Debug,
{
    let mut client = Grpc::new(service);
    client.ready().await.expect("readiness never fails");
    let path = PathAndQuery::from_static("/test.Test/Empty");
    let answer = client.unary(request, path, ProstCodec::<(), ()>::default());
    answer.await.map(|_| ())
}

/// A call failed since the first attempt was refused.
fn assert_refused_once(failed: &Status) {
    assert_eq!(failed.code(), Code::Unavailable);
    let told = failed.message();
    assert!(
        told.starts_with("TRANSIENT_FAILURE after 1 failure"),
        "{told}"
    );
}

/// The time until the next attempt that a failed call tells.
fn retry_delay(status: &Status) -> Option<Duration> {
    status.get_details_retry_info()?.retry_delay
}

#[expect(clippy::disallowed_methods, reason = "the paused clock of these tests")]
fn virtual_now() -> Instant {
    Instant::now()
}

/// Lets every task run that can.
async fn settled() {
    tokio::time::sleep(Duration::from_nanos(1)).await;
}
