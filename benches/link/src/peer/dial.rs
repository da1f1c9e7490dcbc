//! The side that connects: bulk, flows and handshakes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};

use super::{
    Dialer, Stream,
    content::Content,
    work::{MESSAGE, Work},
};
use crate::system;

/// An attempt of a handshake is given up after so long.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(20);
/// Between two handshakes.
const PAUSE: Duration = Duration::from_millis(5);

/// What a transfer came to.
#[derive(Debug, Deserialize, Serialize)]
pub struct Bulk {
    /// From the first byte, after the handshake, to the answer that all are there; `None` after the
    /// limit.
    pub seconds: Option<f64>,
    /// Bytes that arrived right, by the answer.
    pub right: u64,
    pub cpu_seconds: f64,
}

/// What many handshakes came to.
#[derive(Debug, Deserialize, Serialize)]
pub struct Handshakes {
    /// From nothing to the first answer; attempts without one are missing.
    pub answered_ms: Vec<f64>,
    pub failed: usize,
}

pub(super) async fn bulk(dialer: &Dialer, bytes: u64, limit: Duration) -> anyhow::Result<Bulk> {
    let mut stream = dialer.dial().await?;
    let begun = system::monotonic();
    let answer = timeout(limit, transfer(&mut stream, bytes)).await;
    let seconds = answer
        .is_ok()
        .then(|| (system::monotonic() - begun).as_secs_f64());
    Ok(Bulk {
        seconds,
        right: answer.unwrap_or(Ok(0))?,
        cpu_seconds: system::cpu_seconds(),
    })
}

async fn transfer(stream: &mut Stream, bytes: u64) -> anyhow::Result<u64> {
    Work::Take(bytes).write(&mut stream.writer).await?;
    let mut content = Content::new();
    let mut at = 0;
    while at < bytes {
        let block = content.at(at);
        let length = block.len().min(usize::try_from(bytes - at)?);
        stream.writer.write_all(&block[..length]).await?;
        at += length as u64;
    }
    stream.writer.flush().await?;
    Ok(stream.reader.read_u64().await?)
}

/// Sends until a second after the other side has counted.
pub(super) async fn flow(dialer: &Dialer, from_s: u64, until_s: u64) -> anyhow::Result<()> {
    let mut stream = dialer.dial().await?;
    let ms = |seconds: u64| u32::try_from(seconds * 1_000);
    let work = Work::Count(ms(from_s)?, ms(until_s)?);
    let endless = async {
        work.write(&mut stream.writer).await?;
        let mut content = Content::new();
        let mut at = 0;
        loop {
            let block = content.at(at);
            stream.writer.write_all(block).await?;
            at += block.len() as u64;
        }
    };
    let end = Duration::from_secs(until_s + 1);
    match timeout(end, endless).await {
        Ok(Ok(())) | Err(_) => Ok(()),
        Ok(Err(error)) => Err(error),
    }
}

pub(super) async fn handshakes(dialer: &Dialer, count: usize) -> anyhow::Result<Handshakes> {
    let mut answered_ms = Vec::new();
    for _ in 0..count {
        let begun = system::monotonic();
        if let Ok(Ok(_stream)) = timeout(HANDSHAKE_LIMIT, ask(dialer)).await {
            answered_ms.push((system::monotonic() - begun).as_secs_f64() * 1e3);
        }
        sleep(PAUSE).await;
    }
    let failed = count - answered_ms.len();
    Ok(Handshakes {
        answered_ms,
        failed,
    })
}

/// Connects, and sends one message back and forth.
async fn ask(dialer: &Dialer) -> anyhow::Result<Stream> {
    let mut stream = dialer.dial().await?;
    Work::Echo.write(&mut stream.writer).await?;
    let mut message = [7; MESSAGE];
    stream.writer.write_all(&message).await?;
    stream.writer.flush().await?;
    stream.reader.read_exact(&mut message).await?;
    Ok(stream)
}
