//! Limits of patience with a peer that does not answer: K10, K11.

use std::time::Duration;

use conformance::pair::{Pair, SingleStream, clean, pattern};
use conformance::time::s;
use rudp_proto::{CloseReason, Config, ConfigError, Endpoint, Event, Lost, Secrets};

use super::NO_KEEPALIVE;

/// A pair that heard nothing since `start` while the client waits for an answer.
fn unanswered(limits: rto::Limits) -> (Pair, rudp_proto::Handle, Duration) {
    let config = Config {
        limits,
        idle_timeout: s(600),
        ..NO_KEEPALIVE
    };
    let (mut pair, client, _) = Pair::connected(config, clean());
    let start = pair.now;
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.client.conn(client).put(b"no answer").unwrap();
    (pair, client, start)
}

/// (K10)
#[test]
fn rule_rudp_k10_r1_is_told_once_and_so_is_the_next_acknowledgement() {
    let (mut pair, client, start) = unanswered(rto::Limits {
        r1: rto::Threshold::Retransmissions(3),
        ..rto::Limits::NONE
    });
    pair.run_until(start + s(100));
    let told = |pair: &Pair| {
        let events = pair.client.events.iter();
        let told = events.filter_map(|(at, _, event)| match event {
            Event::Unanswered => Some((*at, true)),
            Event::Answered => Some((*at, false)),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(
        told(&pair),
        [(start + s(7), true)],
        "the third expiry, not the next"
    );
    assert!(pair.client.conn(client).is_unanswered());
    let back = pair.now;
    pair.lets_pass = Box::new(|_, _, _| true);
    pair.run_for(s(100));
    assert_eq!(pair.client.conn(client).unacknowledged(), 0);
    assert!(!pair.client.conn(client).is_unanswered());
    let [_, (answered, false)] = told(&pair)[..] else {
        panic!("{:?}", told(&pair));
    };
    assert!(answered > back && answered <= back + s(60), "{answered:?}");
    let again = pair.now;
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.client.conn(client).put(b"again").unwrap();
    pair.run_until(again + s(100));
    let twice = [
        (start + s(7), true),
        (answered, false),
        (again + s(7), true),
    ];
    assert_eq!(told(&pair), twice);
    assert_eq!(pair.client.closed(), [] as [&CloseReason; 0]);
}

/// (K11)
#[test]
fn rule_rudp_k11_r2_and_the_user_timeout_end_a_connection_without_an_answer() {
    use rto::{GiveUp, Limit, Limits, Threshold};
    let r2 = |r2| Limits { r2, ..Limits::NONE };
    let user_timeout = Limits {
        user_timeout: Some(s(5)),
        ..Limits::NONE
    };
    for (limits, limit, retransmissions, after) in [
        (r2(Threshold::Retransmissions(3)), Limit::R2, 3, s(15)),
        (r2(Threshold::After(s(20))), Limit::R2, 4, s(31)),
        (user_timeout, Limit::UserTimeout, 2, s(5)),
    ] {
        let (mut pair, client, start) = unanswered(limits);
        pair.run_until(start + s(100));
        let why = GiveUp {
            limit,
            retransmissions,
            elapsed: after,
        };
        let lost = CloseReason::Lost(Lost::GaveUp(why));
        let end = pair.client.events.last().unwrap();
        assert_eq!(*end, (start + after, client, Event::Closed(lost.clone())));
        let sent = pair.log.iter().filter(|(_, client, _)| *client);
        let latest = sent.map(|(at, _, _)| *at).max().unwrap();
        assert!(
            latest < start + after,
            "the end is not told to a path without an answer"
        );
        let words = lost.to_string();
        assert!(words.starts_with("gave up at"), "{words}");
    }

    // A handshake has its own R2; nobody listens here.
    let limits = Limits {
        handshake_r2: Threshold::After(s(10)),
        ..r2(Threshold::Retransmissions(0))
    };
    let config = Config {
        limits,
        ..NO_KEEPALIVE
    };
    let mut pair = Pair::new(config, clean());
    pair.server.endpoint.listen(false);
    let client = pair.connect();
    pair.run_for(s(100));
    let why = GiveUp {
        limit: Limit::R2,
        retransmissions: 2, // at 1 and 7 s; what H13 sends again does not count
        elapsed: s(11),
    };
    let lost = Event::Closed(CloseReason::Lost(Lost::GaveUp(why)));
    assert_eq!(pair.client.events, [(s(11), client, lost)]);
}

/// (K11)
#[test]
fn rule_rudp_k11_a_slow_reader_is_not_given_up_and_limits_are_checked() {
    let config = Config {
        limits: rto::Limits {
            user_timeout: Some(s(2)),
            ..rto::Limits::NONE
        },
        receive_window: 3_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(config, clean());
    pair.server.reads = false;
    pair.client.send_all(client, &pattern(20_000));
    pair.run_for(s(120));
    assert!(pair.client.conn(client).unacknowledged() > 0);
    assert_eq!(pair.client.conn(client).stats().bytes_in_flight, 0);
    pair.server.reads = true;
    pair.server.read_all(server);
    pair.run_for(s(10));
    assert_eq!(pair.server.bytes(server), pattern(20_000));

    let secrets = Secrets {
        reset_key: [1; 32],
        seed: [1; 32],
    };
    let mut hasty = config;
    hasty.limits.user_timeout = Some(s(1));
    let refused = Endpoint::new(hasty, secrets).err();
    let reason = ConfigError::UserTimeout {
        timeout: s(1),
        initial_rto: s(1),
    };
    assert_eq!(refused, Some(reason));
}
