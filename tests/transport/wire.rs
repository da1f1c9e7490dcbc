//! Arbitrary and mutated datagrams: never a panic, never state or more bytes for a stranger.

use std::ops::Range;
use std::time::Duration;

use conformance::datagrams::{encoded, sealed};
use conformance::pair::{Pair, SingleStream, client_addr, endpoint, server_addr};
use netsim::LinkConfig;
use proptest::collection::vec;
use proptest::prelude::*;
use rudp_proto::wire::{
    Ack, BASE_DATAGRAM, Cookie, Frame, Header, MAX_ACK_RANGES, MAX_REASON, MAX_VARINT, Packet,
    Params, Versions, unreachable_notice,
};
use rudp_proto::{Config, EcnCounts, Endpoint, Event, Side, StreamId, StreamKind};

/// What a packet is made of, without borrows.
#[derive(Clone, Debug)]
enum Piece {
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
    fn frame(&self) -> Frame<'_> {
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
fn varint() -> impl Strategy<Value = u64> {
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

fn params() -> impl Strategy<Value = Params> {
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
            delay: Duration::from_micros(delay_us),
            ranges: ranges.into_iter().collect(),
        }
    })
}

/// What one packet carries: one ACK at most (W7).
fn pieces() -> impl Strategy<Value = Vec<Piece>> {
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

fn datagram() -> impl Strategy<Value = Vec<u8>> {
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
fn mutated() -> impl Strategy<Value = Vec<u8>> {
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

const NOW: Duration = Duration::from_secs(100);

/// A server that keeps no state before it has a proof of the address.
const CHALLENGING: Config = Config {
    max_half_open: 0,
    ..Config::DEFAULT
};

/// Two endpoints with a connection between them; everything was said at once.
fn connected() -> Pair {
    let mut pair = Pair::new(Config::DEFAULT, LinkConfig::PERFECT);
    pair.now = NOW;
    let handle = pair.connect();
    let written = pair.client.conn(handle).put(b"hello");
    assert_eq!(written, Ok(5));
    pair.run_until(NOW);
    assert_eq!(pair.server.bytes(pair.server.handle()), b"hello");
    pair
}

/// Lets an endpoint do whatever it wants to after a surprise, for a minute and a half.
fn exercise(endpoint: &mut Endpoint) {
    let mut datagram = Vec::new();
    let mut now = NOW;
    for _ in 0..40 {
        while endpoint.poll_transmit(now, 1, &mut datagram).is_some() {
            assert!(datagram.len() <= BASE_DATAGRAM);
        }
        while let Some((handle, _)) = endpoint.poll_event() {
            if let Some(connection) = endpoint.connection_mut(handle) {
                let _ = connection.take(&mut [0; 100]);
            }
        }
        let Some(next) = endpoint.poll_timeout().filter(|next| *next < NOW * 2) else {
            break;
        };
        now = now.max(next);
        endpoint.handle_timeout(now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_packet_comes_back_as_it_went(
        to in any::<u64>(), number in varint(), pieces in pieces(),
    ) {
        let frames: Vec<_> = pieces.iter().map(Piece::frame).collect();
        let packet = Packet::Data { to, number, frames };
        let datagram = encoded(&packet);
        prop_assume!(datagram.len() <= BASE_DATAGRAM);
        prop_assert_eq!(Packet::decode(&datagram, number), Ok(packet));
    }

    #[test]
    fn whatever_decodes_is_within_bounds_and_encodes_to_the_same_meaning(bytes in mutated()) {
        if let Ok(packet) = Packet::decode(&bytes, 0) {
            prop_assert!(bytes.len() <= BASE_DATAGRAM);
            let again = encoded(&packet);
            prop_assert_eq!(Packet::decode(&again, 0), Ok(packet.clone()));
            if let Packet::Data { frames, .. } = &packet {
                for frame in frames {
                    match frame {
                        Frame::Ack(ack) => prop_assert!(ack.ranges.iter().count() <= MAX_ACK_RANGES),
                        Frame::Close { reason, .. } => prop_assert!(reason.len() <= MAX_REASON),
                        _ => {}
                    }
                }
            }
        }
    }

    #[test]
    fn arbitrary_bytes_make_no_packet(bytes in vec(any::<u8>(), 0..1_300)) {
        // One in four billion has the right checksum; such a case shrinks to it and shows.
        prop_assert!(Packet::decode(&bytes, 0).is_err());
        let is_data = Header::of(&bytes).is_ok_and(|header| header.is_data());
        prop_assert!(is_data || unreachable_notice(&bytes).is_none());
    }

    #[test]
    fn a_notice_is_never_longer_than_what_it_is_about(bytes in datagram()) {
        if let Some(notice) = unreachable_notice(&bytes) {
            prop_assert!(notice.len() < bytes.len());
            prop_assert_eq!(unreachable_notice(&notice), None);
        }
    }

    #[test]
    fn whom_a_server_challenges_gets_no_state_and_no_more_bytes_than_it_sent(
        datagrams in vec(prop_oneof![datagram(), mutated()], 1..10),
        listens in any::<bool>(),
    ) {
        let mut server = endpoint(CHALLENGING, 2);
        server.listen(listens);
        let mut answer = Vec::new();
        for sent in datagrams {
            server.handle_datagram(NOW, client_addr(), None, &sent);
            let mut answered = 0;
            while let Some(sent) = server.poll_transmit(NOW, 1, &mut answer) {
                prop_assert_eq!(sent.to, client_addr());
                answered += answer.len();
            }
            prop_assert!(answered <= sent.len(), "{} for {}", answered, sent.len());
        }
        prop_assert_eq!(server.poll_event(), None);
        prop_assert_eq!(server.poll_timeout(), None, "no state, so no deadline");
    }

    #[test]
    fn a_spoofed_address_cannot_use_the_cookie_of_another(
        id in any::<u64>(), params in params(), flip in 0..24_usize, bit in 0..8_u8,
    ) {
        let mut server = endpoint(CHALLENGING, 2);
        server.listen(true);
        let params = Params { versions: Versions::DEFAULT, ..params };
        let hello = |cookie| encoded(&Packet::Hello { client_id: id, params, cookie });
        server.handle_datagram(NOW, client_addr(), None, &hello(None));
        let mut answer = Vec::new();
        prop_assert!(server.poll_transmit(NOW, 1, &mut answer).is_some());
        let Ok(Packet::Challenge { cookie, .. }) = Packet::decode(&answer, 0) else {
            panic!("a Challenge");
        };
        let mut forged = cookie;
        match flip {
            0..8 => forged.issued_ms ^= 1 << (flip * 8 + usize::from(bit)),
            _ => forged.mac[flip - 8] ^= 1 << bit,
        }
        server.handle_datagram(NOW, client_addr(), None, &hello(Some(forged)));
        server.handle_datagram(NOW, server_addr(), None, &hello(Some(cookie)));
        prop_assert_eq!(server.poll_event(), None);
        server.handle_datagram(NOW, client_addr(), None, &hello(Some(cookie)));
        prop_assert!(matches!(server.poll_event(), Some((_, Event::Connected))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Even from the peer's own address, under its own ids and with right checksums.
    #[test]
    fn no_datagram_makes_a_connection_panic_or_spin(
        numbers_and_pieces in vec((0..40_u64, pieces()), 1..10),
        mutations in vec(mutated(), 0..10),
        small in any::<bool>(),
    ) {
        let Pair { client, server, log, .. } = connected();
        let (mut client, mut server) = (client.endpoint, server.endpoint);
        let ids = log.iter().filter_map(|(_, _, bytes)| match Packet::decode(bytes, 0) {
            Ok(Packet::Data { to, .. }) => Some(to),
            _ => None,
        });
        let ids: Vec<u64> = ids.collect();
        for (number, pieces) in numbers_and_pieces {
            for to in &ids {
                let frames = pieces.iter().map(Piece::frame).map(|frame| match frame {
                    // Offsets within the window, so that more than the first packet is looked at.
                    Frame::Stream { id, offset, data, fin } if small => {
                        Frame::Stream { id, offset: offset % 1_000, data, fin }
                    }
                    other => other,
                });
                let packet = Packet::Data { to: *to, number, frames: frames.collect() };
                let bytes = encoded(&packet);
                server.handle_datagram(NOW, client_addr(), None, &bytes);
                client.handle_datagram(NOW, server_addr(), None, &bytes);
            }
        }
        for bytes in &mutations {
            server.handle_datagram(NOW, client_addr(), None, bytes);
            client.handle_datagram(NOW, server_addr(), None, bytes);
        }
        exercise(&mut client);
        exercise(&mut server);
    }
}
