//! Arbitrary packets, and what becomes of their bytes on the way.

use std::ops::Range;
use std::time::Duration;

use conformance::datagrams::{encoded, sealed};
use proptest::collection::vec;
use proptest::prelude::*;
use rudp_proto::wire::{Ack, Cookie, Frame, MAX_ACK_RANGES, MAX_VARINT, Packet, Params, Versions};
use rudp_proto::{EcnCounts, Side, StreamId, StreamKind};

/// What a packet is made of, without borrows.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Ping,
    Ecn(EcnCounts),
    Ack(Ack<'static>),
    Stream(StreamId, u64, Vec<u8>, bool),
    MaxData(u64),
    MaxStreamData(StreamId, u64),
    MaxStreams(StreamKind, u64),
    Reset(StreamId, u64, u64),
    Stop(StreamId, u64),
    Settings(u64, Params),
    Close(u64, String, bool),
}

impl Piece {
    pub(super) fn frame(&self) -> Frame<'_> {
        match self {
            Self::Ping => Frame::Ping,
            Self::Ecn(counts) => Frame::Ecn(*counts),
            Self::Ack(ack) => Frame::Ack(ack.clone()),
            Self::Stream(id, offset, data, fin) => Frame::Stream {
                id: *id,
                offset: *offset,
                data,
                fin: *fin,
            },
            Self::MaxData(limit) => Frame::MaxData(*limit),
            Self::MaxStreamData(id, limit) => Frame::MaxStreamData {
                id: *id,
                limit: *limit,
            },
            Self::MaxStreams(kind, count) => Frame::MaxStreams {
                kind: *kind,
                count: *count,
            },
            Self::Reset(id, code, size) => Frame::ResetStream {
                id: *id,
                code: *code,
                size: *size,
            },
            Self::Stop(id, code) => Frame::StopSending {
                id: *id,
                code: *code,
            },
            Self::Settings(id, params) => Frame::Settings {
                connection_id: *id,
                params: *params,
            },
            Self::Close(code, reason, abort) => Frame::Close {
                code: *code,
                reason,
                abort: *abort,
            },
        }
    }
}

/// Small numbers and large ones.
pub(super) fn varint() -> impl Strategy<Value = u64> {
    prop_oneof![0..100_u64, 0..=MAX_VARINT, Just(MAX_VARINT)]
}

fn versions() -> impl Strategy<Value = Versions> {
    vec(1..=u8::MAX, 1..=8).prop_map(|versions| Versions::new(&versions).unwrap())
}

fn kind() -> impl Strategy<Value = StreamKind> {
    prop_oneof![Just(StreamKind::Bytes), Just(StreamKind::Message)]
}

/// Of streams that a connection is likely to have, and of others.
fn id() -> impl Strategy<Value = StreamId> {
    let side = prop_oneof![Just(Side::Client), Just(Side::Server)];
    let index = prop_oneof![8 => 0..3_u64, 1 => varint()];
    (side, kind(), index).prop_map(|(side, kind, index)| StreamId::new(side, kind, index))
}

pub(super) fn params() -> impl Strategy<Value = Params> {
    let idle_ms = varint().prop_map(|ms| ms.max(1_000)); // (K2)
    let windows = (varint(), varint());
    let counts = (varint(), varint());
    (windows, counts, idle_ms, any::<[u8; 16]>(), versions()).prop_map(
        |(windows, counts, idle_ms, reset_token, versions)| Params {
            receive_window: windows.0,
            stream_window: windows.1,
            streams: counts.0.max(1), // (S3)
            messages: counts.1.max(1),
            idle_timeout: Duration::from_millis(idle_ms),
            reset_token,
            max_datagram: windows.0.max(1_200), // (U3)
            versions,
        },
    )
}

fn cookie() -> impl Strategy<Value = Cookie> {
    (any::<u64>(), any::<[u8; 16]>()).prop_map(|(issued_ms, mac)| Cookie { issued_ms, mac })
}

fn ack() -> impl Strategy<Value = Ack<'static>> {
    let steps = vec((1..50_u64, 1..50_u64), 1..=MAX_ACK_RANGES);
    (varint(), 0..1_000_u64, steps).prop_map(|(delay_us, lowest, steps)| {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut end = lowest;
        for (gap, length) in steps {
            ranges.insert(0, end + gap..end + gap + length);
            end += gap + length;
        }
        Ack {
            delay: Duration::from_micros(delay_us / 8 * 8),
            ranges: ranges.into_iter().collect(),
        }
    })
}

/// What one packet carries: one ACK at most (W7).
pub(super) fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    vec(piece(), 1..4).prop_map(|mut pieces| {
        let mut has_ack = false;
        let is_ack = |piece: &Piece| matches!(piece, Piece::Ack { .. });
        pieces.retain(|piece| !is_ack(piece) || !std::mem::replace(&mut has_ack, true));
        pieces
    })
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        Just(Piece::Ping),
        (varint(), varint(), varint()).prop_map(|(ect0, ect1, ce)| Piece::Ecn(EcnCounts {
            ect0,
            ect1,
            ce
        })),
        ack().prop_map(Piece::Ack),
        (
            id(),
            0..MAX_VARINT / 2,
            vec(any::<u8>(), 0..200),
            any::<bool>()
        )
            .prop_map(|(id, offset, data, fin)| Piece::Stream(id, offset, data, fin)),
        (id(), 0..300_u64, vec(any::<u8>(), 0..200), any::<bool>())
            .prop_map(|(id, offset, data, fin)| Piece::Stream(id, offset, data, fin)),
        varint().prop_map(Piece::MaxData),
        (id(), varint()).prop_map(|(id, limit)| Piece::MaxStreamData(id, limit)),
        (kind(), varint()).prop_map(|(kind, count)| Piece::MaxStreams(kind, count)),
        (id(), varint(), varint()).prop_map(|(id, code, size)| Piece::Reset(id, code, size)),
        (id(), varint()).prop_map(|(id, code)| Piece::Stop(id, code)),
        (any::<u64>(), params()).prop_map(|(id, params)| Piece::Settings(id, params)),
        (any::<u64>(), "\\PC{0,60}", any::<bool>())
            .prop_map(|(code, reason, abort)| Piece::Close(code, reason, abort)),
    ]
}

pub(super) fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let id = any::<u64>;
    prop_oneof![
        (id(), params(), prop::option::of(cookie())).prop_map(|(client_id, params, cookie)| {
            encoded(&Packet::Hello {
                client_id,
                params,
                cookie,
            })
        }),
        (id(), cookie())
            .prop_map(|(client_id, cookie)| encoded(&Packet::Challenge { client_id, cookie })),
        (id(), 0..1_u64 << 31, pieces()).prop_map(|(to, number, pieces)| {
            let frames = pieces.iter().map(Piece::frame).collect();
            encoded(&Packet::Data { to, number, frames })
        }),
        (id(), any::<[u8; 16]>()).prop_map(|(id, token)| encoded(&Packet::Reset { id, token })),
        id().prop_map(|client_id| encoded(&Packet::Refuse { client_id })),
        (id(), versions()).prop_map(|(client_id, versions)| encoded(&Packet::Versions {
            client_id,
            versions,
        })),
        (id(), any::<bool>()).prop_map(|(id, hello)| encoded(&Packet::Unreachable { id, hello })),
    ]
}

/// Flips, cuts, inserts; with `seal`, puts the right checksum under the result, so that it gets
/// past the first check.
pub(super) fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6);
    (datagram(), changes, any::<bool>()).prop_map(|(mut bytes, changes, seal)| {
        if seal {
            bytes.truncate(bytes.len() - 4);
        }
        for (index, value, change) in changes {
            let at = index.index(bytes.len().max(1));
            match change {
                0 | 1 if at < bytes.len() => bytes[at] = value,
                2 => bytes.truncate(at),
                _ => bytes.insert(at.min(bytes.len()), value),
            }
        }
        if seal { sealed(bytes) } else { bytes }
    })
}
