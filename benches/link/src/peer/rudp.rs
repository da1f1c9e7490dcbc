//! Ours, as it is by default or without bundling: the only file that knows its API.

use std::{net::SocketAddr, sync::Arc};

use rudp::{Endpoint, EndpointOptions};
use tokio::sync::mpsc;

use super::{Listening, Stream};

fn options(bundles: bool) -> EndpointOptions {
    let mut options = EndpointOptions::default();
    options.config.bundles = bundles;
    options
}

pub(super) async fn dial(address: SocketAddr, bundles: bool) -> anyhow::Result<Stream> {
    let endpoint = Endpoint::client_to(address, options(bundles))?;
    let connection = endpoint.connect(address).await?;
    let (writer, reader) = connection.open_stream().await?;
    Ok(Stream::new(reader, writer, endpoint))
}

pub(super) fn listen(
    address: SocketAddr,
    bundles: bool,
    streams: mpsc::Sender<Stream>,
) -> anyhow::Result<Listening> {
    let endpoint = Arc::new(Endpoint::bind(address, options(bundles))?);
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
