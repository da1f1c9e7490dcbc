//! The side that listens.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
};

use super::{
    Dialer, Stream,
    content::Content,
    work::{MESSAGE, Work},
};
use crate::system;

/// Its first line.
#[derive(Debug, Deserialize, Serialize)]
pub struct Listens {
    pub address: SocketAddr,
}

/// Its last line.
#[derive(Debug, Deserialize, Serialize)]
pub struct Served {
    /// Bytes taken that were right.
    pub received: u64,
    /// Bytes taken in the time that a flow asked for.
    pub counted: u64,
    /// Whether all bytes of all streams were right.
    pub intact: bool,
    /// Corrupted datagrams that the transport dropped, if it counts them.
    pub corrupted: Option<u64>,
    pub cpu_seconds: f64,
}

#[derive(Default)]
struct Tally {
    received: AtomicU64,
    counted: AtomicU64,
    wrong: AtomicBool,
}

/// Serves until the input ends.
pub(super) async fn run(dialer: &Dialer) -> anyhow::Result<Served> {
    let (streams, mut accepted) = mpsc::channel(64);
    let listening = dialer.listen(streams).await?;
    let address = listening.address;
    println!("{}", serde_json::to_string(&Listens { address })?);
    let tally = Arc::new(Tally::default());
    let mut input = tokio::io::stdin();
    let mut byte = [0];
    loop {
        tokio::select! {
            stream = accepted.recv() => match stream {
                Some(stream) => drop(tokio::spawn(serve(stream, tally.clone()))),
                None => break,
            },
            _ = input.read(&mut byte) => break,
        }
    }
    Ok(Served {
        received: tally.received.load(Relaxed),
        counted: tally.counted.load(Relaxed),
        intact: !tally.wrong.load(Relaxed),
        corrupted: (listening.corrupted)(),
        cpu_seconds: system::cpu_seconds(),
    })
}

async fn serve(mut stream: Stream, tally: Arc<Tally>) {
    let served = match Work::read(&mut stream.reader).await {
        Ok(Work::Take(bytes)) => take(&mut stream, bytes, &tally).await,
        Ok(Work::Count(from, until)) => {
            let [from, until] = [from, until].map(|ms| Duration::from_millis(ms.into()));
            count(&mut stream, from, until, &tally).await
        }
        Ok(Work::Echo) => echo(&mut stream).await,
        Err(_) => return, // it went before it asked for anything
    };
    // The client went first, as in a handshake's row: nothing of interest.
    _ = served;
    // What was answered may need repeating until the other side has it.
    std::future::pending().await
}

/// Takes bytes and answers with how many of them were right.
async fn take(stream: &mut Stream, bytes: u64, tally: &Tally) -> anyhow::Result<()> {
    let mut content = Content::new();
    let mut buffer = vec![0; 256 << 10];
    let (mut at, mut right) = (0, 0);
    while at < bytes {
        let length = stream.reader.read(&mut buffer).await?;
        if length == 0 {
            break;
        }
        if content.is(at, &buffer[..length]) {
            right += length as u64;
            tally.received.fetch_add(length as u64, Relaxed);
        } else {
            tally.wrong.store(true, Relaxed);
        }
        at += length as u64;
    }
    stream.writer.write_u64(right).await?;
    stream.writer.flush().await?;
    Ok(())
}

/// Takes bytes for ever and counts some.
async fn count(
    stream: &mut Stream,
    from: Duration,
    until: Duration,
    tally: &Tally,
) -> anyhow::Result<()> {
    let mut content = Content::new();
    let mut buffer = vec![0; 256 << 10];
    let mut at = 0;
    let mut begun = None;
    loop {
        let length = stream.reader.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        let now = system::monotonic();
        let elapsed = now - *begun.get_or_insert(now);
        if !content.is(at, &buffer[..length]) {
            tally.wrong.store(true, Relaxed);
        }
        at += length as u64;
        tally.received.fetch_add(length as u64, Relaxed);
        if (from..until).contains(&elapsed) {
            tally.counted.fetch_add(length as u64, Relaxed);
        }
    }
}

async fn echo(stream: &mut Stream) -> anyhow::Result<()> {
    let mut message = [0; MESSAGE];
    stream.writer.write_u8(0).await?;
    stream.writer.flush().await?;
    loop {
        stream.reader.read_exact(&mut message).await?;
        stream.writer.write_all(&message).await?;
        stream.writer.flush().await?;
    }
}
