//! Remote calls, a stream for each: many at once, in any order, each with a deadline.
//!
//! `cargo run -p rudp --example rpc`
//!
//! Or in two terminals, `-- server 127.0.0.1:4600` and `-- client 127.0.0.1:4600`. Look at `call`: a
//! call that is given up drops its stream, and so the server's work for it ends, too.

use std::{env, error::Error, net::SocketAddr, time::Duration};

use rudp::{Connection, Endpoint, EndpointOptions, RecvStream, SendStream, StreamError};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

/// The longest request and answer, in bytes.
const MOST: usize = 1 << 20;

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
        tokio::spawn(async move {
            while let Ok((send, recv)) = connection.accept_stream().await {
                tokio::spawn(answer(send, recv));
            }
        });
    }
}

/// Answers one call, unless the caller gives up first.
async fn answer(mut send: SendStream, mut recv: RecvStream) -> Result<(), StreamError> {
    let request = recv.read_to_end(MOST).await?;
    let answer = tokio::select! {
        answer = work(&request) => answer,
        _ = send.stopped() => return Ok(()), // nobody waits for it any more
    };
    send.write_all(&answer).await?;
    send.finish()
}

/// Turns text around; the longer it is, the longer that takes.
async fn work(request: &[u8]) -> Vec<u8> {
    sleep(Duration::from_millis(request.len() as u64)).await;
    request.iter().rev().copied().collect()
}

async fn call(connection: &Connection, request: &[u8]) -> Result<Vec<u8>, StreamError> {
    let (mut send, mut recv) = connection.open_stream().await?;
    send.write_all(request).await?;
    send.finish()?;
    recv.read_to_end(MOST).await
}

async fn ask(server: SocketAddr) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::client_to(server, EndpointOptions::default())?;
    let connection = endpoint.connect(server).await?;
    let mut calls = JoinSet::new();
    for n in 0..100 {
        let connection = connection.clone();
        calls.spawn(async move {
            // Every tenth asks for ten minutes of work.
            let request = vec![b'a'; if n % 10 == 0 { 600_000 } else { 50 }];
            let deadline = Duration::from_secs(2);
            timeout(deadline, call(&connection, &request)).await
        });
    }
    let (mut answered, mut late) = (0, 0);
    while let Some(called) = calls.join_next().await {
        match called? {
            Ok(answer) => answered += usize::from(answer?.len() == 50),
            Err(_) => late += 1,
        }
    }
    connection.close(0, "").await;
    println!("{answered} answers, {late} calls given up");
    Ok(())
}
