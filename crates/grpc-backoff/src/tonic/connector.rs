use super::builder::{Connection, Dialler};
use super::{BoxFuture, Builder, LazyChannel, Unavailable};
use crate::{Config, ConfigError, Handle, Wait};
use core::fmt;
use core::future::ready;
use core::task::{Context, Poll};
use http::Uri;
use std::boxed::Box;
use std::format;
use std::sync::{Arc, OnceLock};
use tokio::sync::Mutex;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

/// Dials for a tonic channel, as often as the connection backoff allows and no more.
///
/// Tonic dials once for each call that finds no connection. With this connector such a call gets
/// an error at once while the backoff waits (C3), or waits with it by
/// [`wait_for_ready`](Self::wait_for_ready). Calls use a connection before the server's SETTINGS is there;
/// only the reset of the backoff waits for it (D13).
///
/// ```
/// # use grpc_backoff::{Config, ConfigError, tonic::Connector};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ConfigError> {
/// # let endpoint = tonic::transport::Endpoint::from_static("http://127.0.0.1:50051");
/// let channel = Connector::new(Config::GRPC)?.lazy(endpoint); // instead of endpoint.connect_lazy()
/// # drop(channel); Ok(()) }
/// ```
///
/// A connector serves one target, the one of its first call. An endpoint of the scheme `unix`
/// keeps its path to itself: give a connector to that socket, by [`Builder::over`].
///
/// # Deadlines
///
/// A call that waits for a connection does so in the queue of tonic's channel, where its own
/// timeout does not count yet: put a `tokio::time::timeout` around it, or use a
/// [`Channel`](super::Channel). `Endpoint::connect_timeout` does nothing to [`lazy`](Self::lazy);
/// with `Endpoint::connect_with_connector_lazy` it ends the wait of a call, but no attempt: that
/// has the connect deadline (S5).
pub struct Connector {
    dialler: Arc<Mutex<Dialler<Connection>>>,
    target: Arc<OnceLock<Uri>>,
    handle: Handle<Uri>,
    wait: Wait,
}

impl Connector {
    /// Makes a connector that dials by TCP, with TLS where the URI says `https`, and whose calls
    /// fail fast. A [`Builder`] has more to choose.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        Builder::new(config).build()
    }

    pub(super) fn build(builder: Builder) -> Result<Self, ConfigError> {
        let target = Arc::new(OnceLock::new());
        let own = |connection| -> BoxFuture<_> { Box::pin(ready(Ok(connection))) };
        let dialler = builder.dialler(Arc::clone(&target), own)?;
        Ok(Self {
            handle: dialler.handle().clone(),
            dialler: Arc::new(Mutex::new(dialler)),
            target,
            wait: Wait::FailFast,
        })
    }

    /// Lets calls wait for a connection, however long that takes (C3). Default: they fail fast.
    #[must_use]
    pub const fn wait_for_ready(mut self) -> Self {
        self.wait = Wait::ForReady;
        self
    }

    /// Makes a tonic channel to this endpoint, with all its settings, that connects when there is a
    /// call.
    ///
    /// TLS is the connector's own, since tonic's would hide the server's first frame: what
    /// `Endpoint::tls_config` says is not used.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime: tonic's channel has a task.
    #[must_use]
    pub fn lazy(self, endpoint: Endpoint) -> LazyChannel {
        let handle = self.handle.clone();
        LazyChannel::new(Channel::new(self, endpoint), handle)
    }

    /// Reads and commands it from anywhere: the state, a watch, a reset.
    #[must_use]
    pub const fn handle(&self) -> &Handle<Uri> {
        &self.handle
    }
}

impl Service<Uri> for Connector {
    type Response = Connection;
    type Error = Unavailable;
    type Future = BoxFuture<Result<Connection, Unavailable>>;

    /// Always ready: an error here would close tonic's channel for good.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unavailable>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let own = self.target.get_or_init(|| target.clone());
        if *own != target {
            let why = format!("the connector is for {own}, not for {target}");
            return Box::pin(ready(Err(Unavailable::new(why, None))));
        }
        let (dialler, wait) = (Arc::clone(&self.dialler), self.wait);
        Box::pin(async move {
            let mut dialler = dialler.lock().await;
            // A panic would end the task of tonic's channel, and with it every call.
            let connected = dialler.connect_past_panics(wait).await;
            connected.map_err(Unavailable::from)
        })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("target", &self.target)
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}
