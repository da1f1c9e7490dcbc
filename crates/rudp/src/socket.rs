//! A UDP socket with large buffers.

use std::{
    io::{self, Read},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::{io::Interest, net::UdpSocket};

/// Opens a socket bound to `local`.
pub(crate) fn bind(local: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    open(local, None, buffer)
}

/// Opens a socket that exchanges datagrams with `peer` only. For such a
/// socket the system reports that nobody listens at the peer's port.
pub(crate) fn connect(peer: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    let any = match peer {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    open(any, Some(peer), buffer)
}

/// Waits for a datagram or an error to receive. tokio's own `readable` sleeps
/// on when there is only an error, such as the report of a closed port.
pub(crate) async fn ready(socket: &UdpSocket) -> io::Result<()> {
    let either = Interest::READABLE | Interest::ERROR;
    socket.ready(either).await.map(drop)
}

/// Receives on a connected socket what [`ready`] waits for, without waiting.
pub(crate) fn try_recv(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
    // One by one: for both at once tokio's `try_io` does nothing.
    match socket.try_recv(buffer) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let receive = || (&*SockRef::from(socket)).read(buffer);
            socket.try_io(Interest::ERROR, receive)
        }
        received => received,
    }
}

/// Whether an error says that nobody listens at the peer's port (Windows calls it "reset").
pub(crate) fn is_unreachable(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionRefused | ConnectionReset)
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
