//! Ways to dial a server that never accepts: the right one, and two that must not pass.

use crate::proto::ReconnectParams;
use crate::proto::reconnect_service_client::ReconnectServiceClient;
use anyhow::bail;
use grpc_backoff::{Config, Failure, FirstFrame, Reconnector, SettingsProbe};
use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{interval, timeout};
use tokio_rustls::TlsConnector;
use tonic::codegen::Service;
use tonic::transport::Endpoint;

/// Calls of plain tonic at most: each is a dial at once.
pub const PLAIN_CALLS: usize = 1_000;

/// Dials for so long by this project's backoff.
///
/// # Errors
///
/// A server that accepts: it is no retry port.
pub async fn by_grpc_backoff<S>(
    config: Config,
    uri: Uri,
    tls: Option<ClientConfig>,
    connector: S,
    lasts: Duration,
) -> anyhow::Result<()>
where
    S: Service<Uri, Error: Error + Send + Sync + 'static> + Clone,
    S::Response: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    let name = ServerName::try_from(uri.host().unwrap_or_default())?.to_owned();
    let tls = tls.map(|config| TlsConnector::from(Arc::new(config)));
    let mut server = Reconnector::new(config, move |_| {
        let (mut connector, uri) = (connector.clone(), uri.clone());
        let (tls, name) = (tls.clone(), name.clone());
        async move {
            let stream = connector.call(uri).await.map_err(io::Error::other)?;
            let stream = TokioIo::new(stream);
            match tls {
                Some(tls) => accepted(tls.connect(name, stream).await?).await?,
                None => accepted(stream).await?,
            }
            Ok::<_, Failure<io::Error>>(())
        }
    })?;
    if let Ok(connected) = timeout(lasts, server.connect()).await {
        connected?;
        bail!("the retry port accepted a connection: it must close each");
    }
    Ok(())
}

/// Says hello, and waits for SETTINGS (S11).
async fn accepted(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    const EMPTY_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await?;
    stream.write_all(&EMPTY_SETTINGS).await?;
    let mut probe = SettingsProbe::new();
    loop {
        match probe.handle_received(&[stream.read_u8().await?]) {
            FirstFrame::Unknown => {}
            FirstFrame::Settings => return Ok(()),
            FirstFrame::Other(other) => return Err(io::Error::other(other)),
        }
    }
}

/// Dials for so long by tonic alone, which does not back off: a call after the other, each of
/// which fails with its dial.
///
/// # Errors
///
/// As [`by_grpc_backoff`].
pub async fn by_plain_tonic<S>(uri: Uri, connector: S, lasts: Duration) -> anyhow::Result<()>
where
    S: Service<Uri, Error: Error + Send + Sync, Future: Send> + Send + 'static,
    S::Response: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let channel = Endpoint::from(uri).connect_with_connector_lazy(connector);
    let mut server = ReconnectServiceClient::new(channel);
    let calls = async {
        for _ in 0..PLAIN_CALLS {
            if server.start(ReconnectParams::default()).await.is_ok() {
                bail!("the retry port accepted a call: it must close each connection");
            }
        }
        Ok(())
    };
    timeout(lasts, calls).await.unwrap_or(Ok(()))
}

/// Dials for so long at a constant interval.
pub async fn at_an_interval<S>(every: Duration, uri: Uri, mut connector: S, lasts: Duration)
where
    S: Service<Uri>,
{
    let dials = async {
        let mut ticks = interval(every);
        loop {
            ticks.tick().await;
            let _ = connector.call(uri.clone()).await; // and closes it
        }
    };
    let _: Result<(), _> = timeout(lasts, dials).await;
}
