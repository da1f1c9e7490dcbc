//! The negative control: plain tonic, which dials whenever there is a call, and never gives up
//! on an attempt. Every bed must fail it, until it dials by our connector.

use crate::dials::{Dialled, trusts_nobody};
use grpc_backoff::tonic::{Builder, LazyChannel, Tls};
use http::Uri;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;
use tower::Service;

/// No client makes more.
const CALLS: usize = 20;
/// The pause between two calls.
const PAUSE: Duration = Duration::from_millis(20);

/// What a server in memory is called.
pub(crate) const TARGET: &str = "http://faults.test";

fn endpoint(target: Uri, keepalive: Duration) -> Endpoint {
    Endpoint::from(target)
        .http2_keep_alive_interval(keepalive)
        .keep_alive_timeout(keepalive)
        .keep_alive_while_idle(true)
}

/// Calls again and again, and waits no longer than `patience` for each answer. Gives how many
/// calls came to no good end.
pub(crate) async fn call_again_and_again(
    dial: impl Fn() -> Dialled + Clone + Send + 'static,
    keepalive: Duration,
    patience: Duration,
) -> usize {
    let connector = tower::service_fn(move |_| {
        let dialled = dial();
        async { dialled.await.map(TokioIo::new) }
    });
    let mut channel =
        endpoint(Uri::from_static(TARGET), keepalive).connect_with_connector_lazy(connector);
    let mut failures = 0;
    for _ in 0..CALLS {
        let answered = timeout(patience, call(&mut channel)).await;
        failures += usize::from(!matches!(answered, Ok(Ok(()))));
        sleep(PAUSE).await;
    }
    failures
}

/// Tonic's own channel over our connector, where calls wait for a connection.
pub(crate) fn over_ours(
    mut builder: Builder,
    target: Uri,
    tls: bool,
    keepalive: Duration,
) -> LazyChannel {
    if tls {
        builder = builder.with_tls(Tls::new(trusts_nobody()));
    }
    let connector = builder.build().expect("valid").wait_for_ready();
    connector.lazy(endpoint(target, keepalive))
}

/// Calls again and again over such a channel, for as long as it is polled.
pub(crate) async fn call_for_ever(mut channel: LazyChannel) {
    loop {
        let _ = call(&mut channel).await;
        sleep(PAUSE).await;
    }
}

/// A unary call with an empty message.
async fn call<S>(service: &mut S) -> Result<(), Status>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Error: Into<Box<dyn Error + Send + Sync>> + Debug,
{
    let mut client = Grpc::new(service);
    client.ready().await.expect("readiness never fails");
    let path = PathAndQuery::from_static("/faults.Test/Call");
    let answer = client.unary(Request::new(()), path, ProstCodec::<(), ()>::default());
    answer.await.map(|_| ())
}
