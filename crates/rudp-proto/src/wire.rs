//! The wire format: datagrams to packets and back (`spec/rudp.md`, W1 to W9).
//!
//! Decoding borrows, checks every bound and never panics; what it returns obeys
//! every rule that can be checked without a connection.

mod ack;
mod field;
mod frame;
mod header;
mod number;
mod seal;
mod version;

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use bytes::BufMut;

pub use ack::{Ack, AckRanges, MAX_ACK_RANGES};
pub use field::MAX_VARINT;
use field::{put_varint, take_array, take_u8, take_u64, take_varint};
pub use frame::{Frame, Frames, MAX_REASON};
pub(crate) use frame::{put_ack, put_stream_header, stream_header_len};
pub use header::Header;
pub use number::MAX_PACKET_NUMBER;
pub(crate) use number::ShortNumber;
pub(crate) use seal::TAG_LEN;
pub use version::{VERSION, Versions};

/// The datagram that every path carries, in bytes (W1).
pub const BASE_DATAGRAM: usize = 1200;
/// The largest that an endpoint may be told to send and accept, in bytes: what UDP over IPv4 holds
/// (W1).
pub const LARGEST_DATAGRAM: usize = 65_507;
/// The length of every Hello, in bytes: no answer to one is longer (H3).
pub const HELLO_LEN: usize = 128;
/// The length of a stateless reset, in bytes; only a longer datagram provokes
/// one (K5).
pub const RESET_LEN: usize = HEADER_LEN + TOKEN_LEN + TAG_LEN;
/// The smallest idle timeout: half of it is the least time between two PINGs, at
/// the other side too (K2).
pub const MIN_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

const HEADER_LEN: usize = 10;
const TOKEN_LEN: usize = 16;

/// The type byte has the kind in its lower half; the upper one tells how long the packet number of
/// a Data packet is, and is 0 in any other.
const KIND_BITS: u8 = 4;
const HELLO: u8 = 0;
const CHALLENGE: u8 = 1;
const DATA: u8 = 2;
const RESET: u8 = 3;
const REFUSE: u8 = 4;
const UNREACHABLE: u8 = 5;
const VERSIONS: u8 = 6;
/// What a list of versions says instead of a version (N1).
const NO_VERSION: u8 = 0;

/// What a stateless reset proves itself with (K5).
pub type ResetToken = [u8; TOKEN_LEN];

/// What each side tells the other about itself: a client in its Hello, a server
/// in its SETTINGS (H6).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bytes of all streams together that the sender of these parameters takes before any
    /// MAX_DATA; at most [`MAX_VARINT`] (F1).
    pub receive_window: u64,
    /// The same of each stream that is no message, before any MAX_STREAM_DATA (F1).
    pub stream_window: u64,
    /// How many streams the peer may have open at once; at least 1 (S3).
    pub streams: u64,
    /// How many messages may be under way or unread at once; at least 1 (S3).
    pub messages: u64,
    /// Its idle timeout, whole milliseconds on the wire; at least
    /// [`MIN_IDLE_TIMEOUT`] (K2).
    pub idle_timeout: Duration,
    /// The token that a stateless reset for its connection id carries (K5).
    pub reset_token: ResetToken,
    /// The longest datagram it takes, in bytes; at least [`BASE_DATAGRAM`] (U3).
    pub max_datagram: u64,
    /// The versions it speaks (N4).
    pub versions: Versions,
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
        /// The whole packet number, never used again on this connection (L1, W10).
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
    /// A server does not speak the version of a Hello (N2).
    Versions {
        /// The id of the Hello it answers.
        client_id: u64,
        /// What it speaks.
        versions: Versions,
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
    /// The checksum does not match, or there is no room for one; or the packet number was read
    /// wrong (W3, W10).
    Checksum,
    /// Longer than [`LARGEST_DATAGRAM`] (W1).
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
            Self::TooLong(len) => write!(f, "{len} bytes are longer than {LARGEST_DATAGRAM} (W1)"),
            Self::Version(version) => write!(f, "version {version} is not {VERSION} (W2)"),
            Self::PacketType(kind) => write!(f, "no packet has type {kind} (W2)"),
            Self::FrameType(kind) => write!(f, "no frame has type {kind} (W6)"),
            Self::Truncated => f.write_str("it ends inside a field (W4)"),
            Self::Field(what) => write!(f, "{what} (W4)"),
        }
    }
}

impl core::error::Error for DecodeError {}

impl<'a> Packet<'a> {
    /// Decodes a whole datagram; `expected` is the packet number after the largest that was
    /// received, if it belongs to a connection, else 0 (W10).
    ///
    /// # Errors
    /// See [`DecodeError`]; a datagram is taken whole or not at all (W4).
    pub fn decode(datagram: &'a [u8], expected: u64) -> Result<Self, DecodeError> {
        Header::of(datagram)?.open_with(expected, |frames| frames.iter().collect())
    }
}

impl Packet<'_> {
    /// Appends this packet in version [`VERSION`].
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_as(VERSION, out);
    }

    /// Appends this packet; a list of versions is of none (N1).
    pub fn encode_as(&self, version: u8, out: &mut Vec<u8>) {
        let begin = out.len();
        match self {
            Self::Hello {
                client_id,
                params,
                cookie,
            } => {
                start(out, version, HELLO, *client_id);
                put_params(out, params);
                out.put_u8(cookie.is_some().into());
                if let Some(cookie) = cookie {
                    put_cookie(out, cookie);
                }
                return finish(out, begin, HELLO_LEN, None); // (H3)
            }
            Self::Challenge { client_id, cookie } => {
                start(out, version, CHALLENGE, *client_id);
                put_cookie(out, cookie);
            }
            Self::Data { to, number, frames } => {
                start_data(out, version, *to, ShortNumber::longest(*number));
                frames.iter().for_each(|frame| frame.encode(out));
                return finish(out, begin, 0, Some(*number));
            }
            Self::Reset { id, token } => {
                start(out, version, RESET, *id);
                out.put_slice(token);
            }
            Self::Refuse { client_id } => start(out, version, REFUSE, *client_id),
            Self::Unreachable { id, hello } => {
                start(out, version, UNREACHABLE, *id);
                out.put_u8(if *hello { HELLO } else { DATA });
            }
            Self::Versions {
                client_id,
                versions,
            } => {
                start(out, NO_VERSION, VERSIONS, *client_id);
                versions.encode(out);
            }
        }
        finish(out, begin, 0, None);
    }
}

/// Makes the notice a relay sends back to the sender of `datagram` when its
/// next hop answered port-unreachable (K6). `None` if the datagram is none of
/// this protocol's, or of a kind nobody waits an answer for. Who is not the receiver of a Data
/// packet cannot check it (W10): the notice is a hint.
#[must_use]
pub fn unreachable_notice(datagram: &[u8]) -> Option<Vec<u8>> {
    let header = Header::of(datagram).ok()?;
    let hello = !header.is_data();
    if hello && !matches!(header.open(0).ok()?, Datagram::Hello { .. }) {
        return None;
    }
    let notice = Packet::Unreachable {
        id: header.id,
        hello,
    };
    let mut out = Vec::new();
    notice.encode_as(header.version, &mut out);
    (out.len() < datagram.len()).then_some(out)
}

fn start(out: &mut Vec<u8>, version: u8, kind: u8, id: u64) {
    out.put_slice(&[version, kind]);
    out.put_u64(id);
}

/// Begins a Data packet; frames follow, then [`finish`].
pub(crate) fn start_data(out: &mut Vec<u8>, version: u8, to: u64, number: ShortNumber) {
    start(out, version, DATA | number.length_bits() << KIND_BITS, to);
    number.encode(out);
}

/// Pads the datagram that starts at `begin` with zeros to `min_len`, tag included, and appends
/// the tag; `number` is the whole one of a Data packet.
pub(crate) fn finish(out: &mut Vec<u8>, begin: usize, min_len: usize, number: Option<u64>) {
    let end = begin.saturating_add(min_len.saturating_sub(TAG_LEN));
    out.resize(end.max(out.len()), 0);
    seal::seal(out, begin, number); // (W3)
}

fn decode_hello<F>(
    client_id: u64,
    mut body: &[u8],
    len: usize,
) -> Result<Datagram<F>, DecodeError> {
    if len != HELLO_LEN {
        return Err(DecodeError::Field("a Hello of another length than 128")); // (H3)
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
    put_varint(out, params.stream_window);
    put_varint(out, params.streams);
    put_varint(out, params.messages);
    put_varint(
        out,
        u64::try_from(params.idle_timeout.as_millis()).unwrap_or(MAX_VARINT),
    );
    out.put_slice(&params.reset_token);
    put_varint(out, params.max_datagram);
    params.versions.encode(out);
}

fn take_params(body: &mut &[u8]) -> Result<Params, DecodeError> {
    let params = Params {
        receive_window: take_varint(body)?,
        stream_window: take_varint(body)?,
        streams: take_varint(body)?,
        messages: take_varint(body)?,
        idle_timeout: Duration::from_millis(take_varint(body)?),
        reset_token: take_array(body)?,
        max_datagram: take_varint(body)?,
        versions: Versions::decode(body)?,
    };
    if params.max_datagram < BASE_DATAGRAM as u64 {
        return Err(DecodeError::Field("a largest datagram below 1,200 bytes")); // (U3)
    }
    if params.idle_timeout < MIN_IDLE_TIMEOUT {
        return Err(DecodeError::Field("an idle timeout below one second")); // (K2)
    }
    if params.streams == 0 || params.messages == 0 {
        return Err(DecodeError::Field("no stream or no message at all")); // (S3)
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
    use crate::{Side, StreamId, StreamKind};
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
            stream_window: MAX_VARINT,
            streams: MAX_VARINT,
            messages: MAX_VARINT,
            idle_timeout: Duration::from_millis(MAX_VARINT),
            reset_token: [0xff; 16],
            max_datagram: MAX_VARINT,
            versions: Versions::new(&[VERSION; 8]).unwrap(),
        };
        let hello = Packet::Hello {
            client_id: u64::MAX,
            params,
            cookie: Some(cookie),
        };
        assert_eq!(encoded(&hello).len(), HELLO_LEN);
        assert_eq!(Packet::decode(&encoded(&hello), 0), Ok(hello));
        assert_eq!(
            encoded(&Packet::Challenge {
                client_id: 1,
                cookie
            })
            .len(),
            38
        );
        assert_eq!(encoded(&Packet::Refuse { client_id: 1 }).len(), 14);
        let (client_id, versions) = (1, params.versions);
        let list = Packet::Versions {
            client_id,
            versions,
        };
        assert_eq!(encoded(&list).len(), 23);
        assert_eq!(Packet::decode(&encoded(&list), 0), Ok(list));
        let reset = Packet::Reset {
            id: 1,
            token: [0; 16],
        };
        assert_eq!(encoded(&reset).len(), RESET_LEN);
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed() {
        let frames = vec![Frame::Stream {
            id: StreamId::new(Side::Client, StreamKind::Bytes, 3),
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
            assert_eq!(Packet::decode(&flipped, 0), Err(DecodeError::Checksum));
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
            Packet::decode(&notice, 0),
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
