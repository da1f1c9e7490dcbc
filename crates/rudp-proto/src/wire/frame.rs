//! Frames: what a Data packet is made of (W6 to W9).

use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use bytes::{Buf, BufMut};

use super::field::{
    MAX_VARINT, put_varint, take_bytes, take_u8, take_u64, take_varint, varint_len,
};
use super::{DecodeError, Params, put_params, take_params};
use crate::ranges::length;

/// The most ranges an ACK carries: the newest (W7).
pub const MAX_ACK_RANGES: usize = 32;
/// The longest reason in a CLOSE, in bytes of UTF-8 (W9).
pub const MAX_REASON: usize = 256;

const PADDING: u8 = 0;
const PING: u8 = 1;
const ACK: u8 = 2;
const STREAM: u8 = 3;
const STREAM_FIN: u8 = 4;
const MAX_DATA: u8 = 5;
const SETTINGS: u8 = 6;
const CLOSE: u8 = 7;
const ABORT: u8 = 8;

/// One frame. All but [`Frame::Ack`] are acknowledged by the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// "Acknowledge this at once."
    Ping,
    /// Packet numbers that arrived.
    Ack(Ack),
    /// A piece of the byte stream.
    Stream {
        /// Where in the stream the data begins; its end is at most [`MAX_VARINT`].
        offset: u64,
        /// The bytes.
        data: &'a [u8],
        /// Whether the stream ends after them.
        fin: bool,
    },
    /// The stream offset up to which the peer may send (F1).
    MaxData(u64),
    /// The server's acceptance (H6).
    Settings {
        /// The id by which the server wants to be addressed.
        connection_id: u64,
        /// What the server tells about itself.
        params: Params,
    },
    /// The end of the connection (K3, K4).
    Close {
        /// The application's code; 0 is "no error".
        code: u64,
        /// The application's words, at most [`MAX_REASON`] bytes.
        reason: &'a str,
        /// Whether undelivered data is given up.
        abort: bool,
    },
}

/// The contents of an ACK frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// How long the newest packet waited for this ACK; whole microseconds on
    /// the wire.
    pub delay: Duration,
    /// Newest first, 1 to [`MAX_ACK_RANGES`], none empty, none touching another.
    pub ranges: Vec<Range<u64>>,
}

impl Frame<'_> {
    /// Whether the receiver owes an acknowledgement (L6).
    #[must_use]
    pub fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Self::Ack(_))
    }

    /// Appends the frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ping => out.put_u8(PING),
            Self::Ack(ack) => encode_ack(ack, out),
            Self::Stream { offset, data, fin } => {
                put_stream_header(out, *offset, data.len() as u64, *fin);
                out.put_slice(data);
            }
            Self::MaxData(limit) => {
                out.put_u8(MAX_DATA);
                put_varint(out, *limit);
            }
            Self::Settings {
                connection_id,
                params,
            } => {
                out.put_u8(SETTINGS);
                out.put_u64(*connection_id);
                put_params(out, params);
            }
            Self::Close {
                code,
                reason,
                abort,
            } => {
                out.put_u8(if *abort { ABORT } else { CLOSE });
                out.put_u64(*code);
                let (reason, _) = reason.split_at(reason.floor_char_boundary(MAX_REASON)); // (W9)
                put_bytes(out, reason.as_bytes());
            }
        }
    }
}

/// The most that a STREAM frame at this offset needs beside its data.
pub(crate) fn stream_header_len(offset: u64) -> usize {
    varint_len(offset).saturating_add(1 + 2)
}

/// Appends a STREAM frame up to its data, of which `len` bytes must follow.
pub(crate) fn put_stream_header(out: &mut Vec<u8>, offset: u64, len: u64, fin: bool) {
    out.put_u8(if fin { STREAM_FIN } else { STREAM });
    put_varint(out, offset);
    put_varint(out, len);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len().try_into().unwrap_or(MAX_VARINT));
    out.put_slice(bytes);
}

fn encode_ack(ack: &Ack, out: &mut Vec<u8>) {
    let mut ranges = ack.ranges.iter().take(MAX_ACK_RANGES); // (W7)
    let Some(first) = ranges.next() else {
        return;
    };
    out.put_u8(ACK);
    put_varint(out, first.end.saturating_sub(1));
    put_varint(
        out,
        u64::try_from(ack.delay.as_micros()).unwrap_or(MAX_VARINT),
    );
    put_varint(out, ranges.len().try_into().unwrap_or(MAX_VARINT));
    put_varint(out, length(first));
    let mut above = first.start;
    for range in ranges {
        put_varint(out, above.saturating_sub(range.end));
        put_varint(out, length(range));
        above = range.start;
    }
}

fn decode_ack(body: &mut &[u8]) -> Result<Ack, DecodeError> {
    const BAD: DecodeError = DecodeError::Field("ACK ranges that overlap or go below zero");
    let largest = take_varint(body)?;
    let delay = Duration::from_micros(take_varint(body)?);
    let more = take_varint(body)?;
    if more >= MAX_ACK_RANGES as u64 {
        return Err(DecodeError::Field("an ACK of more than 32 ranges")); // (W7)
    }
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut end = largest.saturating_add(1);
    for _ in 0..=more {
        if let Some(&Range { start, .. }) = ranges.last() {
            let gap = take_varint(body)?;
            end = start
                .checked_sub(gap)
                .filter(|end| *end < start)
                .ok_or(BAD)?;
        }
        let len = take_varint(body)?;
        let start = end.checked_sub(len).ok_or(BAD)?;
        if len == 0 {
            return Err(BAD);
        }
        ranges.push(start..end);
    }
    Ok(Ack { delay, ranges })
}

/// Decodes every frame of a packet, so that a packet is taken whole or not at
/// all (W4).
pub(super) fn decode_all(mut body: &[u8]) -> Result<Vec<Frame<'_>>, DecodeError> {
    let mut frames = Vec::new();
    while body.has_remaining() {
        let kind = take_u8(&mut body)?;
        if kind != PADDING {
            frames.push(decode(kind, &mut body)?);
        }
    }
    if frames.is_empty() {
        return Err(DecodeError::Field("a Data packet without a frame")); // (W6)
    }
    Ok(frames)
}

fn decode<'a>(kind: u8, body: &mut &'a [u8]) -> Result<Frame<'a>, DecodeError> {
    Ok(match kind {
        PING => Frame::Ping,
        ACK => Frame::Ack(decode_ack(body)?),
        STREAM | STREAM_FIN => {
            let offset = take_varint(body)?;
            let data = take_bytes(body)?;
            if offset.saturating_add(data.len() as u64) > MAX_VARINT {
                return Err(DecodeError::Field("stream data beyond the last offset")); // (W8)
            }
            Frame::Stream {
                offset,
                data,
                fin: kind == STREAM_FIN,
            }
        }
        MAX_DATA => Frame::MaxData(take_varint(body)?),
        SETTINGS => Frame::Settings {
            connection_id: take_u64(body)?,
            params: take_params(body)?,
        },
        CLOSE | ABORT => {
            let code = take_u64(body)?;
            let reason = take_bytes(body)?;
            if reason.len() > MAX_REASON {
                return Err(DecodeError::Field("a reason longer than 256 bytes")); // (W9)
            }
            let reason = core::str::from_utf8(reason)
                .map_err(|_| DecodeError::Field("a reason that is not UTF-8"))?; // (W9)
            Frame::Close {
                code,
                reason,
                abort: kind == ABORT,
            }
        }
        other => return Err(DecodeError::FrameType(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn ack_ranges_come_back_as_they_went() {
        let ranges = vec![90..100, 50..60, 0..1];
        let frame = Frame::Ack(Ack {
            delay: Duration::from_micros(1234),
            ranges,
        });
        let mut out = Vec::new();
        frame.encode(&mut out);
        assert_eq!(decode_all(&out), Ok(vec![frame]));
    }

    #[test]
    fn a_reason_is_cut_between_characters() {
        let long = "\u{fc}".repeat(200); // 400 bytes
        let mut out = Vec::new();
        Frame::Close {
            code: 7,
            reason: &long,
            abort: true,
        }
        .encode(&mut out);
        let cut = "\u{fc}".repeat(128);
        let expected = Frame::Close {
            code: 7,
            reason: &cut,
            abort: true,
        };
        assert_eq!(decode_all(&out), Ok(vec![expected]));
    }

    #[test]
    fn ranges_below_zero_and_endless_ones_are_refused() {
        for body in [
            &[ACK, 5, 0, 0, 7][..],   // seven numbers below and including 5
            &[ACK, 5, 0, 1, 1, 9, 1], // a gap of nine below 5
            &[ACK, 5, 0, 0, 0],       // an empty range
            &[ACK, 50, 0, 32, 1],     // 33 ranges
            &[STREAM, 0, 5, b'x'],    // shorter than it says
            &[CLOSE, 0, 0],           // cut
        ] {
            assert!(decode_all(body).is_err(), "{body:?}");
        }
    }
}
