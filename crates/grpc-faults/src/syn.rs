//! The SYNs that arrive at a port where nobody listens, seen by a packet socket.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use tokio::net::UdpSocket;

pub(crate) struct Syns {
    /// A packet socket: it is read as any socket of datagrams, and tokio has no other type for it.
    packets: UdpSocket,
    port: u16,
}

/// IPv4, as packet sockets name it: in network order.
const IPV4: u16 = 0x0800_u16.to_be();
const TCP: u8 = 6;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

impl Syns {
    pub(crate) fn to(port: u16) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::PACKET,
            Type::DGRAM,
            Some(Protocol::from(i32::from(IPV4))),
        )?;
        socket.set_nonblocking(true)?;
        let packets = UdpSocket::from_std(socket.into())?;
        Ok(Self { packets, port })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> io::Result<()> {
        let mut packet = [0; 128]; // the rest of a longer one is dropped
        loop {
            let len = self.packets.recv(&mut packet).await?;
            if is_syn(&packet[..len], self.port) {
                return Ok(());
            }
        }
    }
}

/// Whether an IPv4 packet opens a TCP connection to this port.
fn is_syn(packet: &[u8], port: u16) -> bool {
    let segment = |packet: &[u8]| {
        let header = usize::from(packet.first()? & 0xf) * 4;
        let tcp = (packet.get(9) == Some(&TCP)).then(|| packet.get(header..header + 14))??;
        Some((u16::from_be_bytes([tcp[2], tcp[3]]), tcp[13]))
    };
    segment(packet).is_some_and(|(to, flags)| to == port && flags & (SYN | ACK) == SYN)
}
