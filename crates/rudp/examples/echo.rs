//! The smallest server and client: what a client says on a stream comes back on it.
//!
//! `cargo run -p rudp --example echo`
//!
//! Or in two terminals, `-- server 127.0.0.1:4600` and `-- client 127.0.0.1:4600`. Look at `serve`:
//! a task for each connection, and in it one for each stream.

use std::{env, error::Error, net::SocketAddr};

use rudp::{Connection, Endpoint, EndpointOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", address] => {
            serve(Endpoint::bind(
                address.parse()?,
                EndpointOptions::default(),
            )?)
            .await;
            Ok(())
        }
        ["client", address] => ask(address.parse()?).await,
        _ => {
            let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::default())?;
            let address = server.local_addr();
            tokio::spawn(serve(server));
            ask(address).await
        }
    }
}

async fn serve(endpoint: Endpoint) {
    while let Some(connection) = endpoint.accept().await {
        tokio::spawn(serve_connection(connection));
    }
}

async fn serve_connection(connection: Connection) {
    // An error is the end of the connection.
    while let Ok((mut send, mut recv)) = connection.accept_stream().await {
        tokio::spawn(async move {
            tokio::io::copy(&mut recv, &mut send).await?; // an early return resets the stream
            send.finish()?;
            Ok::<(), std::io::Error>(())
        });
    }
}

async fn ask(server: SocketAddr) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::client_to(server, EndpointOptions::default())?;
    let connection = endpoint.connect(server).await?;
    let (mut send, mut recv) = connection.open_stream().await?;
    send.write_all(b"hello").await?;
    send.finish()?; // that was all: without it the server would read on
    let answer = recv.read_to_end(1 << 20).await?;
    connection.close(0, "done").await;
    println!("the echo: {}", String::from_utf8(answer)?);
    Ok(())
}
