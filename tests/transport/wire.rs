//! Arbitrary and mutated datagrams: never a panic, never state or more bytes for a stranger.

mod pieces;

use std::time::Duration;

use conformance::datagrams::encoded;
use conformance::pair::{Pair, SingleStream, client_addr, endpoint, server_addr};
use netsim::LinkConfig;
use proptest::collection::vec;
use proptest::prelude::*;
use rudp_proto::wire::{
    BASE_DATAGRAM, Frame, Header, MAX_ACK_RANGES, MAX_REASON, Packet, Params, Versions,
    unreachable_notice,
};
use rudp_proto::{Config, Endpoint, Event};

use pieces::{Piece, datagram, mutated, params, pieces, varint};

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
