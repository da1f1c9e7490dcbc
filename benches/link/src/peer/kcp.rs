//! KCP.

use std::net::SocketAddr;

use tokio::{net::UdpSocket, sync::mpsc};
use tokio_kcp::{KcpConfig, KcpListener, KcpNoDelayConfig, KcpStream};

use super::{ANY, Listening, Stream, udp};

/// Packets in its window.
const WINDOW: u16 = 1_024;

fn config() -> KcpConfig {
    KcpConfig {
        nodelay: KcpNoDelayConfig::fastest(),
        wnd_size: (WINDOW, WINDOW),
        flush_write: true,
        flush_acks_input: true,
        stream: true,
        ..KcpConfig::default()
    }
}

fn stream(connected: KcpStream) -> Stream {
    let (reader, writer) = tokio::io::split(connected);
    Stream::new(reader, writer, ())
}

pub(super) async fn dial(address: SocketAddr) -> anyhow::Result<Stream> {
    let socket = UdpSocket::from_std(udp(ANY)?)?;
    socket.connect(address).await?;
    let connected = KcpStream::connect_with_socket(&config(), socket, address).await?;
    Ok(stream(connected))
}

pub(super) async fn listen(
    address: SocketAddr,
    streams: mpsc::Sender<Stream>,
) -> anyhow::Result<Listening> {
    let socket = UdpSocket::from_std(udp(address)?)?;
    let listening = Listening::at(socket.local_addr()?);
    let mut listener = KcpListener::from_socket(config(), socket).await?;
    tokio::spawn(async move {
        while let Ok((connected, _)) = listener.accept().await {
            if streams.send(stream(connected)).await.is_err() {
                break;
            }
        }
    });
    Ok(listening)
}
