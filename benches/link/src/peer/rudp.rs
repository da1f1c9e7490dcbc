//! Ours, as it is by default: the only file that knows its API.

use std::{net::SocketAddr, sync::Arc};

use rudp::{Endpoint, EndpointOptions};
use tokio::sync::mpsc;

use super::{Listening, Stream};

pub(super) async fn dial(address: SocketAddr) -> anyhow::Result<Stream> {
    let endpoint = Endpoint::client_to(address, EndpointOptions::default())?;
    let connection = endpoint.connect(address).await?;
    let (writer, reader) = connection.open_stream().await?;
    Ok(Stream::new(reader, writer, endpoint))
}

pub(super) fn listen(
    address: SocketAddr,
    streams: mpsc::Sender<Stream>,
) -> anyhow::Result<Listening> {
    let endpoint = Arc::new(Endpoint::bind(address, EndpointOptions::default())?);
    let address = endpoint.local_addr();
    let counted = endpoint.clone();
    tokio::spawn(async move {
        while let Some(connection) = endpoint.accept().await {
            let streams = streams.clone();
            // The stream is there with its first bytes.
            tokio::spawn(async move {
                let (writer, reader) = connection.accept_stream().await?;
                _ = streams.send(Stream::new(reader, writer, ())).await;
                Ok::<_, rudp::StreamError>(())
            });
        }
    });
    Ok(Listening {
        address,
        corrupted: Box::new(move || Some(counted.stats().corrupted)),
    })
}
