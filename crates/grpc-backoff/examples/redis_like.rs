//! A client in the manner of redis: many callers share one connection, which comes back by itself.
//!
//! `cargo run -p grpc-backoff --features tokio --example redis_like`

use futures_util::future::try_join_all;
use grpc_backoff::{Config, Failure, Mode, Phase, Reconnector, Shared, Wait};
use std::net::SocketAddr;
use std::{io, time::Duration};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, yield_now};

/// A command, and a place for its reply.
type Command = (String, oneshot::Sender<String>);
type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(serve(listener));
    // A tenth of the usual first wait, so that you need not wait. Say `Config::GRPC` in earnest.
    let config = Config {
        initial_backoff: Duration::from_millis(100),
        ..Config::GRPC
    };
    let reconnector = Reconnector::new(config, move |attempt| {
        attempt.enter(Phase::Tcp);
        connect(address)
    })?;
    let redis = reconnector.share(Mode::OnDemand);
    let mut replies = try_join_all((0..10).map(|n| echo(&redis, n))).await?;

    server.abort();
    let _ = server.await; // all callers lose their connection together
    let come_back = async {
        let mut watch = redis.handle().watch();
        println!("{}", *watch.wait_for(|status| status.failures >= 2).await?);
        Ok::<_, Error>(tokio::spawn(serve(TcpListener::bind(address).await?)))
    };
    // They wait, and dial no more than one would.
    let calls = try_join_all((10..20).map(|n| echo(&redis, n)));
    let (server, more) = tokio::try_join!(come_back, calls)?;
    println!("{}", redis.handle().status());
    replies.extend(more);
    assert!(replies.into_iter().eq((0..20).map(|n| format!("+{n}"))));

    redis.shutdown().await;
    server.abort();
    println!("20 replies to 20 callers over 2 connections");
    Ok(())
}

/// One of many callers: waits for the connection, and asks again if that breaks before the reply.
async fn echo(redis: &Shared<mpsc::Sender<Command>>, n: u32) -> Result<String, Error> {
    loop {
        let commands = redis.connection(Wait::ForReady).await?;
        let (reply, replied) = oneshot::channel();
        let _ = commands.send((format!("ECHO {n}"), reply)).await;
        match replied.await {
            Ok(reply) => return Ok(reply),
            Err(_) => yield_now().await, // the task that drives the connection sees its end
        }
    }
}

/// Connects; gives what callers hold, and the future that drives the connection until it is gone.
async fn connect(
    address: SocketAddr,
) -> Result<(mpsc::Sender<Command>, impl Future<Output = io::Result<()>>), Failure<io::Error>> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    call(&mut stream, "PING").await?; // its PONG: only now has the server accepted
    let (commands, mut waiting) = mpsc::channel::<Command>(64);
    let drive = async move {
        loop {
            tokio::select! {
                Some((command, reply)) = waiting.recv() => {
                    let _ = reply.send(call(&mut stream, &command).await?);
                }
                unasked = stream.fill_buf() => return unasked.map(|_| ()), // it has closed
            }
        }
    };
    Ok((commands, drive))
}

/// Sends a line, and reads one.
async fn call(stream: &mut BufReader<TcpStream>, command: &str) -> io::Result<String> {
    stream
        .write_all(format!("{command}\r\n").as_bytes())
        .await?;
    let mut reply = String::new();
    match stream.read_line(&mut reply).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(reply.trim().to_owned()),
    }
}

/// A server that knows PING and ECHO. Dropped, it takes its connections along.
async fn serve(listener: TcpListener) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let mut stream = BufReader::new(listener.accept().await?.0).lines();
        connections.spawn(async move {
            while let Some(line) = stream.next_line().await? {
                let reply = format!("+{}\r\n", line.strip_prefix("ECHO ").unwrap_or("PONG"));
                stream.get_mut().write_all(reply.as_bytes()).await?;
            }
            io::Result::Ok(())
        });
    }
}
