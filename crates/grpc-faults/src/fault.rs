use crate::http2::{self, Settings};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, sink};
use tokio::time::{sleep, timeout};

/// What a server does to a client that dials it.
///
/// Where nothing else is said, a server reads what it gets and never closes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None: SETTINGS at once, and every call is answered with an empty message.
    Healthy,
    /// Nothing listens.
    Refuse,
    /// Accepts, and closes at once.
    AcceptThenClose,
    /// Accepts, and never says anything.
    BlackHole,
    /// Begins to answer a TLS handshake, and stops in the middle of its first message.
    TlsStall,
    /// Answers a TLS handshake with the alert `handshake_failure`, and closes.
    TlsFailure,
    /// Healthy, but SETTINGS comes only after this time.
    SettingsLate(Duration),
    /// Healthy, but each byte of SETTINGS comes so long after the one before.
    SettingsByteByByte(Duration),
    /// Healthy, but SETTINGS comes only after the client's first request: a protocol sniffer.
    SettingsAfterRequest,
    /// Healthy, but a PING comes before SETTINGS, which HTTP/2 forbids.
    WrongFirstFrame,
    /// Answers in HTTP/1.1, and closes.
    Http1,
    /// Healthy for this time after SETTINGS, then closes without a word.
    SettingsThenClose(Duration),
    /// Healthy for this time after SETTINGS, then says GOAWAY and closes.
    GoAway(GoAway, Duration),
    /// Sends SETTINGS, and never says anything again, as if the network were cut.
    HalfOpen,
}

/// Why a server says GOAWAY, as gRPC servers put it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoAway {
    /// The connection has reached its age: NO_ERROR, `max_age`.
    MaxAge,
    /// The client's keepalive is too eager: ENHANCE_YOUR_CALM, `too_many_pings`.
    TooManyPings,
}

impl GoAway {
    const fn frame(self) -> (u32, &'static [u8]) {
        match self {
            Self::MaxAge => (0x0, b"max_age"),
            Self::TooManyPings => (0xb, b"too_many_pings"),
        }
    }
}

/// Serves one connection, until either side closes it. [`Fault::Refuse`] closes, as it is too
/// late to refuse.
///
/// # Errors
///
/// Those of the stream, and what the client says against HTTP/2.
pub async fn serve<S>(fault: Fault, mut stream: S) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match fault {
        Fault::Refuse | Fault::AcceptThenClose => return Ok(()),
        Fault::BlackHole => {}
        Fault::TlsStall => {
            stream.read_u8().await?;
            stream.write_all(&BEGUN_SERVER_HELLO).await?;
        }
        Fault::TlsFailure => {
            stream.read_u8().await?;
            stream.write_all(&HANDSHAKE_FAILURE).await?;
            stream.shutdown().await?;
        }
        Fault::Http1 => {
            stream.read_u8().await?;
            stream.write_all(HTTP1_REFUSAL).await?;
            stream.shutdown().await?;
        }
        Fault::SettingsAfterRequest => return http2::serve(stream, Settings::AfterRequest).await,
        Fault::Healthy => return settle_and_answer(stream).await,
        Fault::SettingsLate(late) => {
            sleep(late).await;
            return settle_and_answer(stream).await;
        }
        Fault::SettingsByteByByte(pause) => {
            for byte in http2::SETTINGS {
                sleep(pause).await;
                stream.write_u8(byte).await?;
                stream.flush().await?;
            }
            return http2::serve(stream, Settings::Sent).await;
        }
        Fault::WrongFirstFrame => {
            stream.write_all(&http2::PING).await?;
            return settle_and_answer(stream).await;
        }
        Fault::SettingsThenClose(up) => {
            let _ = timeout(up, settle_and_answer(&mut stream)).await;
            return stream.shutdown().await;
        }
        Fault::GoAway(reason, up) => {
            if let Ok(ended) = timeout(up, settle_and_answer(&mut stream)).await {
                return ended;
            }
            let (code, debug) = reason.frame();
            stream.write_all(&http2::go_away(code, debug)).await?;
            return stream.shutdown().await;
        }
        Fault::HalfOpen => stream.write_all(&http2::SETTINGS).await?,
    }
    stream.flush().await?;
    tokio::io::copy(&mut stream, &mut sink()).await.map(|_| ())
}

async fn settle_and_answer<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) -> io::Result<()> {
    stream.write_all(&http2::SETTINGS).await?;
    stream.flush().await?;
    http2::serve(stream, Settings::Sent).await
}

/// A record of TLS 1.2, type handshake, and the first bytes of a ServerHello of 118 bytes.
const BEGUN_SERVER_HELLO: [u8; 11] = [22, 3, 3, 0, 122, 2, 0, 0, 118, 3, 3];
/// Bad Request, and no more.
const HTTP1_REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
/// A record of type alert: fatal, `handshake_failure`.
const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{DuplexStream, duplex};
    use tokio::time::{Instant, timeout_at};

    /// What a client that sends these bytes hears, and when: at most an hour, from the start.
    async fn heard(fault: Fault, request: &[u8]) -> (Vec<(Duration, u8)>, Option<Duration>) {
        let (mut client, server): (DuplexStream, _) = duplex(64 * 1024);
        let served = tokio::spawn(serve(fault, server));
        client.write_all(request).await.expect("there is room");
        let (begin, mut bytes) = (start(), Vec::new());
        loop {
            match timeout_at(begin + Duration::from_secs(3600), client.read_u8()).await {
                Ok(Ok(byte)) => bytes.push((begin.elapsed(), byte)),
                Ok(Err(_)) => return (bytes, Some(begin.elapsed())),
                Err(_) => break,
            }
        }
        drop(client);
        let _ = served.await.expect("no panic");
        (bytes, None)
    }

    #[expect(clippy::disallowed_methods, reason = "the paused clock of these tests")]
    fn start() -> Instant {
        Instant::now()
    }

    const NONE: Duration = Duration::ZERO;
    const SECOND: Duration = Duration::from_secs(1);
    #[tokio::test(start_paused = true)]
    async fn each_fault_says_what_it_should_when_it_should() {
        let settings = http2::SETTINGS.map(|byte| (NONE, byte)).to_vec();
        let dribbled = (1..=9).zip(http2::SETTINGS);
        let dribbled: Vec<_> = dribbled.map(|(n, byte)| (SECOND * n, byte)).collect();
        let late = http2::SETTINGS.map(|byte| (SECOND * 30, byte)).to_vec();
        let (ping_first, stall) = (
            [&http2::PING[..], &http2::SETTINGS].concat(),
            BEGUN_SERVER_HELLO,
        );
        let at_once = |bytes: &[u8]| -> Vec<_> { bytes.iter().map(|&byte| (NONE, byte)).collect() };

        for (fault, bytes, closed) in [
            (Fault::Healthy, settings.clone(), None),
            (Fault::Refuse, vec![], Some(NONE)),
            (Fault::AcceptThenClose, vec![], Some(NONE)),
            (Fault::BlackHole, vec![], None),
            (Fault::TlsStall, at_once(&stall), None),
            (Fault::TlsFailure, at_once(&HANDSHAKE_FAILURE), Some(NONE)),
            (Fault::Http1, at_once(HTTP1_REFUSAL), Some(NONE)),
            (Fault::SettingsLate(SECOND * 30), late, None),
            (Fault::SettingsByteByByte(SECOND), dribbled, None),
            (Fault::SettingsAfterRequest, vec![], None),
            (Fault::WrongFirstFrame, at_once(&ping_first), None),
            (
                Fault::SettingsThenClose(SECOND),
                settings.clone(),
                Some(SECOND),
            ),
            (Fault::HalfOpen, settings.clone(), None),
        ] {
            assert_eq!(
                heard(fault, http2::PREFACE).await,
                (bytes, closed),
                "{fault:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn go_away_names_its_reason_and_closes() {
        for (reason, code, debug) in [
            (GoAway::MaxAge, 0, &b"max_age"[..]),
            (GoAway::TooManyPings, 11, b"too_many_pings"),
        ] {
            let (bytes, closed) = heard(Fault::GoAway(reason, SECOND), http2::PREFACE).await;
            assert_eq!(closed, Some(SECOND));
            let said: Vec<u8> = bytes[9..].iter().map(|&(_, byte)| byte).collect();
            assert_eq!((said[3], said[16]), (7, code), "{said:?}");
            assert_eq!(&said[17..], debug);
        }
    }

    /// The same answer with SETTINGS first, last, or after the call.
    #[tokio::test(start_paused = true)]
    async fn healthy_servers_answer_calls_and_half_open_ones_do_not() {
        let request = [&http2::PREFACE[..], &http2::SETTINGS, &http2::call()].concat();
        for (fault, answers) in [
            (Fault::Healthy, true),
            (Fault::SettingsLate(SECOND), true),
            (Fault::SettingsByteByByte(SECOND), true),
            (Fault::SettingsAfterRequest, true),
            (Fault::WrongFirstFrame, true),
            (Fault::HalfOpen, false),
            (Fault::BlackHole, false),
        ] {
            let (bytes, _) = heard(fault, &request).await;
            let bytes: Vec<u8> = bytes.into_iter().map(|(_, byte)| byte).collect();
            let ended = bytes.ends_with(b"grpc-status\x010");
            assert_eq!(ended, answers, "{fault:?}: {bytes:?}");
            let settings_first = bytes.starts_with(&http2::SETTINGS);
            let may_not = [Fault::WrongFirstFrame, Fault::BlackHole].contains(&fault);
            assert_eq!(settings_first, !may_not, "{fault:?}: {bytes:?}");
        }
    }
}
