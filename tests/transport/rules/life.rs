//! Life of a connection, and what may break it: K1, K2, K6, K8, K9.

use std::time::Duration;

use conformance::datagrams::encoded;
use conformance::pair::{
    CLIENTS, Pair, SERVERS, SingleStream, clean, client_addr, endpoint, server_addr,
};
use conformance::time::{ms, s};
use rudp_proto::wire::{Frame, Packet, Params, unreachable_notice};
use rudp_proto::{
    CloseReason, Config, ConfigError, Endpoint, Event, Lost, Secrets, Step, VIOLATION_CODE,
};

use super::{
    CHALLENGING, NO_KEEPALIVE, PARAMS, TRACED, ack, data, established, hello, stream, stream_of,
};

/// (K1)
#[test]
fn rule_rudp_k1_silence_is_broken_by_a_ping_that_the_timer_watches() {
    let server = Config {
        idle_timeout: s(12),
        keepalive: None,
        ..Config::DEFAULT
    };
    for (server, every) in [(NO_KEEPALIVE, s(10)), (server, s(6))] {
        let mut pair = Pair::with(Config::DEFAULT, server, clean());
        pair.connect();
        pair.run_for(s(2));
        let quiet_since = pair.log.last().unwrap().0 + ms(20);
        let pings = |pair: &Pair| {
            let frames = pair.frames(true).into_iter();
            let ping = frames.filter(|(_, _, frame)| *frame == Frame::Ping);
            ping.map(|(at, _, _)| at).collect::<Vec<_>>()
        };
        pair.run_until(quiet_since + every - ms(41));
        assert_eq!(pings(&pair), []);
        pair.lets_pass = Box::new(|_, _, _| false);
        pair.run_for(s(3) + ms(100));
        let at = pings(&pair);
        assert!(at[0] <= quiet_since + every, "{at:?}");
        let gaps: Vec<Duration> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [s(1), s(2)], "repeated by the RTO");
    }
}

/// (K2)
#[test]
fn rule_rudp_k2_the_smaller_idle_timeout_of_both_ends_a_silent_connection() {
    let server = Config {
        idle_timeout: s(20),
        ..Config::DEFAULT
    };
    let mut pair = Pair::with(Config::DEFAULT, server, clean());
    pair.connect();
    pair.run_for(s(1));
    let start = pair.now;
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.connect(); // and one that never gets an answer
    pair.run_until(start + s(70));
    let closed = pair
        .client
        .events
        .iter()
        .filter_map(|(at, _, event)| match event {
            Event::Closed(reason) => Some((*at, reason)),
            _ => None,
        });
    let closed: Vec<_> = closed.collect();
    let timed_out = &CloseReason::Lost(Lost::TimedOut);
    assert_eq!(closed.len(), 2);
    assert!(
        closed[0].1 == timed_out && closed[0].0 <= start + s(20),
        "{closed:?}"
    );
    assert_eq!(closed[1], (start + s(60), timed_out));
    assert_eq!(pair.server.closed(), [timed_out]);
    assert_eq!(pair.next(), None);
}

/// (K2)
#[test]
fn rule_rudp_k2_an_idle_timeout_is_one_second_or_more() {
    for (idle_ms, good) in [(1_000, true), (999, false), (2, false), (0, false)] {
        let idle_timeout = ms(idle_ms);
        let secrets = Secrets {
            reset_key: [1; 32],
            seed: [1; 32],
        };
        let config = Config {
            idle_timeout,
            ..NO_KEEPALIVE
        };
        let refused = Endpoint::new(config, secrets).err();
        assert_eq!(
            refused,
            (!good).then_some(ConfigError::IdleTimeout(idle_timeout))
        );

        // In a Hello, and in the SETTINGS.
        let mut server = endpoint(Config::DEFAULT, 2);
        server.listen(true);
        let params = Params {
            idle_timeout,
            ..PARAMS
        };
        let hello = Packet::Hello {
            client_id: 5,
            params,
            cookie: None,
        };
        server.handle_datagram(s(0), client_addr(), None, &encoded(&hello));
        let settings = Frame::Settings {
            connection_id: 6,
            params,
        };
        assert_eq!(Packet::decode(&data(vec![settings]), 0).is_ok(), good);
        let malformed = if good { 0 } else { 1 };
        assert_eq!(server.stats().malformed, malformed, "{idle_ms} ms");
    }
}

/// (K6)
#[test]
fn rule_rudp_k6_port_unreachable_ends_an_attempt_and_is_a_hint_to_a_connection() {
    let mut pair = Pair::new(Config::DEFAULT, clean());
    pair.connect();
    pair.settle();
    let notice = unreachable_notice(&pair.log[0].2).unwrap();
    assert_eq!(unreachable_notice(&notice), None);
    pair.client
        .endpoint
        .handle_datagram(ms(5), "10.0.0.9:1".parse().unwrap(), None, &notice);
    pair.settle();
    assert!(pair.client.closed().is_empty(), "a notice from elsewhere");
    pair.client
        .endpoint
        .handle_datagram(ms(5), server_addr(), None, &notice);
    pair.settle();
    let refused = &CloseReason::Lost(Lost::Refused);
    assert_eq!(pair.client.closed(), [refused]);
    pair.connect(); // and the driver's own word for it
    let client = &mut pair.client.endpoint;
    client.handle_unreachable(pair.now, server_addr());
    pair.settle();
    assert_eq!(pair.client.closed(), [refused, refused]);

    for silent in [false, true] {
        let (mut pair, client, _) = established();
        pair.client.conn(client).put(b"x").unwrap();
        pair.settle();
        let notice = unreachable_notice(&pair.log.last().unwrap().2).unwrap();
        pair.run_for(ms(100));
        pair.lets_pass = Box::new(move |_, _, _| !silent);
        pair.client.conn(client).put(b"y").unwrap();
        pair.settle();
        pair.client
            .endpoint
            .handle_datagram(pair.now, server_addr(), None, &notice);
        pair.run_for(ms(999));
        assert!(pair.client.conn(client).is_established());
        pair.run_for(ms(1));
        let refused = !pair.client.closed().is_empty();
        assert_eq!(refused, silent);
        if !silent {
            // The answer took the hint back: a later expiry is no proof.
            pair.lets_pass = Box::new(|_, _, _| false);
            pair.client.conn(client).put(b"z").unwrap();
            pair.run_for(s(2));
            assert!(pair.client.conn(client).is_established());
            assert_eq!(pair.client.conn(client).stats().timeouts, 1);
        }
    }
}

/// (K6)
#[test]
fn rule_rudp_k6_a_hint_counts_after_half_an_rto_of_age_and_a_whole_one_of_silence() {
    // In ms after a lost write: when the hint comes, when the last other packet, when it ends.
    for (case, hint, heard, lost_at) in [
        ("a hint just before the expiry", 999, 0, 3_000),
        ("a hint below half an RTO old", 501, 0, 3_000),
        ("a hint half an RTO old", 500, 0, 1_000),
        ("a hint one round trip after the write", 40, 0, 1_000),
        ("a packet since the timer was armed", 40, 20, 3_000),
    ] {
        let (mut pair, client, _) = established();
        pair.run_for(s(1));
        let start = pair.now;
        pair.lets_pass = Box::new(|_, _, _| false);
        pair.client.conn(client).put(b"x").unwrap();
        if heard > 0 {
            pair.run_until(start + ms(heard));
            pair.inject(false, 50, vec![stream_of(SERVERS, 0, b"y", false)]);
        }
        pair.run_until(start + ms(hint));
        let endpoint = &mut pair.client.endpoint;
        endpoint.handle_unreachable(pair.now, server_addr());
        pair.run_until(start + ms(lost_at - 1));
        assert!(pair.client.closed().is_empty(), "{case}: too early");
        pair.run_until(start + ms(lost_at));
        let refused = &CloseReason::Lost(Lost::Refused);
        assert_eq!(pair.client.closed(), [refused], "{case}");
    }

    // Hints that keep coming do not make the first one younger.
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.client.conn(client).put(b"x").unwrap();
    for _ in 0..9 {
        pair.run_for(ms(100));
        let endpoint = &mut pair.client.endpoint;
        endpoint.handle_unreachable(pair.now, server_addr());
    }
    pair.run_for(ms(100));
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Refused)]);
}

/// (K8)
#[test]
fn rule_rudp_k8_who_breaks_the_protocol_is_told_which_rule() {
    let (mut pair, _, _) = established();
    pair.inject(true, 50, vec![ack(0..1_000)]);
    pair.run_for(s(1));
    let [
        CloseReason::Peer {
            code: VIOLATION_CODE,
            reason,
        },
    ] = pair.client.closed()[..]
    else {
        panic!("{:?}", pair.client.closed());
    };
    assert!(reason.contains("(L9)"), "{reason}");
}

/// (K9)
#[test]
fn rule_rudp_k9_what_nobody_fetches_is_bounded() {
    // Answers to strangers.
    let mut server = endpoint(CHALLENGING, 2);
    server.listen(true);
    for id in 0..1_000 {
        server.handle_datagram(s(0), client_addr(), None, &encoded(&hello(id, None)));
    }
    let mut datagram = Vec::new();
    let answers = std::iter::from_fn(|| server.poll_transmit(s(0), 1, &mut datagram)).count();
    assert_eq!((answers, server.stats().answers_dropped), (256, 744));

    // Events: one Opened and one Readable for many packets.
    let (mut pair, _, _) = Pair::connected(Config::DEFAULT, clean());
    let to = pair.id_of(true);
    for number in 0..100 {
        let frames = vec![stream(number, b"x", false)];
        let datagram = encoded(&Packet::Data {
            to,
            number: 100 + number,
            frames,
        });
        pair.server
            .endpoint
            .handle_datagram(pair.now, client_addr(), None, &datagram);
    }
    let events = std::iter::from_fn(|| pair.server.endpoint.poll_event());
    let events: Vec<Event> = events.map(|(_, event)| event).collect();
    assert_eq!(events, [Event::Opened, Event::Readable(CLIENTS)]);

    // Connections.
    let config = Config {
        max_connections: 2,
        ..Config::DEFAULT
    };
    let mut client = endpoint(config, 1);
    assert!(client.connect(s(0), server_addr()).is_ok());
    assert!(client.connect(s(0), server_addr()).is_ok());
    assert!(client.connect(s(0), server_addr()).is_err());

    // Traces: of a client that is never answered.
    let config = Config {
        rto: fast(),
        idle_timeout: s(3_600),
        ..TRACED
    };
    let mut client = endpoint(config, 1);
    client.connect(s(0), server_addr()).unwrap();
    let mut now = s(0);
    while now < s(3_600) {
        client.handle_timeout(now);
        while client.poll_transmit(now, 1, &mut datagram).is_some() {}
        now = client.poll_timeout().expect("it keeps trying");
    }
    let mut traces = Vec::new();
    while let Some((_, Event::Trace(trace))) = client.poll_event() {
        traces.push(trace);
    }
    assert!(
        matches!(traces[0].step, Step::Missed { traces: 1.. }),
        "{:?}",
        traces[0]
    );
    assert!(traces[1].at > s(0), "the oldest went first");
    assert_eq!(traces.len(), 1 + 4096);
}

/// A timer that expires twice a second at least: only to fill a queue.
fn fast() -> rto::Config {
    rto::Config {
        initial_rto: ms(500),
        min_rto: ms(500),
        max_rto: ms(500),
        ..rto::Config::RFC6298
    }
}
