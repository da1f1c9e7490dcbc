//! The ports: one to control, the others to dial in vain.

use crate::Recorder;
use crate::proto::reconnect_service_server::ReconnectServiceServer;
use anyhow::Context;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// TLS handshakes at a time; a connection beyond them is closed at once.
const HANDSHAKES: usize = 64;
/// What a handshake may take.
const HANDSHAKE_TIME: Duration = Duration::from_secs(5);

/// Serves the control port, plaintext gRPC, until it fails.
///
/// # Errors
///
/// Where the port cannot be served any longer.
pub async fn control(port: TcpListener, recorder: Recorder) -> anyhow::Result<()> {
    let service = ReconnectServiceServer::new(recorder);
    let served = Server::builder().add_service(service);
    let served = served.serve_with_incoming(TcpIncoming::from(port)).await;
    served.context("the control port")
}

/// Takes connections in order to close them: at once, or with `tls` after a whole handshake,
/// which must not count as acceptance either (S11).
///
/// # Errors
///
/// Where it cannot accept: a record could miss connections.
pub async fn retry(
    port: TcpListener,
    recorder: Recorder,
    tls: Option<TlsAcceptor>,
) -> anyhow::Result<()> {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let (stream, _) = port.accept().await.context("the retry port")?;
        recorder.handle_accepted();
        if let Some(tls) = &tls
            && let Ok(permit) = handshakes.clone().try_acquire_owned()
        {
            let (recorder, tls) = (recorder.clone(), tls.clone());
            tokio::spawn(async move {
                close_after_handshake(stream, recorder, tls).await;
                drop(permit);
            });
        }
    }
}

/// Shakes hands, says goodbye, closes.
pub async fn close_after_handshake<S>(stream: S, recorder: Recorder, tls: TlsAcceptor)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
        Ok(Ok(mut stream)) => {
            let _ = stream.shutdown().await; // it may be gone: that is all the same
        }
        Ok(Err(error)) => {
            recorder.tell(format_args!("{:>12} the TLS handshake failed: {error}", ""))
        }
        Err(_) => recorder.tell(format_args!("{:>12} the TLS handshake took too long", "")),
    }
}
