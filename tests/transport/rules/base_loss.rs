//! What the path loses by itself, G10.

use conformance::pair::{Pair, endpoint, pattern};
use conformance::time::{ms, s};
use netsim::{Link, LinkConfig, Policer};
use rudp_proto::{Config, Stats};

/// 100 Mbit/s and 20 ms, with a queue of so many bytes.
fn path(queue: usize) -> LinkConfig {
    LinkConfig {
        delay: ms(10),
        rate: Some(100_000_000),
        queue,
        ..LinkConfig::PERFECT
    }
}

/// Bytes that arrive in a second, in the third to fifth of a transfer, and what the client counted.
fn steady(link: &LinkConfig, seed: u64) -> (u64, Stats) {
    let link = |seed| Link::new(link.clone(), seed).expect("a valid link");
    let [client, server] = [1, 2].map(|seed| endpoint(Config::DEFAULT, seed));
    let mut pair = Pair::of(client, server, link(seed), link(seed + 100));
    let client = pair.connect();
    pair.run_for(s(5)); // which Hellos may take
    let server = pair.server.handle();
    pair.client.send_all(client, &pattern(64 << 20));
    let mut received_in = |time| {
        for _ in 0..time {
            pair.log.clear();
            pair.run_for(s(1));
        }
        pair.server.conn(server).stats().stream_bytes_received
    };
    let before = received_in(2);
    let bytes = (received_in(3) - before) / 3;
    (bytes, pair.client.conn(client).stats())
}

/// (G10)
#[test]
fn rule_rudp_g10_what_the_path_loses_by_itself_is_sent_in_addition() {
    let carries = 12_500_000 * 96 / 100; // without headers
    for loss in [5, 10, 15] {
        let lossy = LinkConfig {
            loss: format!("{loss}%").parse().unwrap(),
            ..path(250_000)
        };
        let survives = carries * (100 - loss) / 100;
        for seed in 0..6 {
            let (bytes, _) = steady(&lossy, seed);
            // Without: a rate of what arrives loses that share of it again.
            assert!(
                bytes > survives * 90 / 100,
                "{loss} %, seed {seed}: {bytes} of {survives}"
            );
        }
    }
}

/// (G10)
#[test]
fn rule_rudp_g10_losses_without_a_queue_may_be_a_policers() {
    let policed = LinkConfig {
        rate: Some(1_000_000_000),
        policer: Some(Policer {
            rate: 100_000_000,
            burst: 25_000,
        }),
        ..path(250_000)
    };
    for link in [policed, path(25_000)] {
        let (bytes, stats) = steady(&link, 11);
        assert!(bytes > 10_000_000, "{bytes}");
        let share = stats.packets_lost * 1_000 / stats.packets_sent;
        assert!(share < 50, "{share} of 1,000 packets lost");
    }
}
