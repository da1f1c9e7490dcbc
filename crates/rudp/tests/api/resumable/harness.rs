//! Both ends, a path between them that can be cut, and what crosses it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rudp::{
    Clock, Endpoint, EndpointOptions, ListenerOptions, Resumable, ResumableListener,
    ResumableOptions,
    relay::{Relay, RelayConfig, RelayControl},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UdpSocket,
    task::JoinHandle,
};

use crate::any;

/// A path that is dead for a second is noticed; a lost connection is dialled again at once.
pub(crate) fn endpoint_options() -> EndpointOptions {
    let mut options = EndpointOptions {
        reset_key: [7; 32],
        ..EndpointOptions::default()
    };
    options.config.idle_timeout = Duration::from_secs(1);
    options.config.keepalive = Some(Duration::from_millis(300));
    options
}

pub(crate) fn client_options() -> ResumableOptions {
    ResumableOptions {
        endpoint: endpoint_options(),
        backoff: grpc_backoff::Config {
            initial_backoff: Duration::from_millis(5),
            max_backoff: Duration::from_millis(50),
            ..grpc_backoff::Config::GRPC
        },
        ..ResumableOptions::default()
    }
}

pub(crate) fn bind(address: SocketAddr) -> Endpoint {
    Endpoint::bind(address, endpoint_options()).expect("a socket")
}

pub(crate) fn listen(options: ListenerOptions) -> (ResumableListener, SocketAddr) {
    let endpoint = bind(any());
    let address = endpoint.local_addr();
    let listener = ResumableListener::start(endpoint, options).expect("room for a session");
    (listener, address)
}

pub(crate) fn connect(address: SocketAddr) -> Resumable {
    Resumable::connect(address, client_options()).expect("a good config")
}

/// A relay to the server, which can black out.
pub(crate) fn relay_to(server: SocketAddr) -> (SocketAddr, RelayControl) {
    let path = RelayConfig::default();
    let relay = Relay::bind(any(), server, path, Clock::start()).expect("a socket");
    let (address, control) = (relay.local_addr().expect("bound"), relay.control());
    tokio::spawn(relay.run());
    (address, control)
}

/// A path between a client and a server that can be cut, and that changes the client's port.
pub(crate) struct Path {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Path {
    /// Forwards every datagram; a new client gets a port of its own.
    pub(crate) async fn new(address: SocketAddr, server: SocketAddr) -> Self {
        let front = loop {
            match UdpSocket::bind(address).await {
                Ok(socket) => break Arc::new(socket),
                Err(_) => tokio::task::yield_now().await, // the path before holds it
            }
        };
        let address = front.local_addr().expect("bound");
        let task = tokio::spawn(async move {
            let mut ways: Vec<(SocketAddr, Arc<UdpSocket>, AbortOnDrop)> = Vec::new();
            let mut datagram = [0; 2000];
            loop {
                let Ok((length, client)) = front.recv_from(&mut datagram).await else {
                    continue; // a report of a closed port
                };
                if !ways.iter().any(|way| way.0 == client) {
                    let back = UdpSocket::bind(any()).await.expect("a socket");
                    back.connect(server).await.expect("an address");
                    let back = Arc::new(back);
                    let answers = tokio::spawn(answers(back.clone(), front.clone(), client));
                    ways.push((client, back, AbortOnDrop(answers)));
                }
                let way = ways.iter().find(|way| way.0 == client).expect("just made");
                _ = way.1.send(&datagram[..length]).await;
            }
        });
        Self { address, task }
    }

    /// Nothing gets through any more.
    pub(crate) async fn cut(self) -> SocketAddr {
        self.task.abort();
        _ = self.task.await;
        self.address
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn answers(back: Arc<UdpSocket>, front: Arc<UdpSocket>, client: SocketAddr) {
    let mut datagram = [0; 2000];
    loop {
        if let Ok(length) = back.recv(&mut datagram).await {
            _ = front.send_to(&datagram[..length], client).await;
        }
    }
}

/// Writes `total` bytes that a generator with this seed makes, and returns their hash.
pub(crate) async fn write_all(
    stream: &mut (impl AsyncWrite + Unpin),
    seed: u64,
    total: usize,
) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let (mut state, mut left) = (seed, total);
    while left > 0 {
        let chunk: Vec<u8> = (0..left.min(10_000))
            .map(|_| {
                state = next(state);
                state.to_be_bytes()[0]
            })
            .collect();
        hasher.update(&chunk);
        stream.write_all(&chunk).await.expect("written");
        left -= chunk.len();
    }
    stream.shutdown().await.expect("finished");
    hasher.finalize()
}

/// Reads to the end, tells of every piece, and returns the hash.
pub(crate) async fn read_all(
    stream: &mut (impl AsyncRead + Unpin),
    mut progress: impl FnMut(usize),
) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let (mut chunk, mut total) = (vec![0; 20_000], 0);
    loop {
        let count = stream.read(&mut chunk).await.expect("read");
        if count == 0 {
            return hasher.finalize();
        }
        hasher.update(&chunk[..count]);
        total += count;
        progress(total);
    }
}

/// A step of a generator.
pub(crate) fn next(state: u64) -> u64 {
    state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1)
}

pub(crate) async fn forgotten(listener: &ResumableListener) {
    while listener.sessions() > 0 {
        tokio::task::yield_now().await;
    }
}
