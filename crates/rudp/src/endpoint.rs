//! The application's handle of an endpoint.

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use rudp_proto::{CloseReason, Config, EndpointStats, Secrets};
use tokio::{task::JoinHandle, time::timeout};

use crate::{
    Clock, Connection,
    backlog::Backlog,
    driver::Driver,
    socket::BatchSocket,
    state::{Phase, Shared, TraceSink, gone},
};

/// How long [`Endpoint::shutdown`] waits for what is still to be said: 1 s.
const LINGER: Duration = Duration::from_secs(1);

/// Settings of an [`Endpoint`].
#[derive(Clone)]
pub struct EndpointOptions {
    /// Settings of the transport; default [`Config::DEFAULT`]. `trace` is
    /// overridden: it is on if there is an `on_trace`.
    pub config: Config,
    /// The key for stateless resets; default: a random one, with which the
    /// resets of a restarted server mean nothing to its clients: they wait until
    /// their idle timeout. A server that keeps one, and keeps it secret, ends
    /// their connections with the next packet that they send (K5).
    pub reset_key: [u8; 32],
    /// The size asked for the socket's buffers, in bytes; default 4 MiB. The
    /// system may give less, which is logged as a warning.
    pub socket_buffer: usize,
    /// Whether the system may cut large pieces into datagrams, which costs it much less than
    /// datagrams one by one; default yes. Where it cannot, it is not asked.
    pub segmentation_offload: bool,
    /// The clock; default: one that starts now.
    pub clock: Clock,
    /// Takes the traces of every connection; default: none. Called by the
    /// driver's task, so it should be quick. It may use the endpoint.
    pub on_trace: Option<TraceSink>,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            config: Config::DEFAULT,
            reset_key: rand::random(),
            socket_buffer: 4 << 20,
            segmentation_offload: true,
            clock: Clock::start(),
            on_trace: None,
        }
    }
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointOptions")
            .field("config", &self.config)
            .field("socket_buffer", &self.socket_buffer)
            .field("segmentation_offload", &self.segmentation_offload)
            .finish_non_exhaustive()
    }
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The endpoint cannot start one.
    Start(rudp_proto::ConnectError),
    /// The endpoint is one of [`Endpoint::client_to`], made for another server.
    OtherServer {
        /// The one that it is for.
        made_for: SocketAddr,
        /// The one asked for.
        asked_for: SocketAddr,
    },
    /// The handshake ended so.
    Closed(CloseReason),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::OtherServer {
                made_for,
                asked_for,
            } => write!(
                f,
                "the endpoint was made for {made_for} and cannot connect to {asked_for}"
            ),
            Self::Closed(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for ConnectError {}

/// A UDP socket with any number of connections, driven by a task of its own.
///
/// Dropping it is like the death of the process: nothing more is sent, peers
/// are told nothing, and its connections end with [`CloseReason::Local`], code 0.
#[derive(Debug)]
pub struct Endpoint {
    local: SocketAddr,
    only_peer: Option<SocketAddr>,
    shared: Arc<Shared>,
    driver: JoinHandle<()>,
}

impl Endpoint {
    /// Opens an endpoint at a local address (port 0: any) which accepts
    /// connections, and may open some too. Must be called within a runtime.
    ///
    /// # Errors
    ///
    /// Those of the socket, and `InvalidInput` for a bad `config`, with a
    /// [`rudp_proto::ConfigError`] inside (`get_ref`).
    pub fn bind(local: SocketAddr, options: EndpointOptions) -> io::Result<Self> {
        let offload = options.segmentation_offload;
        let socket = BatchSocket::bind(local, options.socket_buffer, offload)?;
        let endpoint = Self::start(socket, options)?;
        endpoint.shared.lock().core.listen(true);
        Ok(endpoint)
    }

    /// Opens an endpoint that talks to one server only, from any port, and accepts nobody. It
    /// learns from the system when nobody listens there, as
    /// [`bind`](Self::bind)'s cannot.
    ///
    /// # Errors
    ///
    /// Those of the socket, and `InvalidInput` for a bad `config`, with a
    /// [`rudp_proto::ConfigError`] inside (`get_ref`).
    pub fn client_to(server: SocketAddr, options: EndpointOptions) -> io::Result<Self> {
        let offload = options.segmentation_offload;
        let socket = BatchSocket::connect(server, options.socket_buffer, offload)?;
        let endpoint = Self::start(socket, options)?;
        endpoint.shared.backlog.close(); // no client can come
        Ok(endpoint)
    }

    fn start(socket: BatchSocket, options: EndpointOptions) -> io::Result<Self> {
        let (local, only_peer) = (socket.local_addr()?, socket.peer());
        let secrets = Secrets {
            reset_key: options.reset_key,
            seed: rand::random(),
        };
        let config = Config {
            trace: options.on_trace.is_some(),
            ..options.config
        };
        let core = rudp_proto::Endpoint::new(config, secrets)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let backlog = Backlog::new(config.max_connections);
        let shared = Shared::new(options.clock, core, backlog);
        let driver = Driver::new(socket, shared.clone(), options.on_trace);
        Ok(Self {
            local,
            only_peer,
            shared,
            driver: tokio::spawn(driver.run()),
        })
    }

    /// The address of the socket.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Connects to a server: returns when it has accepted, that is, when its
    /// SETTINGS have arrived. Dropping the future aborts the handshake.
    ///
    /// # Errors
    ///
    /// A [`ConnectError`]; without an answer after the idle timeout.
    pub async fn connect(&self, server: SocketAddr) -> Result<Connection, ConnectError> {
        if let Some(made_for) = self.only_peer.filter(|only| *only != server) {
            let asked_for = server;
            return Err(ConnectError::OtherServer {
                made_for,
                asked_for,
            });
        }
        let connection = {
            let mut state = self.shared.lock();
            if state.is_over() {
                return Err(ConnectError::Closed(gone()));
            }
            let started = state.core.connect(self.shared.clock.now(), server);
            let handle = started.map_err(ConnectError::Start)?;
            self.shared.open(&mut state, handle, Phase::Connecting)
        };
        self.shared.work.notify_one();
        connection.connected().await.map_err(ConnectError::Closed)?;
        Ok(connection)
    }

    /// Waits for the next connection from a client. `None`: there will be no more, since the endpoint
    /// is one of [`client_to`](Self::client_to), or its runtime has ended. A connection may be over
    /// already; when more than [`max_connections`](Config::max_connections) wait, the oldest of those
    /// that are over is dropped (K9). Cancel-safe.
    pub async fn accept(&self) -> Option<Connection> {
        self.shared.backlog.next().await
    }

    /// The counters of the socket.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        self.shared.lock().core.stats()
    }

    /// Waits until no connection is open and nothing is left to be said, or the runtime has ended.
    /// Cancel-safe.
    pub async fn idle(&self) {
        let idle = &self.shared.idle;
        {
            let state = self.shared.lock();
            if state.is_over() {
                return;
            }
            idle.send_replace(false); // what was asked for just now is still to be done
        }
        self.shared.work.notify_one();
        // No error is possible: the sender lives as long as this endpoint.
        _ = idle.subscribe().wait_for(|&idle| idle).await;
    }

    /// Aborts what is open with code 0, tells the peers, and waits, one second
    /// at most, until nothing is left to be said.
    pub async fn shutdown(self) {
        self.shared.stop(0, "shutting down");
        // On a timeout a peer learns of the end by its own means.
        _ = timeout(LINGER, self.idle()).await;
        self.abandon().await;
    }

    /// Does the same as dropping it, and returns when the port is free again.
    pub async fn abandon(mut self) {
        self.driver.abort();
        // The only possible error is that it was aborted.
        _ = (&mut self.driver).await;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.driver.abort();
        self.shared.end();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// (E3)
    #[tokio::test]
    async fn a_socket_that_sends_no_marks_ends_ecn_and_not_the_transfer() {
        const LENGTH: usize = 1_000_000;
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Endpoint::bind(local, EndpointOptions::default()).expect("a socket");
        for refused in [false, true] {
            let options = EndpointOptions::default();
            let client = if refused {
                let socket = crate::socket::tests::refused(server.local_addr()).await;
                Endpoint::start(socket, options)
            } else {
                Endpoint::client_to(server.local_addr(), options)
            };
            let client = client.expect("a good config");
            let connected = client.connect(server.local_addr());
            let (here, there) = tokio::join!(connected, server.accept());
            let (here, there) = (here.expect("accepted"), there.expect("a client"));
            let (mut send, _) = here.open_stream().await.expect("allowed");
            send.write_all(&[7; LENGTH]).await.expect("open");
            send.finish().expect("open");
            let (_, mut recv) = there.accept_stream().await.expect("opened");
            let read = recv.read_to_end(LENGTH).await.expect("all of it");
            assert!(read == [7; LENGTH]);
            send.acknowledged().await.expect("acknowledged");
            assert_eq!(here.stats().ecn, !refused, "refused: {refused}");
        }
    }
}
