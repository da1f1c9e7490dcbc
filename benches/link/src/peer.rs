//! One side of a measured connection: this program again, in one of the namespaces.
//!
//! The serving side prints a line when it listens and one when its input ends; the dialling side
//! prints one line when its work is done.

mod content;
mod dial;
mod kcp;
mod messages;
mod quinn;
mod rudp;
mod serve;
mod tcp;
mod work;

use std::{any::Any, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use socket2::{Domain, Socket, Type};
use tokio::{
    io::{self, AsyncRead, AsyncWrite, DuplexStream, ReadHalf, WriteHalf},
    sync::mpsc,
};

pub use self::quinn::write_keys;
use crate::protocol::Protocol;
pub use dial::{Bulk, Handshakes};
pub use messages::Messages;
pub use serve::{Listens, Served};

/// Bytes of each buffer that a peer lets us set: more than any of the paths holds.
const BUFFER: usize = 8 << 20;

/// What the program does as a peer.
#[derive(Args, Debug)]
pub struct Peer {
    /// Where quinn's certificate and key are
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    protocol: Protocol,
    address: SocketAddr,
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Serve until the input ends
    Serve,
    /// Send bytes and wait until the other side has them all
    Bulk {
        bytes: u64,
        /// After so many seconds it is over
        limit: u64,
    },
    /// Send for as long as the other side counts
    Flow { from: u64, until: u64 },
    /// Send messages at a fixed pace and wait for their echoes
    Messages {
        count: usize,
        /// Milliseconds from one to the next
        pace: u64,
        /// Seconds that are waited for echoes after the last
        patience: u64,
    },
    /// Connect, ask, wait for the answer, close, again and again
    Handshakes { count: usize },
}

impl Peer {
    /// Does it, and prints what came of it.
    pub fn run(self) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let Self {
            keys,
            protocol,
            address,
            role,
        } = self;
        let dialer = Dialer {
            protocol,
            address,
            keys,
        };
        // A task, since the body of `block_on` runs on none of the runtime's threads, and every waker
        // would have to cross from one to another.
        let work = runtime.spawn(async move {
            Ok::<_, anyhow::Error>(match role {
                Role::Serve => serde_json::to_string(&serve::run(&dialer).await?)?,
                Role::Bulk { bytes, limit } => {
                    let limit = Duration::from_secs(limit);
                    serde_json::to_string(&dial::bulk(&dialer, bytes, limit).await?)?
                }
                Role::Flow { from, until } => {
                    dial::flow(&dialer, from, until).await?;
                    String::from("{}")
                }
                Role::Messages {
                    count,
                    pace,
                    patience,
                } => {
                    let [pace, patience] =
                        [Duration::from_millis(pace), Duration::from_secs(patience)];
                    serde_json::to_string(&messages::run(&dialer, count, pace, patience).await?)?
                }
                Role::Handshakes { count } => {
                    serde_json::to_string(&dial::handshakes(&dialer, count).await?)?
                }
            })
        });
        println!("{}", runtime.block_on(work)??);
        // A task may still wait for input, or linger for a peer that is gone.
        std::process::exit(0)
    }
}

/// An ordered stream of bytes each way.
struct Stream {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// What must live as long as the stream.
    _keep: Box<dyn Any + Send>,
}

impl Stream {
    fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        keep: impl Any + Send,
    ) -> Self {
        Self {
            reader: Box::new(reader),
            writer: Box::new(writer),
            _keep: Box::new(keep),
        }
    }

    /// One whose writes are messages, which may come in another order; and its other end, from which
    /// they are to be sent, and to which those of the other side are to be written.
    fn of_messages(
        keep: impl Any + Send,
    ) -> (Self, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) {
        let (near, far) = io::duplex(BUFFER);
        let ((reader, writer), (written, read)) = (io::split(near), io::split(far));
        (Self::new(reader, writer, keep), written, read)
    }
}

/// A listening socket, whose streams go into a channel.
struct Listening {
    address: SocketAddr,
    /// How many corrupted datagrams were found so far, if the transport says so.
    corrupted: Box<dyn Fn() -> Option<u64> + Send>,
}

impl Listening {
    fn at(address: SocketAddr) -> Self {
        let corrupted = Box::new(|| None);
        Self { address, corrupted }
    }
}

/// Whom to reach, and how.
struct Dialer {
    protocol: Protocol,
    address: SocketAddr,
    keys: PathBuf,
}

impl Dialer {
    async fn dial(&self) -> anyhow::Result<Stream> {
        let address = self.address;
        match self.protocol {
            Protocol::Cubic => tcp::dial(address, "cubic").await,
            Protocol::Bbr => tcp::dial(address, "bbr").await,
            Protocol::Quinn => quinn::dial(address, &self.keys, quinn::Control::Cubic).await,
            Protocol::QuinnBbr => quinn::dial(address, &self.keys, quinn::Control::Bbr).await,
            Protocol::QuinnMessages => quinn::dial_for_messages(address, &self.keys).await,
            Protocol::Kcp => kcp::dial(address).await,
            Protocol::Rudp => rudp::dial(address, true).await,
            Protocol::RudpUnbundled => rudp::dial(address, false).await,
            Protocol::RudpMessages => rudp::dial_for_messages(address).await,
        }
    }

    async fn listen(&self, streams: mpsc::Sender<Stream>) -> anyhow::Result<Listening> {
        let address = self.address;
        match self.protocol {
            Protocol::Cubic => tcp::listen(address, "cubic", streams),
            Protocol::Bbr => tcp::listen(address, "bbr", streams),
            Protocol::Quinn => quinn::listen(address, &self.keys, quinn::Control::Cubic, streams),
            Protocol::QuinnBbr => quinn::listen(address, &self.keys, quinn::Control::Bbr, streams),
            Protocol::QuinnMessages => quinn::listen_for_messages(address, &self.keys, streams),
            Protocol::Kcp => kcp::listen(address, streams).await,
            Protocol::Rudp => rudp::listen(address, true, streams),
            Protocol::RudpUnbundled => rudp::listen(address, false, streams),
            Protocol::RudpMessages => rudp::listen_for_messages(address, streams),
        }
    }
}

/// A UDP socket with buffers for a burst; the system may give less.
fn udp(address: SocketAddr) -> std::io::Result<std::net::UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    socket.set_recv_buffer_size(BUFFER / 2)?;
    socket.set_send_buffer_size(BUFFER / 2)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Any port, for a client.
const ANY: SocketAddr = SocketAddr::V4(std::net::SocketAddrV4::new(
    std::net::Ipv4Addr::UNSPECIFIED,
    0,
));
