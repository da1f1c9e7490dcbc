//! Frames: what a Data packet is made of (W6 to W9).

use alloc::vec::Vec;
use core::iter;
use core::ops::Range;
use core::time::Duration;

use bytes::BufMut;

use super::ack::{self, Ack};
use super::field::{
    MAX_VARINT, put_varint, take_bytes, take_u8, take_u64, take_varint, varint_len,
};
use super::{DecodeError, Params, put_params, take_params};
use crate::{EcnCounts, StreamId, StreamKind};

/// The longest reason in a CLOSE, in bytes of UTF-8 (W9).
pub const MAX_REASON: usize = 256;

const PADDING: u8 = 0;
const PING: u8 = 1;
const ACK: u8 = 2;
const MAX_DATA: u8 = 4;
const MAX_STREAM_DATA: u8 = 5;
const MAX_STREAMS: u8 = 6;
const RESET_STREAM: u8 = 7;
const STOP_SENDING: u8 = 8;
const SETTINGS: u8 = 9;
const CLOSE: u8 = 10;
const ABORT: u8 = 11;
const ECN: u8 = 12;
const STREAM: u8 = 16;
/// Bits of a STREAM frame's type: an offset follows, which is 0 otherwise; the stream ends; no length
/// follows, and the data ends with the packet.
const HAS_OFFSET: u8 = 1;
const HAS_FIN: u8 = 2;
const IS_LAST: u8 = 4;
const STREAM_LAST: u8 = STREAM | HAS_OFFSET | HAS_FIN | IS_LAST;

/// One frame. All but [`Frame::Ack`] and [`Frame::Ecn`] are acknowledged by the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// "Acknowledge this at once."
    Ping,
    /// Packet numbers that arrived.
    Ack(Ack<'a>),
    /// How many packets of each ECN value have arrived; stands before the ACK it belongs to (E2).
    Ecn(EcnCounts),
    /// A piece of a stream.
    Stream {
        /// Which stream (S1).
        id: StreamId,
        /// Where in the stream the data begins; its end is at most [`MAX_VARINT`].
        offset: u64,
        /// The bytes.
        data: &'a [u8],
        /// Whether the stream ends after them.
        fin: bool,
    },
    /// How many bytes the peer may send on all streams together (F1).
    MaxData(u64),
    /// The offset up to which the peer may send on a stream (F1).
    MaxStreamData {
        /// Which stream.
        id: StreamId,
        /// Where its window ends.
        limit: u64,
    },
    /// How many streams of a kind the peer may open, those that are over included (S3).
    MaxStreams {
        /// Of which kind.
        kind: StreamKind,
        /// How many.
        count: u64,
    },
    /// The rest of a stream will not be sent (S6).
    ResetStream {
        /// Which stream.
        id: StreamId,
        /// The application's code, a varint.
        code: u64,
        /// How many bytes of it were sent.
        size: u64,
    },
    /// The rest of a stream is not wanted (S7).
    StopSending {
        /// Which stream.
        id: StreamId,
        /// The application's code, a varint.
        code: u64,
    },
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

impl Frame<'_> {
    /// Whether the receiver owes an acknowledgement (L6).
    #[must_use]
    pub fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Self::Ack(_) | Self::Ecn(_))
    }

    /// Appends the frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ping => out.put_u8(PING),
            Self::Ecn(counts) => {
                out.put_u8(ECN);
                let EcnCounts { ect0, ect1, ce } = *counts;
                for count in [ect0, ect1, ce] {
                    put_varint(out, count);
                }
            }
            Self::Ack(ack) => put_ack(out, ack.delay, ack.ranges.iter()),
            Self::Stream {
                id,
                offset,
                data,
                fin,
            } => {
                put_stream_header(out, *id, *offset, Some(data.len() as u64), *fin);
                out.put_slice(data);
            }
            Self::MaxData(limit) => put_varints(out, MAX_DATA, &[*limit]),
            Self::MaxStreamData { id, limit } => {
                put_varints(out, MAX_STREAM_DATA, &[id.number(), *limit]);
            }
            Self::MaxStreams { kind, count } => {
                let kind = u64::from(*kind == StreamKind::Message);
                put_varints(out, MAX_STREAMS, &[kind, *count]);
            }
            Self::ResetStream { id, code, size } => {
                put_varints(out, RESET_STREAM, &[id.number(), *code, *size]);
            }
            Self::StopSending { id, code } => {
                put_varints(out, STOP_SENDING, &[id.number(), *code]);
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

/// Appends a STREAM frame up to its data: `len` bytes must follow, or all that the packet will have.
pub(crate) fn put_stream_header(
    out: &mut Vec<u8>,
    id: StreamId,
    offset: u64,
    len: Option<u64>,
    fin: bool,
) {
    let offset_bit = if offset > 0 { HAS_OFFSET } else { 0 };
    let fin_bit = if fin { HAS_FIN } else { 0 };
    let last_bit = if len.is_none() { IS_LAST } else { 0 };
    out.put_u8(STREAM | offset_bit | fin_bit | last_bit);
    put_varint(out, id.number());
    if offset > 0 {
        put_varint(out, offset);
    }
    if let Some(len) = len {
        put_varint(out, len);
    }
}

/// How long a STREAM frame is before its data.
pub(crate) fn stream_header_len(id: StreamId, offset: u64, len: Option<u64>) -> usize {
    let offset = if offset > 0 { varint_len(offset) } else { 0 };
    varint_len(id.number())
        .saturating_add(offset)
        .saturating_add(len.map_or(0, varint_len))
        .saturating_add(1)
}

fn put_varints(out: &mut Vec<u8>, kind: u8, values: &[u64]) {
    out.put_u8(kind);
    values.iter().for_each(|value| put_varint(out, *value));
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len().try_into().unwrap_or(MAX_VARINT));
    out.put_slice(bytes);
}

/// Appends an ACK frame of ranges that are as [`AckRanges`](super::AckRanges) demands.
pub(crate) fn put_ack(
    out: &mut Vec<u8>,
    delay: Duration,
    ranges: impl Iterator<Item = Range<u64>> + Clone,
) {
    if let Some(newest) = ranges.clone().next() {
        out.put_u8(ACK);
        ack::put(out, newest.end, delay, ranges);
    }
}

/// The frames of a Data packet, checked when it arrived and decoded one after the other, without
/// memory of their own.
#[derive(Copy, Clone, Debug)]
pub struct Frames<'a> {
    body: &'a [u8],
}

impl<'a> Frames<'a> {
    /// Decodes every frame once, so that a packet is taken whole or not at all (W4).
    pub(super) fn check(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut rest = body;
        let (mut any, mut acks) = (false, 0_u8);
        while let Some(frame) = decode_next(&mut rest) {
            let is_ack = matches!(frame?, Frame::Ack(_));
            acks = acks.saturating_add(is_ack.into());
            any = true;
        }
        if acks > 1 {
            return Err(DecodeError::Field("a Data packet with two ACKs (W7)"));
        }
        if !any {
            return Err(DecodeError::Field("a Data packet without a frame (W6)"));
        }
        Ok(Self { body })
    }

    /// The frames in their order, without PADDING.
    pub fn iter(self) -> impl Iterator<Item = Frame<'a>> {
        let mut rest = self.body;
        iter::from_fn(move || decode_next(&mut rest)?.ok())
    }
}

fn decode_next<'a>(body: &mut &'a [u8]) -> Option<Result<Frame<'a>, DecodeError>> {
    loop {
        match take_u8(body).ok()? {
            PADDING => {}
            kind => return Some(decode(kind, body)),
        }
    }
}

fn take_id(body: &mut &[u8]) -> Result<StreamId, DecodeError> {
    take_varint(body).map(StreamId::from_wire)
}

fn decode<'a>(kind: u8, body: &mut &'a [u8]) -> Result<Frame<'a>, DecodeError> {
    Ok(match kind {
        PING => Frame::Ping,
        ACK => Frame::Ack(ack::take(body)?),
        ECN => Frame::Ecn(EcnCounts {
            ect0: take_varint(body)?,
            ect1: take_varint(body)?,
            ce: take_varint(body)?,
        }),
        STREAM..=STREAM_LAST => {
            let id = take_id(body)?;
            let has_offset = kind & HAS_OFFSET != 0;
            let offset = if has_offset { take_varint(body)? } else { 0 };
            let data = if kind & IS_LAST == 0 {
                take_bytes(body)?
            } else {
                core::mem::take(body)
            };
            if offset.saturating_add(data.len() as u64) > MAX_VARINT {
                return Err(DecodeError::Field(
                    "stream data beyond the last offset (W8)",
                ));
            }
            Frame::Stream {
                id,
                offset,
                data,
                fin: kind & HAS_FIN != 0,
            }
        }
        MAX_DATA => Frame::MaxData(take_varint(body)?),
        MAX_STREAM_DATA => Frame::MaxStreamData {
            id: take_id(body)?,
            limit: take_varint(body)?,
        },
        MAX_STREAMS => Frame::MaxStreams {
            kind: match take_varint(body)? {
                0 => StreamKind::Bytes,
                1 => StreamKind::Message,
                _ => return Err(DecodeError::Field("no streams are of this kind (W4)")),
            },
            count: take_varint(body)?,
        },
        RESET_STREAM => Frame::ResetStream {
            id: take_id(body)?,
            code: take_varint(body)?,
            size: take_varint(body)?,
        },
        STOP_SENDING => Frame::StopSending {
            id: take_id(body)?,
            code: take_varint(body)?,
        },
        SETTINGS => Frame::Settings {
            connection_id: take_u64(body)?,
            params: take_params(body)?,
        },
        CLOSE | ABORT => {
            let code = take_u64(body)?;
            let reason = take_bytes(body)?;
            if reason.len() > MAX_REASON {
                return Err(DecodeError::Field("a reason longer than 256 bytes (W9)"));
            }
            let reason = core::str::from_utf8(reason)
                .map_err(|_| DecodeError::Field("a reason that is not UTF-8 (W9)"))?;
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
mod tests;
