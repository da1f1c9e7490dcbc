//! A WebSocket client that comes back, and subscribes again when it does.
//!
//! `cargo run -p grpc-backoff --features tokio --example websocket`

use futures_util::{SinkExt, StreamExt};
use grpc_backoff::{Config, Failure, Handle, Phase, Reconnector};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::{self, Message, http::StatusCode};
use tokio_tungstenite::{accept_async, client_async};

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // A tenth of the usual first wait, so that you need not wait. Say `Config::GRPC` in earnest.
    let config = Config {
        initial_backoff: Duration::from_millis(100),
        ..Config::GRPC
    };
    let mut reconnector = Reconnector::new(config, move |attempt| async move {
        attempt.enter(Phase::Tcp);
        let stream = TcpStream::connect(address)
            .await
            .map_err(tungstenite::Error::from)?;
        let url = format!("ws://{address}/prices");
        match client_async(url, stream).await {
            Ok((socket, _)) => Ok(socket), // the server has agreed to WebSocket: it has accepted
            Err(tungstenite::Error::Http(answer)) if is_final(answer.status()) => {
                Err(Failure::Final(tungstenite::Error::Http(answer)))
            }
            Err(error) => Err(Failure::Retry(error)),
        }
    })?;
    let handle = reconnector.handle().clone();
    let server = tokio::spawn(server(listener, handle.clone()));

    let mut prices = Vec::new();
    while prices.len() < 4 {
        let mut socket = reconnector.connect().await?; // at once, or when the backoff allows
        println!("{}", handle.status());
        socket.send("subscribe".into()).await?;
        while let Some(Ok(Message::Text(price))) = socket.next().await {
            println!("      {price}");
            prices.push(price.to_string());
        }
        reconnector.lost();
    }
    assert_eq!(prices, ["1", "2", "3", "4"]);
    server.await??;
    println!("4 prices over 2 connections");
    Ok(())
}

/// Another attempt will not change these.
fn is_final(status: StatusCode) -> bool {
    status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS
}

/// Tells two prices and closes; is away until the client has failed twice; tells two more.
async fn server(listener: TcpListener, client: Handle) -> Result<(), Error> {
    let address = listener.local_addr()?;
    serve_one(listener, ["1", "2"]).await?;
    let mut watch = client.watch();
    println!("{}", *watch.wait_for(|status| status.failures >= 2).await?);
    serve_one(TcpListener::bind(address).await?, ["3", "4"]).await
}

async fn serve_one(listener: TcpListener, prices: [&str; 2]) -> Result<(), Error> {
    let mut socket = accept_async(listener.accept().await?.0).await?;
    drop(listener); // nobody listens any more
    socket.next().await.ok_or("no subscription")??;
    for price in prices {
        socket.send(price.into()).await?;
    }
    Ok(socket.close(None).await?)
}
