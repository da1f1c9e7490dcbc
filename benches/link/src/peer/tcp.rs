//! The kernel's TCP.

use std::{net::SocketAddr, time::Duration};

use socket2::{Domain, SockRef, Socket, Type};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::mpsc,
};

use super::{Listening, Stream};

/// A socket with that congestion control and without Nagle's algorithm, of which nothing is sent
/// after its process has ended: that would meet the next run.
fn socket(control: &str) -> anyhow::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_tcp_congestion(control.as_bytes())?;
    socket.set_tcp_nodelay(true)?;
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn stream(connected: TcpStream) -> anyhow::Result<Stream> {
    let socket = SockRef::from(&connected);
    socket.set_tcp_nodelay(true)?;
    socket.set_linger(Some(Duration::ZERO))?;
    let (reader, writer) = connected.into_split();
    Ok(Stream::new(reader, writer, ()))
}

pub(super) async fn dial(address: SocketAddr, control: &str) -> anyhow::Result<Stream> {
    let socket = TcpSocket::from_std_stream(socket(control)?.into());
    stream(socket.connect(address).await?)
}

pub(super) fn listen(
    address: SocketAddr,
    control: &str,
    streams: mpsc::Sender<Stream>,
) -> anyhow::Result<Listening> {
    let socket = socket(control)?;
    socket.bind(&address.into())?;
    socket.listen(64)?;
    let listener = TcpListener::from_std(socket.into())?;
    let listening = Listening::at(listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((connected, _)) = listener.accept().await {
            let Ok(stream) = stream(connected) else {
                continue;
            };
            if streams.send(stream).await.is_err() {
                break;
            }
        }
    });
    Ok(listening)
}
