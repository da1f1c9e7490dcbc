//! The server of the tonic examples: gRPC's health checking, of one service.

#![allow(dead_code, reason = "no example uses all of it")]

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{self, Identity, Server, ServerTlsConfig};

/// A running server that counts its calls.
pub(crate) struct HealthServer {
    pub(crate) address: SocketAddr,
    calls: Arc<AtomicU32>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), transport::Error>>,
}

impl HealthServer {
    /// Starts at a free port of the loopback.
    pub(crate) fn start(tls: Option<&Identity>) -> Result<Self, Box<dyn Error>> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), tls)
    }

    pub(crate) fn start_at(
        address: SocketAddr,
        tls: Option<&Identity>,
    ) -> Result<Self, Box<dyn Error>> {
        let incoming = TcpIncoming::bind(address)?;
        let address = incoming.local_addr()?;
        let mut server = Server::builder();
        if let Some(identity) = tls {
            server = server.tls_config(ServerTlsConfig::new().identity(identity.clone()))?;
        }
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        let (_, health) = tonic_health::server::health_reporter();
        let service = InterceptedService::new(health, move |call: tonic::Request<()>| {
            counted.fetch_add(1, Relaxed);
            Ok(call)
        });
        let (stop, stopped) = oneshot::channel();
        let served = (server.add_service(service)).serve_with_incoming_shutdown(incoming, async {
            let _ = stopped.await;
        });
        Ok(Self {
            address,
            calls,
            stop,
            task: tokio::spawn(served),
        })
    }

    /// The calls since this was last asked.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.swap(0, Relaxed)
    }

    /// Says GOAWAY, and is gone: nobody listens any more.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}
