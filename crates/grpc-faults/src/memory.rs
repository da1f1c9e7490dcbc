use crate::{Fault, record::Record, serve};
use http::Uri;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{DuplexStream, duplex};
use tokio::task::JoinSet;

/// A server in memory: nothing but tokio's clock makes time pass, so a paused one gives exact
/// instants.
///
/// It is a [`tower_service::Service`] of any [`Uri`], as tonic and hyper want their connectors.
/// Clones are the same server. When the last one is dropped, so are its connections.
#[derive(Clone, Debug)]
pub struct Memory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    record: Record,
    /// From which dial on which fault, in order; the first is from dial 0.
    faults: Mutex<Vec<(usize, Fault)>>,
    connections: Mutex<JoinSet<()>>,
}

/// What may lie in a pipe before its writer has to wait, as in a socket's buffer.
const BUFFER: usize = 64 * 1024;

impl Memory {
    /// Makes a server with this fault. It must be dialled inside a tokio runtime.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self {
            inner: Arc::new(Inner {
                record: Record::new(),
                faults: Mutex::new(vec![(0, fault)]),
                connections: Mutex::default(),
            }),
        }
    }

    /// Changes the fault once it was dialled so many times in all; the connections there stay.
    #[must_use]
    pub fn after(self, dials: usize, fault: Fault) -> Self {
        let mut faults = self.inner.faults.lock().expect("no holder panics");
        faults.push((dials, fault));
        faults.sort_by_key(|&(dials, _)| dials); // stable: of two, the later said holds
        drop(faults);
        self
    }

    /// Breaks every connection, and goes on with this fault.
    pub fn restart(&self, fault: Fault) {
        *self.inner.faults.lock().expect("no holder panics") = vec![(0, fault)];
        let mut connections = self.inner.connections.lock().expect("no holder panics");
        connections.abort_all();
    }

    /// When it was dialled, since it was made.
    #[must_use]
    pub fn starts(&self) -> Vec<Duration> {
        self.inner.record.starts()
    }

    /// How many connections are open on the server's side.
    #[must_use]
    pub fn connections(&self) -> usize {
        let mut connections = self.inner.connections.lock().expect("no holder panics");
        while connections.try_join_next().is_some() {}
        connections.len()
    }

    /// Dials it.
    ///
    /// # Errors
    ///
    /// [`Fault::Refuse`] gives `ConnectionRefused`.
    #[expect(clippy::unused_async, reason = "as any connect function")]
    pub async fn connect(&self) -> io::Result<DuplexStream> {
        self.dial()
    }

    fn dial(&self) -> io::Result<DuplexStream> {
        let nth = self.inner.record.note();
        let faults = self.inner.faults.lock().expect("no holder panics");
        let reached = faults.iter().rfind(|&&(dials, _)| dials <= nth);
        let fault = reached.map_or(Fault::Healthy, |&(_, fault)| fault);
        drop(faults);
        if fault == Fault::Refuse {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (client, server) = duplex(BUFFER);
        let mut connections = self.inner.connections.lock().expect("no holder panics");
        while connections.try_join_next().is_some() {} // forget those that have ended
        connections.spawn(async move {
            let _ = serve(fault, server).await;
        });
        Ok(client)
    }
}

impl tower_service::Service<Uri> for Memory {
    type Response = TokioIo<DuplexStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { server.connect().await.map(TokioIo::new) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio::time::sleep;

    /// Until nothing moves any more.
    async fn settled() {
        sleep(Duration::from_secs(1)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_fault_changes_after_so_many_dials() {
        let server = Memory::new(Fault::Refuse)
            .after(2, Fault::AcceptThenClose)
            .after(3, Fault::Healthy);
        for _ in 0..2 {
            let error = server.connect().await.expect_err("it refuses");
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        }
        let mut closed = server.connect().await.expect("it accepts");
        assert!(closed.read_u8().await.is_err());
        let mut healthy = server.connect().await.expect("it accepts");
        assert_eq!(healthy.read_u8().await.expect("SETTINGS"), 0);
        assert_eq!(server.starts().len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_restart_breaks_connections_and_nothing_stays_behind() {
        let server = Memory::new(Fault::BlackHole);
        let mut silent = server.connect().await.expect("it accepts");
        let dropped = server.connect().await.expect("it accepts");
        settled().await;
        assert_eq!(server.connections(), 2);
        drop(dropped);
        settled().await;
        assert_eq!(server.connections(), 1);
        server.restart(Fault::Refuse);
        assert!(silent.read_u8().await.is_err());
        assert_eq!(server.connections(), 0);
        assert!(server.connect().await.is_err());
    }
}
