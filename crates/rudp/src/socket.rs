//! A UDP socket with large buffers that sends and receives many datagrams at a time.

use std::{
    array,
    io::{self, IoSliceMut},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    task::{Context, Poll},
};

use quinn_udp::{EcnCodepoint, RecvMeta, UdpSocketState};
use rudp_proto::{Ecn, Transmit};
use rustix::io::Errno;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::{io::Interest, net::UdpSocket};

/// How much one system call receives: so many buffers of the most that the system joins.
const BUFFERS: usize = 4;
const BUFFER: usize = 1 << 16;

/// Only here may a connected socket be told where to send, which is how all else is told.
const NAMES_CONNECTED_PEERS: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// A socket as the driver uses it.
#[derive(Debug)]
pub(crate) struct BatchSocket {
    io: UdpSocket,
    state: UdpSocketState,
    /// `Some`: the socket is connected to it.
    peer: Option<SocketAddr>,
    max_segments: usize,
}

/// What one call received.
#[derive(Debug)]
pub(crate) struct Inbox {
    bytes: Box<[u8]>,
    filled: [RecvMeta; BUFFERS],
    count: usize, // of those filled
}

impl BatchSocket {
    /// A socket bound to `local`; with `offload` the system cuts what is sent into datagrams, if
    /// it can.
    pub(crate) fn bind(local: SocketAddr, buffer: usize, offload: bool) -> io::Result<Self> {
        Self::of(bind(local, buffer)?, None, offload)
    }

    /// A socket that exchanges datagrams with `peer` only.
    pub(crate) fn connect(peer: SocketAddr, buffer: usize, offload: bool) -> io::Result<Self> {
        Self::of(connect(peer, buffer)?, Some(peer), offload)
    }

    fn of(io: UdpSocket, peer: Option<SocketAddr>, offload: bool) -> io::Result<Self> {
        let state = UdpSocketState::new((&io).into())?;
        // With times of arrival, which nobody reads, `quinn-udp` has no room for the ECN field of
        // datagrams that were joined.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        nix::sys::socket::setsockopt(&io, nix::sys::socket::sockopt::ReceiveTimestampns, &false)?;
        let offload = offload && (peer.is_none() || NAMES_CONNECTED_PEERS);
        Ok(Self {
            io,
            state,
            peer,
            max_segments: if offload { usize::MAX } else { 1 },
        })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// How many datagrams [`try_send`](Self::try_send) takes at once.
    pub(crate) fn max_segments(&self) -> usize {
        self.state.max_gso_segments().min(self.max_segments)
    }

    /// Waits for something to receive. Only a connected socket has errors to tell.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self.peer {
            Some(_) => ready(&self.io).await,
            None => self.io.readable().await,
        }
    }

    /// The same for several sockets at once; it misses errors, of which only a connected one has any.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.io.poll_recv_ready(cx).map(drop)
    }

    /// Waits until the system's buffer has room.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.io.writable().await
    }

    /// Receives what is there.
    pub(crate) fn try_recv(&self, inbox: &mut Inbox) -> io::Result<()> {
        let received = self.try_recv_on(Interest::READABLE, inbox);
        let only_error = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        if self.peer.is_some() && received.as_ref().is_err_and(only_error) {
            return self.try_recv_on(Interest::ERROR, inbox);
        }
        received
    }

    fn try_recv_on(&self, interest: Interest, inbox: &mut Inbox) -> io::Result<()> {
        inbox.count = 0;
        let mut buffers = inbox.bytes.chunks_mut(BUFFER).map(IoSliceMut::new);
        let mut buffers: [_; BUFFERS] =
            array::from_fn(|_| buffers.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
        let socket = || {
            let filled = &mut inbox.filled;
            self.state.recv((&self.io).into(), &mut buffers, filled)
        };
        inbox.count = self.io.try_io(interest, socket)?;
        Ok(())
    }

    /// Sends datagrams.
    pub(crate) fn try_send(&self, transmit: &Transmit, datagrams: &[u8]) -> io::Result<()> {
        if self.peer.is_some() && !NAMES_CONNECTED_PEERS {
            return self.io.try_send(datagrams).map(drop);
        }
        let sent = self.try_send_batch(transmit, datagrams);
        match &sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sent,
            // The system has just refused to cut it, and will not be asked again.
            Err(_) if datagrams.len() > transmit.segment_size && self.max_segments() == 1 => {
                let mut datagrams = datagrams.chunks(transmit.segment_size);
                datagrams.try_for_each(|datagram| self.try_send_batch(transmit, datagram))
            }
            _ => sent,
        }
    }

    fn try_send_batch(&self, transmit: &Transmit, contents: &[u8]) -> io::Result<()> {
        let send = || self.send_batch(transmit, contents);
        self.io.try_io(Interest::WRITABLE, send)
    }

    /// Sends one datagram at once or not at all: past tokio's own notion of readiness, which is "no"
    /// for a new socket.
    pub(crate) fn send_now(
        &self,
        to: SocketAddr,
        ecn: Option<Ecn>,
        datagram: &[u8],
    ) -> io::Result<()> {
        if self.peer.is_some() && !NAMES_CONNECTED_PEERS {
            return SockRef::from(&self.io).send(datagram).map(drop);
        }
        let segment_size = datagram.len();
        let transmit = Transmit {
            to,
            ecn,
            segment_size,
        };
        self.send_batch(&transmit, datagram)
    }

    fn send_batch(&self, transmit: &Transmit, contents: &[u8]) -> io::Result<()> {
        let batch = quinn_udp::Transmit {
            destination: transmit.to,
            ecn: transmit.ecn.map(codepoint),
            contents,
            segment_size: Some(transmit.segment_size),
            src_ip: None,
        };
        self.state.try_send((&self.io).into(), &batch)
    }
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; BUFFERS * BUFFER].into(),
            filled: array::from_fn(|_| RecvMeta::default()),
            count: 0,
        }
    }

    /// Every datagram with its sender and its mark.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = (SocketAddr, Option<Ecn>, &[u8])> {
        let buffers = self.bytes.chunks(BUFFER).zip(&self.filled);
        buffers.take(self.count).flat_map(|(bytes, meta)| {
            let (bytes, ecn) = (&bytes[..meta.len], meta.ecn.map(mark));
            let empty = bytes.is_empty().then_some(bytes); // a datagram too
            let datagrams = bytes.chunks(meta.stride.max(1)).chain(empty);
            datagrams.map(move |datagram| (meta.addr, ecn, datagram))
        })
    }
}

fn codepoint(mark: Ecn) -> EcnCodepoint {
    match mark {
        Ecn::Ect0 => EcnCodepoint::Ect0,
        Ecn::Ect1 => EcnCodepoint::Ect1,
        Ecn::Ce => EcnCodepoint::Ce,
    }
}

fn mark(codepoint: EcnCodepoint) -> Ecn {
    match codepoint {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}

/// Opens a socket bound to `local`.
fn bind(local: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    open(local, None, buffer)
}

/// Opens a socket that exchanges datagrams with `peer` only. For such a
/// socket the system reports that nobody listens at the peer's port.
fn connect(peer: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    let any = match peer {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    open(any, Some(peer), buffer)
}

/// Waits for a datagram or an error to receive. tokio's own `readable` sleeps
/// on when there is only an error, such as the report of a closed port.
async fn ready(socket: &UdpSocket) -> io::Result<()> {
    let either = Interest::READABLE | Interest::ERROR;
    socket.ready(either).await.map(drop)
}

/// Whether an error says that nobody listens at the peer's port (Windows calls it "reset").
pub(crate) fn is_unreachable(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionRefused | ConnectionReset)
}

/// Whether an error says that the way out carries no datagram of such a size.
pub(crate) fn is_too_large(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::MSGSIZE)
}

fn open(local: SocketAddr, peer: Option<SocketAddr>, buffer: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_recv_buffer_size(buffer)?;
    socket.set_send_buffer_size(buffer)?;
    let granted = socket.recv_buffer_size()?.min(socket.send_buffer_size()?);
    if granted < buffer {
        tracing::warn!(
            wanted = buffer,
            granted,
            "the system allows only smaller socket buffers"
        );
    }
    socket.set_nonblocking(true)?;
    socket.bind(&local.into())?;
    if let Some(peer) = peer {
        socket.connect(&peer.into())?;
    }
    UdpSocket::from_std(socket.into())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const SEGMENT: usize = 100;

    fn loopback() -> BatchSocket {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        BatchSocket::bind(local, 1 << 20, true).expect("a socket")
    }

    #[tokio::test]
    async fn a_socket_has_the_buffers_that_were_asked_for() {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let granted = [64 << 10, 128 << 10].map(|asked| {
            let socket = BatchSocket::bind(local, asked, true).expect("a socket");
            let socket = SockRef::from(&socket.io);
            let both = [socket.recv_buffer_size(), socket.send_buffer_size()];
            both.map(|size| size.expect("it has one"))
        });
        let [small, large] = granted; // Linux doubles what is asked for
        assert!(small.iter().all(|it| *it >= 64 << 10), "{granted:?}");
        assert_eq!(large, small.map(|it| 2 * it));
    }

    /// Sends datagrams that are numbered, all at once; what arrives: sizes, marks, numbers.
    async fn exchange(count: u8, ecn: Option<Ecn>) -> (BatchSocket, Vec<(usize, Option<Ecn>, u8)>) {
        let (sender, receiver) = (loopback(), loopback());
        let transmit = Transmit {
            to: receiver.local_addr().expect("bound"),
            ecn,
            segment_size: SEGMENT,
        };
        let datagrams: Vec<u8> = (0..count).flat_map(|number| [number; SEGMENT]).collect();
        sender.writable().await.expect("a socket");
        sender.try_send(&transmit, &datagrams).expect("sent");
        let (mut inbox, mut all) = (Inbox::new(), Vec::new());
        while all.len() < usize::from(count) {
            receiver.readable().await.expect("a socket");
            if receiver.try_recv(&mut inbox).is_ok() {
                let datagrams = inbox.datagrams();
                all.extend(datagrams.map(|(_, ecn, datagram)| (datagram.len(), ecn, datagram[0])));
            }
        }
        (sender, all)
    }

    #[tokio::test]
    async fn marks_cross_the_system_in_both_directions() {
        for ecn in [None, Some(Ecn::Ect0), Some(Ecn::Ect1), Some(Ecn::Ce)] {
            let (_, received) = exchange(3, ecn).await;
            assert_eq!(received, [0, 1, 2].map(|number| (SEGMENT, ecn, number)));
        }
    }

    /// Linux cuts 128 datagrams at most, and refuses more as it refuses what a device cannot cut.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_the_system_refuses_to_cut_leaves_one_by_one() {
        let able = loopback().max_segments() > 1;
        let (sender, received) = exchange(200, None).await;
        let expected: Vec<_> = (0..200).map(|number| (SEGMENT, None, number)).collect();
        assert_eq!(received, expected);
        assert!(able, "nothing was refused");
        assert_eq!(sender.max_segments(), 1, "it is not asked again");
    }

    /// A socket to a peer from which the system has refused a batch: since then `quinn-udp` takes it
    /// for one that knows no ECN on IPv4.
    #[cfg(target_os = "linux")]
    pub(crate) async fn refused(peer: SocketAddr) -> BatchSocket {
        let socket = BatchSocket::connect(peer, 1 << 20, true).expect("a socket");
        let transmit = Transmit {
            to: peer,
            ecn: None,
            segment_size: 1,
        };
        socket.writable().await.expect("a socket");
        socket.try_send(&transmit, &[0; 200]).expect("one by one");
        assert_eq!(socket.max_segments(), 1);
        socket
    }
}
