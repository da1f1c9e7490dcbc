//! A chat room: each client has a stream, and what one says the server passes on to all.
//!
//! `cargo run -p rudp --example chat`
//!
//! Or in several terminals, `-- server 127.0.0.1:4600` and `-- client 127.0.0.1:4600 NAME`, which
//! reads lines. Look at `member`: one task reads a client's stream while another writes to it, and a
//! client that is too slow for the room loses the oldest lines, not the others their time.

use std::{env, error::Error, io, net::SocketAddr};

use rudp::{Connection, Endpoint, EndpointOptions, RecvStream, SendStream};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    sync::broadcast::{self, error::RecvError},
};

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
        }
        ["client", address, name] => talk(address.parse()?, name).await?,
        _ => {
            let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::default())?;
            let address = server.local_addr();
            tokio::spawn(serve(server));
            script(address).await?;
        }
    }
    Ok(())
}

async fn serve(endpoint: Endpoint) {
    let (room, _) = broadcast::channel(64);
    while let Some(connection) = endpoint.accept().await {
        tokio::spawn(member(connection, room.clone()));
    }
}

async fn member(connection: Connection, room: broadcast::Sender<String>) -> io::Result<()> {
    let (send, recv) = connection.accept_stream().await?;
    let writer = tokio::spawn(pass_on(room.subscribe(), send));
    let mut lines = BufReader::new(recv).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        _ = room.send(line); // an error: nobody is there
    }
    writer.abort(); // the client is gone
    Ok(())
}

async fn pass_on(mut room: broadcast::Receiver<String>, mut send: SendStream) {
    loop {
        let line = match room.recv().await {
            Ok(line) => line + "\n",
            Err(RecvError::Lagged(lost)) => format!("({lost} lines lost: you are slow)\n"),
            Err(RecvError::Closed) => return,
        };
        if send.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// What a client says, and what it hears.
type Member = (SendStream, Lines<BufReader<RecvStream>>);

async fn join(connection: &Connection, name: &str) -> Result<Member, Box<dyn Error>> {
    let (mut send, recv) = connection.open_stream().await?;
    let greeting = format!("{name} is here");
    send.write_all(format!("{greeting}\n").as_bytes()).await?;
    let mut heard = BufReader::new(recv).lines();
    // Others may speak first, but with one's own greeting one is certainly in the room.
    while let Some(line) = heard.next_line().await? {
        if line == greeting {
            return Ok((send, heard));
        }
        println!("{line}");
    }
    Err("the room is closed".into())
}

async fn talk(server: SocketAddr, name: &str) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::client_to(server, EndpointOptions::default())?;
    let connection = endpoint.connect(server).await?;
    let (mut send, mut heard) = join(&connection, name).await?;
    let mut typed = BufReader::new(tokio::io::stdin()).lines();
    loop {
        tokio::select! {
            line = typed.next_line() => match line? {
                Some(line) => send.write_all(format!("{name}: {line}\n").as_bytes()).await?,
                None => break,
            },
            line = heard.next_line() => match line? {
                Some(line) => println!("{line}"),
                None => break,
            },
        }
    }
    connection.close(0, "bye").await;
    Ok(())
}

/// Two members, and what the first one hears.
async fn script(server: SocketAddr) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::client_to(server, EndpointOptions::default())?;
    let first = endpoint.connect(server).await?;
    let second = endpoint.connect(server).await?;
    let (_ada, mut heard) = join(&first, "ada").await?;
    let (mut bob, _) = join(&second, "bob").await?;
    bob.write_all(b"bob: hello, ada\n").await?;
    for _ in 0..2 {
        let line = heard.next_line().await?;
        println!("ada hears: {}", line.unwrap_or_default());
    }
    first.close(0, "bye").await;
    second.close(0, "bye").await;
    Ok(())
}
