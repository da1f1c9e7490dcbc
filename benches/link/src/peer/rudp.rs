//! Ours, as it is by default or without bundling, its streams or its messages: the only file that
//! knows its API.

use std::{any::Any, net::SocketAddr, sync::Arc};

use rudp::{Connection, Endpoint, EndpointOptions};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
};

use super::{Listening, Stream, work::MESSAGE};

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

pub(super) async fn dial_for_messages(address: SocketAddr) -> anyhow::Result<Stream> {
    let endpoint = Endpoint::client_to(address, options(false))?;
    let connection = endpoint.connect(address).await?;
    Ok(of_messages(connection, endpoint))
}

/// Not bundled.
fn of_messages(connection: Connection, keep: impl Any + Send) -> Stream {
    let (stream, mut written, mut read) = Stream::of_messages(keep);
    let connection = Arc::new(connection);
    let sender = connection.clone();
    tokio::spawn(async move {
        let mut message = [0; MESSAGE];
        while let length @ 1.. = written.read(&mut message).await? {
            sender.send_message(&message[..length], None).await?;
        }
        Ok::<_, anyhow::Error>(())
    });
    tokio::spawn(async move {
        while let Ok(message) = connection.recv_message().await {
            read.write_all(&message).await?;
        }
        Ok::<_, anyhow::Error>(())
    });
    stream
}

pub(super) fn listen(
    address: SocketAddr,
    bundles: bool,
    streams: mpsc::Sender<Stream>,
) -> anyhow::Result<Listening> {
    listen_with(address, bundles, move |connection| {
        let streams = streams.clone();
        async move {
            // The stream is there with its first bytes.
            if let Ok((writer, reader)) = connection.accept_stream().await {
                _ = streams.send(Stream::new(reader, writer, ())).await;
            }
        }
    })
}

pub(super) fn listen_for_messages(
    address: SocketAddr,
    streams: mpsc::Sender<Stream>,
) -> anyhow::Result<Listening> {
    listen_with(address, false, move |connection| {
        let streams = streams.clone();
        async move { _ = streams.send(of_messages(connection, ())).await }
    })
}

fn listen_with<F: Future<Output = ()> + Send + 'static>(
    address: SocketAddr,
    bundles: bool,
    serve: impl Fn(Connection) -> F + Send + 'static,
) -> anyhow::Result<Listening> {
    let endpoint = Arc::new(Endpoint::bind(address, options(bundles))?);
    let address = endpoint.local_addr();
    let counted = endpoint.clone();
    tokio::spawn(async move {
        while let Some(connection) = endpoint.accept().await {
            tokio::spawn(serve(connection));
        }
    });
    Ok(Listening {
        address,
        corrupted: Box::new(move || Some(counted.stats().corrupted)),
    })
}
