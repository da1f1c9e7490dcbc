//! What is acknowledged, and when: L6 to L9, L16.

use conformance::pair::{Pair, SingleStream, clean};
use conformance::time::{ms, s};
use rudp_proto::Config;
use rudp_proto::wire::Frame;

use super::{NO_KEEPALIVE, ack, established, stream, violation};

/// (L6)
#[test]
fn rule_rudp_l6_acknowledgements_are_not_acknowledged() {
    let (mut pair, client, server) = Pair::connected(NO_KEEPALIVE, clean());
    pair.client.conn(client).put(b"x").unwrap();
    pair.run_for(s(5));
    let sent = pair.log.len();
    pair.inject(true, 50, vec![ack(0..1)]);
    pair.run_for(s(5));
    assert_eq!(pair.log.len(), sent);
    assert_eq!(pair.server.conn(server).stats().bytes_in_flight, 0);
}

/// (L7)
#[test]
fn rule_rudp_l7_doubt_is_answered_at_once_and_the_rest_in_full_pairs_or_after_the_delay() {
    let full = [b'a'; 1_100];
    let long = "r".repeat(3);
    let close = |abort| Frame::Close {
        code: 0,
        reason: &long,
        abort,
    };
    for (case, packets, at_once) in [
        ("one packet", vec![(10, stream(0, b"a", false))], false),
        (
            "two packets",
            vec![
                (10, stream(0, &full, false)),
                (11, stream(1_100, &full, false)),
            ],
            true,
        ),
        (
            "two small ones",
            vec![(10, stream(0, b"a", false)), (11, stream(1, b"b", false))],
            false,
        ),
        ("a gap", vec![(12, stream(0, b"a", false))], true),
        (
            "its filling",
            vec![(12, stream(1, b"b", false)), (11, stream(0, b"a", false))],
            true,
        ),
        (
            "a gap in the stream",
            vec![(10, stream(1, b"b", false))],
            true,
        ),
        (
            "a duplicate",
            vec![(10, stream(0, b"a", false)), (10, stream(0, b"a", false))],
            true,
        ),
        ("FIN", vec![(10, stream(0, b"a", true))], true),
        ("PING", vec![(10, Frame::Ping)], true),
        ("CLOSE", vec![(10, close(false))], true),
        ("ABORT", vec![(10, close(true))], true),
    ] {
        let (mut pair, _, _) = Pair::connected(NO_KEEPALIVE, clean());
        let next = pair.frames(true).last().unwrap().1 + 1;
        for number in next..10 {
            pair.inject(true, number, vec![ack(0..1)]);
        }
        let last = packets.len() - 1;
        let mut before = 0;
        for (i, (number, frame)) in packets.into_iter().enumerate() {
            before = if i == last { pair.log.len() } else { 0 };
            pair.inject(true, number, vec![frame]);
        }
        assert_eq!(pair.log.len() > before, at_once, "{case}");
        if !at_once {
            pair.run_for(Config::DEFAULT.max_ack_delay - ms(1));
            assert_eq!(pair.log.len(), before, "{case}: not yet");
            pair.run_for(ms(1));
            assert_eq!(pair.log.len(), before + 1, "{case}: now");
        }
    }
}

/// (L7)
#[test]
fn rule_rudp_l7_a_lone_packet_waits_after_a_silence_too() {
    for silence in [ms(100), s(1), s(5)] {
        let (mut pair, client, _) = Pair::connected(NO_KEEPALIVE, clean());
        pair.client.conn(client).put(b"before").unwrap();
        pair.run_for(silence);
        pair.client.conn(client).put(b"after").unwrap();
        pair.run_for(ms(64)); // a round trip of 40 ms, and the delay of 25
        assert_eq!(pair.client.conn(client).unacknowledged(), 5, "{silence:?}");
        pair.run_for(ms(1));
        assert_eq!(pair.client.conn(client).unacknowledged(), 0, "{silence:?}");
    }
}

/// (L7)
#[test]
fn rule_rudp_l7_what_l14_repeats_waits_where_only_the_ack_was_lost() {
    let (mut pair, client, _) = established();
    for _ in 0..20 {
        pair.client.conn(client).put(b"x").unwrap();
        pair.run_for(ms(100));
    }
    // It arrives, but its ACK is lost: the probe has the next number, and leaves no gap.
    let start = pair.now;
    pair.lets_pass = Box::new(move |at, from_client, _| from_client || at > start + ms(50));
    pair.client.conn(client).put(b"probed").unwrap();
    pair.run_for(ms(200));
    let carriers = pair
        .frames(true)
        .into_iter()
        .filter_map(|(at, number, frame)| {
            let carries = matches!(frame, Frame::Stream { data, .. } if data == b"probed");
            carries.then_some((at, number))
        });
    let [(_, first), (probed_at, probe)] = carriers.collect::<Vec<_>>()[..] else {
        panic!("a packet and its repetition");
    };
    assert_eq!(probe, first + 1);
    let acked = pair
        .frames(false)
        .into_iter()
        .rev()
        .find_map(|(at, _, frame)| matches!(frame, Frame::Ack(_)).then_some(at));
    assert_eq!(
        acked,
        Some(probed_at + ms(20) + Config::DEFAULT.max_ack_delay)
    );
    let conn = pair.client.conn(client);
    assert_eq!((conn.unacknowledged(), conn.stats().timeouts), (0, 0));
    assert_eq!(conn.stats().tail_probes, 1);
}

/// (L8)
#[test]
fn rule_rudp_l8_too_old_is_not_duplicate() {
    let (mut pair, _, server) = established();
    for number in 0..300 {
        pair.inject(true, 1_000 + 2 * number, vec![Frame::Ping]);
    }
    let duplicates = |pair: &mut Pair| pair.server.conn(server).stats().duplicates;
    pair.inject(true, 1_598, vec![Frame::Ping]);
    assert_eq!(duplicates(&mut pair), 1);
    pair.inject(true, 1_001, vec![stream(0, b"old", false)]);
    pair.inject(true, 1_000, vec![stream(3, b"er", false)]);
    assert_eq!(duplicates(&mut pair), 1);
    assert_eq!(pair.server.bytes(server), b"older");
}

/// (L9)
#[test]
fn rule_rudp_l9_an_ack_of_a_packet_never_sent_is_a_violation() {
    let (mut pair, _, _) = established();
    let newest = pair.frames(false).last().unwrap().1;
    pair.inject(true, 50, vec![ack(0..newest + 1)]);
    assert!(pair.server.closed().is_empty());
    pair.inject(true, 51, vec![ack(0..newest + 2)]);
    violation(&pair, "L9");
}

/// (L16)
#[test]
fn rule_rudp_l16_what_an_ack_that_arrived_says_is_not_repeated() {
    let (mut pair, client, server) = established();
    for round in 0..200 {
        pair.lets_pass = Box::new(move |_, from_client, _| !from_client || round % 4 > 0);
        pair.client.conn(client).put(b"to").unwrap();
        pair.settle();
        pair.lets_pass = Box::new(|_, _, _| true); // a gap for good in each fourth round
        pair.run_for(ms(22));
        pair.server.conn(server).put(b"fro").unwrap();
        pair.run_for(ms(100));
    }
    let ranges = pair
        .frames(false)
        .into_iter()
        .filter_map(|(_, _, frame)| match frame {
            Frame::Ack(ack) => Some(ack.ranges.iter().count()),
            _ => None,
        });
    let ranges: Vec<_> = ranges.collect();
    assert!(
        ranges.contains(&2) && ranges.iter().all(|count| *count <= 4),
        "{ranges:?}"
    );
    assert_eq!(pair.client.conn(client).stats().timeouts, 0);
}
