use crate::http2;
use grpc_backoff::{FirstFrame, SettingsProbe};
use std::fmt;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// A connection of a client, by hand: what an attempt has to do until the server has accepted,
/// and how the connection then ends.
#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    /// What is left of the server's SETTINGS.
    rest: usize,
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The server closed it, or the network broke it.
    Closed,
    /// The server said GOAWAY, with this debug data.
    GoAway(String),
    /// No answer came to a PING.
    Silent,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed"),
            Self::GoAway(debug) => write!(f, "GOAWAY: {debug}"),
            Self::Silent => f.write_str("no answer to a PING"),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// Sends the preface and waits for the server's SETTINGS, for as long as it takes.
    ///
    /// # Errors
    ///
    /// Those of the stream, and `InvalidData` where the server's first frame is another.
    pub async fn settle(mut stream: S) -> io::Result<Self> {
        stream.write_all(http2::PREFACE).await?;
        stream.write_all(&http2::SETTINGS).await?;
        Self::accepted(stream).await
    }

    /// The same, but makes a call first, as servers behind a protocol sniffer need it.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub async fn call_and_settle(mut stream: S) -> io::Result<Self> {
        stream.write_all(http2::PREFACE).await?;
        stream.write_all(&http2::SETTINGS).await?;
        stream.write_all(&http2::call()).await?;
        Self::accepted(stream).await
    }

    async fn accepted(mut stream: S) -> io::Result<Self> {
        stream.flush().await?;
        let mut head = [0; 9];
        let mut probe = SettingsProbe::new();
        for place in &mut head {
            *place = stream.read_u8().await?;
            if let FirstFrame::Other(wrong) = probe.handle_received(&[*place]) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
            }
        }
        let rest = http2::length(head);
        Ok(Self { stream, rest })
    }

    /// Waits for its end. Where the server has been quiet for `keepalive`, it sends a PING, and
    /// waits as long for an answer.
    pub async fn gone(mut self, keepalive: Duration) -> Gone {
        self.next_end(keepalive).await.unwrap_or(Gone::Closed)
    }

    async fn next_end(&mut self, keepalive: Duration) -> io::Result<Gone> {
        self.read(self.rest).await?;
        self.send(&http2::SETTINGS_ACK).await?;
        let mut asked = false;
        loop {
            let Ok(head) = timeout(keepalive, self.head()).await else {
                if asked {
                    return Ok(Gone::Silent);
                }
                asked = true;
                self.send(&http2::PING).await?;
                continue;
            };
            let head = head?;
            asked = false;
            let payload = self.read(http2::length(head)).await?;
            if head[3] == http2::kind::GOAWAY {
                let debug = payload.get(8..).unwrap_or_default();
                return Ok(Gone::GoAway(String::from_utf8_lossy(debug).into_owned()));
            }
            self.send(&http2::acknowledged(head, &payload)).await?;
        }
    }

    async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.stream.write_all(frame).await?;
        self.stream.flush().await
    }

    /// The next frame's header. It may be dropped while no byte of it has come.
    async fn head(&mut self) -> io::Result<[u8; 9]> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await?;
        Ok(head)
    }

    async fn read(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut payload = vec![0; len];
        self.stream.read_exact(&mut payload).await?;
        Ok(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, GoAway, Memory};
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    async fn end(fault: Fault) -> Gone {
        let server = Memory::new(fault);
        let stream = server.connect().await.expect("it accepts");
        let client = Client::settle(stream).await.expect("SETTINGS comes first");
        client.gone(SECOND).await
    }

    #[tokio::test(start_paused = true)]
    async fn each_end_is_told_apart() {
        for (fault, gone) in [
            (Fault::SettingsThenClose(SECOND), Gone::Closed),
            (
                Fault::GoAway(GoAway::MaxAge, SECOND),
                Gone::GoAway("max_age".into()),
            ),
            (Fault::HalfOpen, Gone::Silent),
        ] {
            assert_eq!(end(fault).await, gone, "{fault:?}");
        }
        assert!(timeout(SECOND * 600, end(Fault::Healthy)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_sniffer_settles_only_who_calls() {
        let server = Memory::new(Fault::SettingsAfterRequest);
        let dial = || async { server.connect().await.expect("it accepts") };
        let waits = Client::settle(dial().await);
        assert!(timeout(SECOND * 600, waits).await.is_err());
        assert!(Client::call_and_settle(dial().await).await.is_ok());
    }
}
