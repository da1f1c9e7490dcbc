//! How clients reach a server here: in memory or over TCP, plain or with TLS.

use grpc_faults::{Listener, Memory};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// What all of them are.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(crate) type Dialled = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

pub(crate) fn memory(server: &Memory, tls: bool) -> impl Fn() -> Dialled + Clone + use<> {
    let server = server.clone();
    move || {
        let server = server.clone();
        Box::pin(async move { secured(server.connect().await?, tls).await })
    }
}

pub(crate) fn tcp(server: &Listener, tls: bool) -> impl Fn() -> Dialled + Clone + use<> {
    let server = server.address();
    move || address(server, tls)
}

pub(crate) fn address(server: SocketAddr, tls: bool) -> Dialled {
    Box::pin(async move { secured(TcpStream::connect(server).await?, tls).await })
}

async fn secured(stream: impl Stream + 'static, tls: bool) -> io::Result<Box<dyn Stream>> {
    if !tls {
        return Ok(Box::new(stream));
    }
    let mut config = trusts_nobody();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from("faults.test").expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream);
    Ok(Box::new(stream.await?))
}

/// No server here gets as far as a certificate.
pub(crate) fn trusts_nobody() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}
