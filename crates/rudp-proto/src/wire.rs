//! The wire format: datagrams to packets and back (`spec/rudp.md`, W1 to W9).
//!
//! Decoding borrows, checks every bound and never panics; what it returns obeys
//! every rule that can be checked without a connection.

mod ack;
mod field;
mod frame;

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use bytes::{Buf, BufMut};

pub use ack::{Ack, AckRanges, MAX_ACK_RANGES};
pub use field::MAX_VARINT;
use field::{put_varint, take_array, take_u8, take_u64, take_varint};
pub use frame::{Frame, Frames, MAX_REASON};
pub(crate) use frame::{put_ack, put_stream_header, stream_header_len};

/// The protocol version this crate speaks (W2).
pub const VERSION: u8 = 1;
/// The largest datagram sent or accepted, in bytes (W1).
pub const MAX_DATAGRAM: usize = 1200;
/// The length of every Hello, in bytes: no answer to one is longer (H3).
pub const HELLO_LEN: usize = 96;
/// The length of a stateless reset, in bytes; only a longer datagram provokes
/// one (K5).
pub const RESET_LEN: usize = HEADER_LEN + TOKEN_LEN + CHECKSUM_LEN;
/// The smallest idle timeout: half of it is the least time between two PINGs, at
/// the other side too (K2).
pub const MIN_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) const CHECKSUM_LEN: usize = 4;
const HEADER_LEN: usize = 10;
const TOKEN_LEN: usize = 16;

const HELLO: u8 = 0;
const CHALLENGE: u8 = 1;
const DATA: u8 = 2;
const RESET: u8 = 3;
const REFUSE: u8 = 4;
const UNREACHABLE: u8 = 5;

/// What a stateless reset proves itself with (K5).
pub type ResetToken = [u8; TOKEN_LEN];

/// What each side tells the other about itself: a client in its Hello, a server
/// in its SETTINGS (H6).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Stream bytes the sender of these parameters takes before any MAX_DATA;
    /// at most [`MAX_VARINT`] (F1).
    pub receive_window: u64,
    /// Its idle timeout, whole milliseconds on the wire; at least
    /// [`MIN_IDLE_TIMEOUT`] (K2).
    pub idle_timeout: Duration,
    /// The token that a stateless reset for its connection id carries (K5).
    pub reset_token: ResetToken,
}

/// A server's proof to itself that a client receives at its address (H5).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// When it was issued, in milliseconds of the server's clock.
    pub issued_ms: u64,
    /// Keyed BLAKE3 over address, client id and `issued_ms`.
    pub mac: [u8; 16],
}

/// A datagram with the frames of a Data packet in a list.
pub type Packet<'a> = Datagram<Vec<Frame<'a>>>;

/// A decoded datagram; `F` holds the frames of a Data packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datagram<F> {
    /// A client asks for a connection (H1, H2).
    Hello {
        /// The id the client wants to be addressed by.
        client_id: u64,
        /// What the client tells about itself.
        params: Params,
        /// The server's cookie, once the client has one.
        cookie: Option<Cookie>,
    },
    /// A server asks for proof of the address (H4).
    Challenge {
        /// The id of the Hello it answers.
        client_id: u64,
        /// To be repeated in the next Hello.
        cookie: Cookie,
    },
    /// Frames of a connection.
    Data {
        /// The receiver's connection id.
        to: u64,
        /// The packet number, never used again on this connection (L1).
        number: u64,
        /// At least one.
        frames: F,
    },
    /// "I know no connection of this id" (K5).
    Reset {
        /// The id that a Data packet was sent to.
        id: u64,
        /// The proof.
        token: ResetToken,
    },
    /// A server at its limit refuses a Hello (H9).
    Refuse {
        /// The id of the Hello it answers.
        client_id: u64,
    },
    /// A relay's next hop answered port-unreachable: a hint (K6).
    Unreachable {
        /// The client id of the Hello, or the destination id of the Data packet,
        /// that could not be delivered.
        id: u64,
        /// Which of both it was.
        hello: bool,
    },
}

/// Why a datagram is dropped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The checksum does not match, or there is no room for one (W3).
    Checksum,
    /// Longer than [`MAX_DATAGRAM`] (W1).
    TooLong(usize),
    /// A version this crate does not speak (W2).
    Version(u8),
    /// A packet type it does not know (W2).
    PacketType(u8),
    /// A frame type it does not know (W6).
    FrameType(u8),
    /// It ends inside a field (W4).
    Truncated,
    /// A field has a value it must not have; the text names it (W4).
    Field(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => f.write_str("the checksum does not match (W3)"),
            Self::TooLong(len) => write!(f, "{len} bytes are longer than {MAX_DATAGRAM} (W1)"),
            Self::Version(version) => write!(f, "version {version} is not {VERSION} (W2)"),
            Self::PacketType(kind) => write!(f, "no packet has type {kind} (W2)"),
            Self::FrameType(kind) => write!(f, "no frame has type {kind} (W6)"),
            Self::Truncated => f.write_str("it ends inside a field (W4)"),
            Self::Field(what) => write!(f, "{what} (W4)"),
        }
    }
}

impl core::error::Error for DecodeError {}

impl<'a> Datagram<Frames<'a>> {
    /// Checks a whole datagram, and decodes it without taking memory.
    ///
    /// # Errors
    /// See [`DecodeError`]; a datagram is taken whole or not at all (W4).
    pub fn decode_in_place(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_with(datagram, |frames| frames)
    }
}

impl<'a> Packet<'a> {
    /// Decodes a whole datagram.
    ///
    /// # Errors
    /// See [`DecodeError`]; a datagram is taken whole or not at all (W4).
    pub fn decode(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_with(datagram, |frames| frames.iter().collect())
    }
}

impl<F> Datagram<F> {
    fn decode_with<'a>(
        datagram: &'a [u8],
        hold: impl FnOnce(Frames<'a>) -> F,
    ) -> Result<Self, DecodeError> {
        if datagram.len() > MAX_DATAGRAM {
            return Err(DecodeError::TooLong(datagram.len()));
        }
        let (mut body, sum) = datagram
            .split_last_chunk::<CHECKSUM_LEN>()
            .ok_or(DecodeError::Checksum)?;
        if crc32fast::hash(body) != u32::from_be_bytes(*sum) {
            return Err(DecodeError::Checksum); // (W3)
        }
        let version = take_u8(&mut body)?;
        if version != VERSION {
            return Err(DecodeError::Version(version));
        }
        let kind = take_u8(&mut body)?;
        let id = take_u64(&mut body)?;
        let packet = match kind {
            HELLO => return decode_hello(id, body, datagram.len()),
            DATA => {
                let number = take_varint(&mut body)?;
                let frames = hold(Frames::check(body)?);
                return Ok(Self::Data {
                    to: id,
                    number,
                    frames,
                });
            }
            CHALLENGE => Self::Challenge {
                client_id: id,
                cookie: take_cookie(&mut body)?,
            },
            RESET => Self::Reset {
                id,
                token: take_array(&mut body)?,
            },
            REFUSE => Self::Refuse { client_id: id },
            UNREACHABLE => {
                let hello = match take_u8(&mut body)? {
                    HELLO => true,
                    DATA => false,
                    _ => return Err(DecodeError::Field("the packet type cannot be unreachable")),
                };
                Self::Unreachable { id, hello }
            }
            other => return Err(DecodeError::PacketType(other)),
        };
        if body.has_remaining() {
            return Err(DecodeError::Field("bytes follow the last field"));
        }
        Ok(packet)
    }
}

impl Packet<'_> {
    /// Appends this packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        match self {
            Self::Hello {
                client_id,
                params,
                cookie,
            } => {
                start(out, HELLO, *client_id);
                put_params(out, params);
                out.put_u8(cookie.is_some().into());
                if let Some(cookie) = cookie {
                    put_cookie(out, cookie);
                }
                return finish(out, begin, HELLO_LEN); // (H3)
            }
            Self::Challenge { client_id, cookie } => {
                start(out, CHALLENGE, *client_id);
                put_cookie(out, cookie);
            }
            Self::Data { to, number, frames } => {
                start_data(out, *to, *number);
                frames.iter().for_each(|frame| frame.encode(out));
            }
            Self::Reset { id, token } => {
                start(out, RESET, *id);
                out.put_slice(token);
            }
            Self::Refuse { client_id } => start(out, REFUSE, *client_id),
            Self::Unreachable { id, hello } => {
                start(out, UNREACHABLE, *id);
                out.put_u8(if *hello { HELLO } else { DATA });
            }
        }
        finish(out, begin, 0);
    }
}

/// Makes the notice a relay sends back to the sender of `datagram` when its
/// next hop answered port-unreachable (K6). `None` if the datagram is none of
/// this protocol's, or of a kind nobody waits an answer for.
#[must_use]
pub fn unreachable_notice(datagram: &[u8]) -> Option<Vec<u8>> {
    let (id, hello) = match Datagram::decode_in_place(datagram).ok()? {
        Datagram::Hello { client_id, .. } => (client_id, true),
        Datagram::Data { to, .. } => (to, false),
        _ => return None,
    };
    let mut notice = Vec::new();
    Packet::Unreachable { id, hello }.encode(&mut notice);
    Some(notice)
}

fn start(out: &mut Vec<u8>, kind: u8, id: u64) {
    out.put_slice(&[VERSION, kind]);
    out.put_u64(id);
}

/// Begins a Data packet; frames follow, then [`finish`].
pub(crate) fn start_data(out: &mut Vec<u8>, to: u64, number: u64) {
    start(out, DATA, to);
    put_varint(out, number);
}

/// Pads the datagram that starts at `begin` with zeros to `min_len`, checksum included, and
/// appends the checksum.
pub(crate) fn finish(out: &mut Vec<u8>, begin: usize, min_len: usize) {
    let end = begin.saturating_add(min_len.saturating_sub(CHECKSUM_LEN));
    out.resize(end.max(out.len()), 0);
    out.put_u32(crc32fast::hash(out.get(begin..).unwrap_or(&[]))); // (W3)
}

fn decode_hello<F>(
    client_id: u64,
    mut body: &[u8],
    len: usize,
) -> Result<Datagram<F>, DecodeError> {
    if len != HELLO_LEN {
        return Err(DecodeError::Field("a Hello of another length than 96")); // (H3)
    }
    let params = take_params(&mut body)?;
    let cookie = match take_u8(&mut body)? {
        0 => None,
        1 => Some(take_cookie(&mut body)?),
        _ => return Err(DecodeError::Field("a Hello has one cookie or none")),
    };
    if body.iter().any(|byte| *byte != 0) {
        return Err(DecodeError::Field("padding that is not zero"));
    }
    Ok(Datagram::Hello {
        client_id,
        params,
        cookie,
    })
}

fn put_params(out: &mut Vec<u8>, params: &Params) {
    put_varint(out, params.receive_window);
    put_varint(
        out,
        u64::try_from(params.idle_timeout.as_millis()).unwrap_or(MAX_VARINT),
    );
    out.put_slice(&params.reset_token);
}

fn take_params(body: &mut &[u8]) -> Result<Params, DecodeError> {
    let params = Params {
        receive_window: take_varint(body)?,
        idle_timeout: Duration::from_millis(take_varint(body)?),
        reset_token: take_array(body)?,
    };
    if params.idle_timeout < MIN_IDLE_TIMEOUT {
        return Err(DecodeError::Field("an idle timeout below one second")); // (K2)
    }
    Ok(params)
}

fn put_cookie(out: &mut Vec<u8>, cookie: &Cookie) {
    out.put_u64(cookie.issued_ms);
    out.put_slice(&cookie.mac);
}

fn take_cookie(body: &mut &[u8]) -> Result<Cookie, DecodeError> {
    Ok(Cookie {
        issued_ms: take_u64(body)?,
        mac: take_array(body)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn encoded(packet: &Packet<'_>) -> Vec<u8> {
        let mut datagram = Vec::new();
        packet.encode(&mut datagram);
        datagram
    }

    #[test]
    fn every_answer_to_a_stranger_is_shorter_than_a_hello() {
        let cookie = Cookie {
            issued_ms: u64::MAX,
            mac: [0xff; 16],
        };
        let params = Params {
            receive_window: MAX_VARINT,
            idle_timeout: Duration::from_millis(MAX_VARINT),
            reset_token: [0xff; 16],
        };
        let hello = Packet::Hello {
            client_id: u64::MAX,
            params,
            cookie: Some(cookie),
        };
        assert_eq!(encoded(&hello).len(), HELLO_LEN);
        assert_eq!(Packet::decode(&encoded(&hello)), Ok(hello));
        assert_eq!(
            encoded(&Packet::Challenge {
                client_id: 1,
                cookie
            })
            .len(),
            38
        );
        assert_eq!(encoded(&Packet::Refuse { client_id: 1 }).len(), 14);
        let reset = Packet::Reset {
            id: 1,
            token: [0; 16],
        };
        assert_eq!(encoded(&reset).len(), RESET_LEN);
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed() {
        let frames = vec![Frame::Stream {
            offset: 7,
            data: b"hello",
            fin: true,
        }];
        let datagram = encoded(&Packet::Data {
            to: 1,
            number: 300,
            frames,
        });
        for bit in 0..datagram.len() * 8 {
            let mut flipped = datagram.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Packet::decode(&flipped), Err(DecodeError::Checksum));
        }
    }

    #[test]
    fn a_notice_repeats_the_id_and_is_never_made_for_a_notice() {
        let data = encoded(&Packet::Data {
            to: 77,
            number: 0,
            frames: vec![Frame::Ping],
        });
        let notice = unreachable_notice(&data).unwrap();
        assert_eq!(
            Packet::decode(&notice),
            Ok(Packet::Unreachable {
                id: 77,
                hello: false
            })
        );
        assert!(notice.len() < data.len());
        assert_eq!(unreachable_notice(&notice), None);
        assert_eq!(unreachable_notice(b"something else"), None);
    }
}
