//! A client's own loop: connect, use the connection until it breaks, connect again.
//!
//! `cargo run -p grpc-backoff --features tokio --example tokio_loop`

use grpc_backoff::{Config, Failure, Handle, Phase, Reconnector};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // A tenth of the usual waits, so that you need not wait. Say `Config::GRPC` in earnest.
    let config = Config {
        initial_backoff: Duration::from_millis(100),
        ..Config::GRPC
    };
    let mut reconnector = Reconnector::new(config, move |attempt| async move {
        attempt.enter(Phase::Tcp);
        let stream = TcpStream::connect(address).await?; // an error: again, when it is time
        let mut lines = BufReader::new(stream).lines();
        lines.next_line().await?; // its greeting: only now has the server accepted
        Ok::<_, Failure<io::Error>>(lines)
    })?
    .on_attempt(|report| println!("{report}"));
    let server = tokio::spawn(server(listener, reconnector.handle().clone()));
    tokio::spawn(print_status(reconnector.handle().clone()));

    let mut news = Vec::new();
    while news.len() < 2 {
        let mut lines = reconnector.connect().await?; // at once, or when the backoff allows
        read(&mut lines, &mut news).await;
        println!("         the connection is gone");
    }
    assert_eq!(news, ["first", "second"]);
    server.await??;
    println!("got {} news over 2 connections", news.len());
    Ok(())
}

/// Uses a connection until the server closes it.
async fn read(lines: &mut Lines<BufReader<TcpStream>>, news: &mut Vec<String>) {
    while let Ok(Some(line)) = lines.next_line().await {
        println!("         {line}");
        news.push(line);
    }
}

/// The text view, whenever it changes.
async fn print_status(handle: Handle) {
    let mut watch = handle.watch();
    while watch.changed().await.is_ok() {
        println!("{}", *watch.borrow_and_update());
    }
}

/// Greets, says one thing and closes; is away until the client has failed three times; is back.
async fn server(listener: TcpListener, client: Handle) -> io::Result<()> {
    let address = listener.local_addr()?;
    serve_one(listener, "first").await?;
    let mut watch = client.watch();
    let _ = watch.wait_for(|status| status.failures >= 3).await;
    serve_one(listen_again(address).await?, "second").await
}

async fn serve_one(listener: TcpListener, line: &str) -> io::Result<()> {
    let (mut stream, _) = listener.accept().await?;
    (stream.write_all(format!("hello\n{line}\n").as_bytes())).await
}

async fn listen_again(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await // sets SO_REUSEADDR
}
