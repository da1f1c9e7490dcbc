//! The side that connects: small messages at a fixed pace, each timed from when it was due.

use std::time::Duration;

use anyhow::bail;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};

use super::{
    Dialer, Stream,
    work::{MESSAGE, Work},
};
use crate::system;

/// How long the connection rests before the first message.
const REST: Duration = Duration::from_millis(500);

/// What became of the messages. Times are of the system's monotonic clock, in microseconds.
#[derive(Debug, Deserialize, Serialize)]
pub struct Messages {
    /// When the first was due.
    pub first_due_us: u64,
    /// Which echoes were there, and when; those that never came are missing.
    pub echoed_us: Vec<(usize, u64)>,
    /// Whether every echo was a message, byte for byte, and none came twice.
    pub intact: bool,
}

pub(super) async fn run(
    dialer: &Dialer,
    count: usize,
    pace: Duration,
    patience: Duration,
) -> anyhow::Result<Messages> {
    let Stream {
        mut reader,
        mut writer,
        _keep,
    } = dialer.dial().await?;
    Work::Echo.write(&mut writer).await?;
    reader.read_u8().await?; // no message may come before the request
    sleep(REST).await;

    let first_due = system::monotonic() + pace;
    let send = async {
        for index in 0..count {
            let due = first_due + pace * u32::try_from(index)?;
            sleep(due.saturating_sub(system::monotonic())).await;
            writer.write_all(&message(index)).await?;
            writer.flush().await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let mut echoed_us = Vec::with_capacity(count);
    let receive = async {
        let mut echo = [0; MESSAGE];
        let mut came = vec![false; count];
        for _ in 0..count {
            reader.read_exact(&mut echo).await?;
            let index = index_of(&echo);
            let is_new = came
                .get_mut(index)
                .is_some_and(|came| !std::mem::replace(came, true));
            if echo != message(index) || !is_new {
                bail!("a wrong echo");
            }
            echoed_us.push((index, us(system::monotonic())?));
        }
        Ok(())
    };
    let limit = pace * u32::try_from(count)? + patience;
    let done = timeout(limit, async { tokio::try_join!(send, receive) }).await;
    let wrong = matches!(&done, Ok(Err(error)) if error.to_string().contains("wrong"));
    Ok(Messages {
        first_due_us: us(first_due)?,
        echoed_us,
        intact: !wrong,
    })
}

fn message(index: usize) -> [u8; MESSAGE] {
    let mut message = [index.to_le_bytes()[0]; MESSAGE];
    message[..8].copy_from_slice(&(index as u64).to_be_bytes());
    message
}

fn index_of(message: &[u8; MESSAGE]) -> usize {
    let [a, b, c, d, e, f, g, h, ..] = *message;
    usize::try_from(u64::from_be_bytes([a, b, c, d, e, f, g, h])).unwrap_or(usize::MAX)
}

fn us(time: Duration) -> anyhow::Result<u64> {
    Ok(u64::try_from(time.as_micros())?)
}
