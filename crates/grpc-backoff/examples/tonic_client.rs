//! A generated tonic client that reconnects as gRPC asks: one line is new.
//!
//! `cargo run -p grpc-backoff --features tonic --example tonic_client`

mod health;

use grpc_backoff::Config;
use grpc_backoff::tonic::{Connector, LazyChannel};
use health::HealthServer;
use std::time::Duration;
use tokio::time::sleep;
use tonic::Code;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = HealthServer::start(None)?;
    let address = server.address;
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    // A tenth of the usual first wait, so that you need not wait. Say `Config::GRPC` in earnest.
    let config = Config {
        initial_backoff: Duration::from_millis(100),
        ..Config::GRPC
    };
    // Instead of `endpoint.connect_lazy()`:
    let channel = Connector::new(config)?.lazy(endpoint);

    let handle = channel.handle().clone(); // to look on; a client needs none
    let mut client = HealthClient::new(channel);
    assert_eq!(call(&mut client).await, None); // an answer
    println!("{}", handle.status());

    server.stop().await; // says GOAWAY; nobody listens any more
    for _ in 0..3 {
        let wait = call(&mut client).await.expect("nobody listens");
        sleep(wait).await; // before that, no call can have an answer
    }
    let server = HealthServer::start_at(address, None)?;
    while let Some(wait) = call(&mut client).await {
        sleep(wait).await;
    }
    println!("{}", handle.status());
    server.stop().await;
    Ok(())
}

/// Makes a call; gives how long to wait, as a call that fails is told.
async fn call(client: &mut HealthClient<LazyChannel>) -> Option<Duration> {
    let answer = client.check(HealthCheckRequest::default()).await;
    let error = answer.err()?;
    assert_eq!(error.code(), Code::Unavailable);
    println!("a call failed: {}", error.message());
    let retry = error.get_details_retry_info();
    Some(retry.and_then(|info| info.retry_delay).unwrap_or_default())
}
