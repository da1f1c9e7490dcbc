//! What packets of a thin stream repeat of those before, L15: each bound from both sides.

use std::collections::BTreeMap;

use conformance::pair::{Pair, SingleStream, clean, pattern};
use conformance::time::{ms, s};
use rudp_proto::wire::BASE_DATAGRAM;
use rudp_proto::{Congestion, Handle};

use super::{TRACED, established};

fn sent(pair: &mut Pair, client: Handle) -> u64 {
    pair.client.conn(client).stats().stream_bytes_sent
}

/// Sends a packet with so many new bytes, and answers how many others it repeats.
fn repeats(pair: &mut Pair, client: Handle, bytes: usize) -> u64 {
    let before = sent(pair, client);
    pair.client.conn(client).put(&pattern(bytes)).unwrap();
    pair.settle();
    sent(pair, client) - before - bytes as u64
}

/// (L15)
#[test]
fn rule_rudp_l15_256_bytes_are_repeated_frame_headers_included_and_nothing_in_part() {
    for (pieces, repeated) in [
        (&[236][..], 236),
        (&[237], 0), // with the longest header of a frame, 257 bytes
        (&[100, 100], 200),
        (&[100, 100, 100], 200),
        (&[20, 150, 100], 120), // the newest, then what still fits
        (&[100, 237, 100], 200),
    ] {
        let (mut pair, client, _) = established();
        for bytes in pieces {
            repeats(&mut pair, client, *bytes);
        }
        assert_eq!(repeats(&mut pair, client, 1), repeated, "{pieces:?}");
    }
}

/// (L15)
#[test]
fn rule_rudp_l15_the_last_eight_packets_are_repeated() {
    let (mut pair, client, _) = established();
    for before in 0..20 {
        assert_eq!(repeats(&mut pair, client, 1), before.min(8));
    }
}

/// What a packet repeats, by the bytes that are in flight when it leaves.
fn by_flight(
    begin: impl Fn() -> (Pair, Handle),
    pieces: impl Iterator<Item = Vec<usize>>,
) -> BTreeMap<u64, u64> {
    pieces
        .map(|pieces| {
            let (mut pair, client) = begin();
            for bytes in pieces {
                repeats(&mut pair, client, bytes);
            }
            let flight = pair.client.conn(client).stats().bytes_in_flight;
            (flight, repeats(&mut pair, client, 1))
        })
        .collect()
}

fn assert_bound(repeated: &BTreeMap<u64, u64>, bound: u64) {
    assert!(repeated.contains_key(&bound) && repeated.contains_key(&(bound + 1)));
    for (flight, repeated) in repeated {
        assert_eq!(*repeated > 0, *flight <= bound, "{flight} in flight");
    }
}

/// (L15)
#[test]
fn rule_rudp_l15_more_than_four_packets_in_flight_repeat_nothing() {
    let begin = || {
        let (pair, client, _) = established();
        (pair, client)
    };
    // Each of 1,000 bytes is alone in a packet; the small one is what may be repeated.
    let pieces = (1..250).map(|last| vec![100, 1_000, 1_000, 1_000, 1_000, last]);
    assert_bound(&by_flight(begin, pieces), 4 * BASE_DATAGRAM as u64);
}

/// (L15)
#[test]
fn rule_rudp_l15_more_than_half_of_the_window_in_flight_repeats_nothing() {
    // A handshake that was repeated twice leaves a window of one packet (L10).
    let begin = || {
        let config = rudp_proto::Config {
            congestion: Congestion::Cubic,
            ..TRACED
        };
        let mut pair = Pair::new(config, clean());
        pair.lets_pass = Box::new(|at, from_client, _| !from_client || at >= s(3));
        let client = pair.connect();
        pair.run_until(s(3) + ms(40));
        let conn = pair.client.conn(client);
        assert_eq!(conn.stats().congestion_window, BASE_DATAGRAM as u64);
        (pair, client)
    };
    let pieces = (1..200).map(|last| vec![200, last]);
    assert_bound(&by_flight(begin, pieces), BASE_DATAGRAM as u64 / 2);
}
