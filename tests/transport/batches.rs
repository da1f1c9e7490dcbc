//! What leaves in one system call.

use std::collections::{BTreeMap, BTreeSet};

use conformance::datagrams::Decoder;
use conformance::turns::Turns;
use rudp_proto::Config;
use rudp_proto::wire::{BASE_DATAGRAM, Frame, Header, LARGEST_DATAGRAM, Packet};

#[test]
fn datagrams_that_leave_together_are_of_one_size_and_one_connection() {
    let config = Config {
        max_datagram: Some(BASE_DATAGRAM),
        ..Config::DEFAULT
    };
    for most in [1, 2, 10, 64] {
        let mut turns = Turns::new(config, most);
        let handles = [turns.connect(), turns.connect()];
        let (mut largest, mut ids) = (0, BTreeSet::new());
        for _ in 0..300 {
            turns.turn(&handles, |sent, datagrams| {
                assert!(datagrams.len() <= LARGEST_DATAGRAM.max(sent.segment_size));
                let id = |datagram| Header::of(datagram).expect("well formed").id;
                let first = id(&datagrams[..sent.segment_size]);
                let mut each = datagrams.chunks(sent.segment_size);
                let count = each.len();
                assert!(count <= most);
                assert!(each.all(|datagram| id(datagram) == first));
                largest = count.max(largest);
                if count > 1 {
                    ids.insert(first);
                }
            });
        }
        assert!(turns.received > 10_000_000, "{most}: {}", turns.received);
        assert_eq!(turns.server.stats().malformed, 0);
        assert_eq!(turns.server.stats().corrupted, 0);
        assert_eq!(
            largest,
            most.min(LARGEST_DATAGRAM / BASE_DATAGRAM),
            "{most}"
        );
        assert_eq!(
            ids.len(),
            if most > 1 { 2 } else { 0 },
            "both have their turns"
        );
        let sent: u64 = handles
            .iter()
            .map(|handle| {
                turns
                    .client
                    .connection(*handle)
                    .expect("open")
                    .stats()
                    .packets_sent
            })
            .sum();
        assert_eq!(turns.client.stats().datagrams_sent, sent, "each is counted");
    }
}

/// (L7)
#[test]
fn what_arrives_together_is_acknowledged_together() {
    let mut turns = Turns::new(Config::DEFAULT, 64);
    let handles = [turns.connect(), turns.connect()];
    let (mut decoder, mut acks, mut packets) = (Decoder::default(), 0, 0);
    for turn in 0..300 {
        let mut heard = BTreeMap::new();
        let look = |sent: rudp_proto::Transmit, datagrams: &[u8]| {
            packets += datagrams.chunks(sent.segment_size).len();
        };
        turns.turn_and_hear(&handles, look, |datagram| {
            let packet = decoder.decode(datagram).expect("well formed");
            let Packet::Data { to, frames, .. } = packet else {
                return;
            };
            if frames.iter().any(|frame| matches!(frame, Frame::Ack(_))) {
                *heard.entry(to).or_insert(0) += 1;
            }
        });
        assert!(heard.values().all(|acks| *acks == 1), "{turn}: {heard:?}");
        acks += heard.len();
    }
    assert!(acks > 400 && packets > 10 * acks, "{packets}, {acks} ACKs");
}
