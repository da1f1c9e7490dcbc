//! Calls balanced over three servers, each behind a channel that reconnects by itself. One that is
//! in its backoff is not ready, so the balancer passes over it.
//!
//! `cargo run -p grpc-backoff --features tonic --example tonic_balanced`

mod health;

use grpc_backoff::{Config, State, Status, tonic::Channel};
use health::HealthServer;
use std::time::Duration;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::balance::p2c::Balance;
use tower::discover::ServiceList;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut servers, mut channels) = (Vec::new(), Vec::new());
    // A tenth of the usual first wait, so that you need not wait. Say `Config::GRPC` in earnest.
    let config = Config {
        initial_backoff: Duration::from_millis(100),
        ..Config::GRPC
    };
    for _ in 0..3 {
        let server = HealthServer::start(None)?;
        channels.push(Channel::new(
            config,
            format!("http://{}", server.address).parse()?,
        )?);
        servers.push(server);
    }
    let mut third = channels[2].watch();
    let mut client = HealthClient::new(Balance::new(ServiceList::new(channels)));

    let all = share(&mut client, &servers).await?;
    println!("90 calls: {all:?}");
    assert!(all.iter().all(|&calls| calls > 0), "each gets some");

    let address = servers[2].address;
    servers.pop().expect("three").stop().await;
    println!("{}", *third.wait_for(|status| status.failures > 0).await?);
    let rest = share(&mut client, &servers).await?; // no call fails
    println!("90 calls: {rest:?}");
    assert_eq!(rest.iter().sum::<u32>(), 90);

    servers.push(HealthServer::start_at(address, None)?);
    let ready = |status: &Status| matches!(status.state, State::Ready { .. });
    println!("{}", *third.wait_for(ready).await?);
    let all = share(&mut client, &servers).await?;
    assert!(all.iter().all(|&calls| calls > 0), "each gets some again");
    println!("90 calls: all three servers again");
    Ok(())
}

type Balanced = Balance<ServiceList<Vec<Channel>>, http::Request<tonic::body::Body>>;

/// Makes 90 calls, none of which may fail; gives how many of them each server got.
async fn share(
    client: &mut HealthClient<Balanced>,
    servers: &[HealthServer],
) -> Result<Vec<u32>, tonic::Status> {
    for _ in 0..90 {
        client.check(HealthCheckRequest::default()).await?;
    }
    Ok(servers.iter().map(HealthServer::calls).collect())
}
