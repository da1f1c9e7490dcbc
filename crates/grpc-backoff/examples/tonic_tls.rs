//! The same over TLS, with a certificate authority of one's own. The connector speaks TLS itself,
//! since tonic's would hide the server's SETTINGS from it.
//!
//! `cargo run -p grpc-backoff --features tls --example tonic_tls`

mod health;

use grpc_backoff::tonic::{Builder, Tls};
use grpc_backoff::{Config, State};
use health::HealthServer;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::transport::{Endpoint, Identity};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let identity = Identity::from_pem(cert.pem(), signing_key.serialize_pem());
    let server = HealthServer::start(Some(&identity))?;
    let address = server.address;

    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone())?;
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // A tenth of the usual first wait, so that you need not wait. Say `Config::GRPC` in earnest.
    let config = Config {
        initial_backoff: Duration::from_millis(100),
        ..Config::GRPC
    };
    let endpoint = Endpoint::from_shared(format!("https://localhost:{}", address.port()))?;
    // Without `with_tls` it trusts the authorities that browsers trust.
    let connector = Builder::new(config).with_tls(Tls::new(tls)).build()?;
    let channel = connector.wait_for_ready().lazy(endpoint); // calls wait during the backoff

    let mut watch = channel.handle().watch();
    let mut client = HealthClient::new(channel);
    client.check(HealthCheckRequest::default()).await?;
    println!("{}", *watch.borrow_and_update()); // READY
    assert!(matches!(watch.borrow().state, State::Ready { .. }));

    server.stop().await;
    let call = tokio::spawn(async move {
        let answer = client.check(HealthCheckRequest::default()).await;
        answer.map(|_| client)
    });
    let failed = watch.wait_for(|status| status.failures >= 2).await?.clone();
    println!("{failed}"); // TRANSIENT_FAILURE after 2 failures; last: TCP: ...

    let server = HealthServer::start_at(address, Some(&identity))?;
    let _client = call.await??; // its call has waited
    println!("{}", *watch.borrow_and_update());
    assert!(matches!(watch.borrow().state, State::Ready { .. }));
    server.stop().await;
    Ok(())
}
