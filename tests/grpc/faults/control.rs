//! The negative control: plain tonic, which dials whenever there is a call, and never gives up
//! on an attempt. Every bed must fail it.

use crate::dials::Dialled;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

/// No client makes more.
const CALLS: usize = 20;
/// The pause between two calls.
const PAUSE: Duration = Duration::from_millis(20);

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
    let channel = Endpoint::from_static("http://faults.test")
        .http2_keep_alive_interval(keepalive)
        .keep_alive_timeout(keepalive)
        .keep_alive_while_idle(true)
        .connect_with_connector_lazy(connector);
    let mut client = Grpc::new(channel);
    let mut failures = 0;
    for _ in 0..CALLS {
        let answered = timeout(patience, call(&mut client)).await;
        failures += usize::from(!matches!(answered, Ok(Ok(()))));
        sleep(PAUSE).await;
    }
    failures
}

async fn call(client: &mut Grpc<tonic::transport::Channel>) -> Result<(), Status> {
    let ready = client.ready().await;
    ready.map_err(|error| Status::unavailable(error.to_string()))?;
    let path = PathAndQuery::from_static("/faults.Test/Call");
    let codec = ProstCodec::<(), ()>::default();
    let answer = client.unary(Request::new(()), path, codec).await;
    answer.map(|_| ())
}
