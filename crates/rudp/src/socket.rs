//! A UDP socket with large buffers.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

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
