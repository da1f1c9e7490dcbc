//! The wire format: datagrams to packets and back (`spec/rudp.md`, W1 to W11).
//!
//! Decoding borrows, checks every bound and never panics; what it returns obeys
//! every rule that can be checked without a connection.

mod ack;
mod field;
mod frame;
mod header;
mod number;
mod params;
mod seal;
mod version;

use alloc::vec::Vec;
use core::fmt;

use bytes::BufMut;

pub use ack::{Ack, AckRanges, MAX_ACK_RANGES};
pub use field::MAX_VARINT;
use field::take_u8;
pub use frame::{Frame, Frames, MAX_REASON};
pub(crate) use frame::{put_ack, put_stream_header, stream_header_len};
pub use header::Header;
#[cfg(test)]
pub(crate) use number::MAX_PACKET_NUMBER;
pub(crate) use number::ShortNumber;
pub(crate) use params::MIN_IDLE_TIMEOUT;
pub use params::{Cookie, Params, ResetToken};
use params::{put_cookie, put_params, take_cookie, take_params};
pub(crate) use seal::TAG_LEN;
pub use version::{VERSION, Versions};

/// The datagram that every path carries, in bytes (W1).
pub const BASE_DATAGRAM: usize = 1200;
/// The largest that an endpoint may be told to send and accept, in bytes: what UDP over IPv4 holds
/// (W1).
pub const LARGEST_DATAGRAM: usize = 65_507;
/// The length of every Hello, in bytes: no packet that answers one is longer (H3).
pub const HELLO_LEN: usize = 128;
/// The length of a stateless reset, in bytes; only a longer datagram provokes
/// one (K5).
pub const RESET_LEN: usize = HEADER_LEN + TOKEN_LEN + TAG_LEN;

/// So much stream data at the end of a packet needs no length: the packet is not padded (W6).
pub(crate) const LEAST_LAST: u64 = RESET_LEN as u64;

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
    /// A field has a value it must not have; the text names it and the rule (W4).
    Field(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => f.write_str("the checksum does not match (W3)"),
            Self::TooLong(len) => write!(f, "{len} bytes are longer than {LARGEST_DATAGRAM} (W1)"),
            Self::Version(version) => write!(f, "version {version} is not spoken here (W2)"),
            Self::PacketType(kind) => write!(f, "no packet has type {kind} (W2)"),
            Self::FrameType(kind) => write!(f, "no frame has type {kind} (W6)"),
            Self::Truncated => f.write_str("it ends inside a field (W4)"),
            Self::Field(what) => f.write_str(what),
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
    pub(crate) fn encode_as(&self, version: u8, out: &mut Vec<u8>) {
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
        return Err(DecodeError::Field(
            "a Hello of another length than 128 (H3)",
        ));
    }
    let params = take_params(&mut body)?;
    let cookie = match take_u8(&mut body)? {
        0 => None,
        1 => Some(take_cookie(&mut body)?),
        _ => return Err(DecodeError::Field("a Hello has one cookie or none (W4)")),
    };
    if body.iter().any(|byte| *byte != 0) {
        return Err(DecodeError::Field("padding that is not zero (W4)"));
    }
    Ok(Datagram::Hello {
        client_id,
        params,
        cookie,
    })
}

#[cfg(test)]
mod tests;
