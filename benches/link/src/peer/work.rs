//! What the dialling side asks for: the first bytes of a stream.

use anyhow::bail;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of a message.
pub(super) const MESSAGE: usize = 100;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Take so many bytes, and say how many were right.
    Take(u64),
    /// Take bytes for ever, and count those from this to that millisecond after the first.
    Count(u32, u32),
    /// Send every message back.
    Echo,
}

impl Work {
    pub(super) async fn write(self, to: &mut (impl AsyncWrite + Unpin)) -> anyhow::Result<()> {
        let (kind, number) = match self {
            Self::Take(bytes) => (0, bytes),
            Self::Count(from, until) => (1, u64::from(from) << 32 | u64::from(until)),
            Self::Echo => (2, 0),
        };
        let mut request = [kind; 9];
        request[1..].copy_from_slice(&number.to_be_bytes());
        to.write_all(&request).await?;
        to.flush().await?;
        Ok(())
    }

    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> anyhow::Result<Self> {
        let kind = from.read_u8().await?;
        let number = from.read_u64().await?;
        Ok(match kind {
            0 => Self::Take(number),
            1 => Self::Count((number >> 32) as u32, number as u32),
            2 => Self::Echo,
            _ => bail!("no such work: {kind}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_is_read_as_it_was_written() {
        for work in [Work::Take(1 << 40), Work::Count(10_000, 30_000), Work::Echo] {
            let mut bytes = Vec::new();
            work.write(&mut bytes).await.expect("it has room");
            let read = Work::read(&mut bytes.as_slice()).await;
            assert_eq!(read.expect("a request"), work);
        }
    }
}
