//! As much of HTTP/2 as a server needs that answers every gRPC call with an empty message.

use std::io;
use std::mem::take;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Whether SETTINGS has left already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settings {
    Sent,
    /// It leaves once the client's first HEADERS has come.
    AfterRequest,
}

/// A SETTINGS frame that sets nothing.
pub(crate) const SETTINGS: [u8; 9] = header(0, kind::SETTINGS, 0, 0);
/// The answer to SETTINGS.
pub(crate) const SETTINGS_ACK: [u8; 9] = header(0, kind::SETTINGS, ACK, 0);
/// A PING, of eight bytes.
pub(crate) const PING: [u8; 17] = [0, 0, 8, kind::PING, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

pub(crate) mod kind {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(super) const WINDOW_UPDATE: u8 = 8;
}

/// What a client begins with.
pub(crate) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The greatest frame of a client that was not told otherwise.
const MAX_FRAME: usize = 16_384;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:method: POST`, `:scheme: http` and `:path: /` by their index; `:authority`, `content-type`
/// and `te` with a value.
const REQUEST: &[u8] =
    b"\x83\x86\x84\x01\x06faults\x0f\x10\x10application/grpc\x00\x02te\x08trailers";
/// `:status: 200` by its index; `content-type` by its index, with a value of 16 bytes.
const RESPONSE: &[u8] = b"\x88\x0f\x10\x10application/grpc";
/// `grpc-status: 0`, neither by an index.
const TRAILERS: &[u8] = b"\x00\x0bgrpc-status\x010";
/// Not compressed, and of no bytes.
const EMPTY_MESSAGE: &[u8] = &[0; 5];

const fn header(len: usize, kind: u8, flags: u8, stream: u32) -> [u8; 9] {
    let [.., a, b, c] = len.to_be_bytes();
    let [p, q, r, s] = stream.to_be_bytes();
    [a, b, c, kind, flags, p, q, r, s]
}

/// GOAWAY with this error code and debug data. No stream is refused.
pub(crate) fn go_away(code: u32, debug: &[u8]) -> Vec<u8> {
    let last_stream = (1_u32 << 31) - 1;
    let payload = [&last_stream.to_be_bytes(), &code.to_be_bytes(), debug].concat();
    frame(kind::GOAWAY, 0, 0, &payload)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [&header(payload.len(), kind, flags, stream), payload].concat()
}

/// A frame's length, by its header.
pub(crate) const fn length([high, middle, low, ..]: [u8; 9]) -> usize {
    u32::from_be_bytes([0, high, middle, low]) as usize
}

/// HEADERS of a call without a message, on stream 1.
pub(crate) fn call() -> Vec<u8> {
    frame(kind::HEADERS, END_HEADERS | END_STREAM, 1, REQUEST)
}

/// The ACK that a frame of either side asks for, if it does.
pub(crate) fn acknowledged([.., kind, flags, _, _, _, _]: [u8; 9], payload: &[u8]) -> Vec<u8> {
    match kind {
        kind::SETTINGS if flags & ACK == 0 => SETTINGS_ACK.to_vec(),
        kind::PING if flags & ACK == 0 => frame(kind::PING, ACK, 0, payload),
        _ => Vec::new(),
    }
}

/// Answers every call until the client closes. A request may be of any size.
pub(crate) async fn serve<S>(mut stream: S, mut settings: Settings) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut preface = [0; PREFACE.len()];
    if stream.read_exact(&mut preface).await.is_err() {
        return Ok(()); // it closed: it had nothing to ask
    }
    if preface != *PREFACE {
        return Err(wrong("no HTTP/2 preface"));
    }
    let mut held = Vec::new();
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).await.is_err() {
            return Ok(());
        }
        let [_, _, _, kind, flags, id @ ..] = head;
        let len = length(head);
        if len > MAX_FRAME {
            return Err(wrong("a frame above 16,384 bytes"));
        }
        let mut payload = vec![0; len];
        stream.read_exact(&mut payload).await?;

        if settings == Settings::AfterRequest && kind == kind::HEADERS {
            settings = Settings::Sent;
            held.splice(..0, SETTINGS); // before any other frame
        }
        held.extend(acknowledged(head, &payload));
        held.extend(reply(kind, flags, u32::from_be_bytes(id), &payload));
        if settings == Settings::Sent {
            stream.write_all(&take(&mut held)).await?;
            stream.flush().await?;
        }
    }
}

/// What a frame of a call asks for.
fn reply(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    match kind {
        kind::HEADERS if flags & END_STREAM != 0 => answer(stream),
        kind::DATA if flags & END_STREAM != 0 => [credit(0, payload), answer(stream)].concat(),
        kind::DATA => [credit(0, payload), credit(stream, payload)].concat(),
        _ => Vec::new(),
    }
}

/// Lets the client send as much again as it has.
fn credit(stream: u32, payload: &[u8]) -> Vec<u8> {
    match u32::try_from(payload.len()) {
        Ok(0) | Err(_) => Vec::new(),
        Ok(len) => frame(kind::WINDOW_UPDATE, 0, stream, &len.to_be_bytes()),
    }
}

/// A whole response: headers, one empty message, status OK.
fn answer(stream: u32) -> Vec<u8> {
    [
        frame(kind::HEADERS, END_HEADERS, stream, RESPONSE),
        frame(kind::DATA, 0, stream, EMPTY_MESSAGE),
        frame(kind::HEADERS, END_HEADERS | END_STREAM, stream, TRAILERS),
    ]
    .concat()
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
