//! What the path loses by itself, G10.

use conformance::pair::{Pair, pattern};
use conformance::time::{ms, s};
use netsim::{LinkConfig, Policer};
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
fn steady(link: LinkConfig) -> (u64, Stats) {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, link);
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
        let (bytes, _) = steady(lossy);
        let survives = carries * (100 - loss) / 100;
        // Without: a rate of what arrives loses that share of it again.
        assert!(
            bytes > survives * 92 / 100,
            "{loss} %: {bytes} of {survives}"
        );
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
        let (bytes, stats) = steady(link);
        assert!(bytes > 10_000_000, "{bytes}");
        let share = stats.packets_lost * 1_000 / stats.packets_sent;
        assert!(share < 50, "{share} of 1,000 packets lost");
    }
}
