//! The handshake, H1 to H10. Challenges and cookies are in `cookies`, half-open connections in
//! `half_open`, what is sent again beside the timer in `hellos`.

use std::time::Duration;

use conformance::datagrams::{encoded, has};
use conformance::pair::{Pair, clean, client_addr, endpoint, server_addr};
use conformance::time::{ms, s};
use rudp_proto::wire::{Frame, Packet, Params};
use rudp_proto::{CloseReason, Config, Event, Lost, Step};

use super::cookies::challenged;
use super::{CHALLENGING, NO_KEEPALIVE, TRACED, established, hello, stream, violation};

/// When a client connects of whose datagrams those of these numbers are lost, the samples that it
/// takes until then, and its RTO.
fn handshake(challenges: bool, lost: &'static [usize]) -> (Duration, Vec<Duration>, Duration) {
    let max_half_open = if challenges { 0 } else { 1 };
    let config = Config {
        max_half_open,
        ..TRACED
    };
    let mut pair = Pair::new(config, clean());
    let mut sent = 0..;
    pair.lets_pass = Box::new(move |_, from_client, _| {
        !from_client || sent.next().is_some_and(|number| !lost.contains(&number))
    });
    let client = pair.connect();
    pair.run_until(s(9));
    let traces = pair.client.traces.iter();
    let samples = traces.filter_map(|trace| match trace.step {
        Step::Timer(rto::Event::Sampled { rtt, .. }) => Some(rtt),
        _ => None,
    });
    let samples = samples.collect();
    let rto = pair.client.conn(client).stats().rto;
    (pair.client.events[0].0, samples, rto)
}

/// (H1)
#[test]
fn rule_rudp_h1_hellos_are_repeated_by_the_timer_and_measured_by_karn() {
    let mut pair = Pair::new(TRACED, clean());
    pair.lets_pass = Box::new(|_, _, _| false);
    let client = pair.connect();
    pair.run_until(s(30));
    let traces = pair.client.traces.iter();
    let expiries = traces.filter_map(|trace| match trace.step {
        Step::Retransmit { rto, last_sent_at } => Some((trace.at, rto, last_sent_at)),
        _ => None,
    });
    // The RTO doubles with each, and counts from the last Hello, which may be a probe (H13).
    let [last, from] = [[s(0), s(5), s(7), s(11)], [s(1), s(2), s(4), s(8)]];
    let expected = [0, 1, 2, 3].map(|nth| (last[nth] + from[nth], from[nth], last[nth]));
    assert_eq!(expiries.collect::<Vec<_>>(), expected);
    assert_eq!(pair.client.conn(client).stats().timeouts, 4);

    let rtt = ms(40);
    // Without a sample 5.7 makes the RTO 3 s, if it is not longer already.
    for (challenges, lost, connected, samples, rto) in [
        (false, &[][..], ms(40), &[rtt][..], s(1)),
        (false, &[0], ms(1_040), &[], s(3)),
        (false, &[0, 1], ms(2_040), &[], s(3)), // by a probe
        (false, &[0, 1, 2, 3, 4, 5], ms(7_040), &[], s(4)),
        (true, &[], ms(80), &[rtt, rtt], s(1)),
        (true, &[1], ms(1_080), &[rtt], s(3)), // the one with the cookie
        (true, &[0], ms(1_080), &[], s(3)),    // the SETTINGS could be the answer to the first
    ] {
        let expected = (connected, samples.to_vec(), rto);
        assert_eq!(
            handshake(challenges, lost),
            expected,
            "{challenges} {lost:?}"
        );
    }
}

/// (H2)
#[test]
fn rule_rudp_h2_connection_ids_hang_on_the_seed_and_never_repeat() {
    let ids = |seed: u8| {
        let mut client = endpoint(Config::DEFAULT, seed);
        let mut datagram = Vec::new();
        let mut next = || {
            client.connect(s(0), server_addr()).unwrap();
            client.poll_transmit(s(0), 1, &mut datagram).unwrap();
            match Packet::decode(&datagram, 0) {
                Ok(Packet::Hello { client_id, .. }) => client_id,
                other => panic!("{other:?}"),
            }
        };
        [next(), next(), next()]
    };
    assert_eq!(ids(1), ids(1));
    let mut all = [ids(1), ids(2)].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6);
    assert!(
        all.iter().any(|id| id >> 32 != 0),
        "they use the whole width"
    );
}

/// (H6)
#[test]
fn rule_rudp_h6_settings_are_repeated_until_acknowledged_and_one_hello_is_enough() {
    let (mut server, cookie) = challenged(CHALLENGING);
    let mut datagram = Vec::new();
    let mut settings = Vec::new();
    let mut now = s(0);
    while now < s(20) {
        if [s(0), s(18)].contains(&now) {
            server.handle_datagram(now, client_addr(), None, &encoded(&hello(5, Some(cookie))));
        }
        server.handle_timeout(now);
        while server.poll_transmit(now, 1, &mut datagram).is_some() {
            assert!(has(&datagram, |frame| matches!(
                frame,
                Frame::Settings { .. }
            )));
            settings.push(now);
        }
        now += ms(100);
    }
    assert_eq!(settings, [s(0), s(1), s(3), s(7), s(15), s(18)]);
    assert!(matches!(server.poll_event(), Some((_, Event::Connected))));
    assert_eq!(server.poll_event(), None);
}

/// (H7)
#[test]
fn rule_rudp_h7_settings_count_once_and_never_change() {
    let (mut pair, client, _) = established();
    let frames = pair.frames(false);
    let Some((
        _,
        _,
        Frame::Settings {
            connection_id,
            params,
        },
    )) = frames
        .iter()
        .find(|(_, _, frame)| matches!(frame, Frame::Settings { .. }))
    else {
        panic!("{frames:?}");
    };
    let (connection_id, params) = (*connection_id, *params);
    pair.inject(
        false,
        70,
        vec![Frame::Settings {
            connection_id,
            params,
        }],
    );
    assert!(pair.client.conn(client).is_established());
    assert_eq!(pair.client.events.len(), 1, "connected once");
    // A half-open connection's, which an old Hello made.
    let strange = Frame::Settings {
        connection_id: connection_id ^ 1,
        params,
    };
    let sent = pair.log.len();
    pair.inject(false, 71, vec![strange]);
    assert!(pair.client.conn(client).is_established());
    assert_eq!(pair.log.len(), sent, "nobody acknowledges them");
    let params = Params {
        messages: 11,
        ..params
    };
    let other = Frame::Settings {
        connection_id,
        params,
    };
    pair.inject(false, 72, vec![other]);
    let [CloseReason::Lost(Lost::Violation(what))] = pair.client.closed()[..] else {
        panic!("{:?}", pair.client.closed());
    };
    assert!(what.contains("H7"));

    let (mut pair, _, _) = established();
    pair.inject(
        true,
        70,
        vec![Frame::Settings {
            connection_id,
            params,
        }],
    );
    violation(&pair, "H7");
}

/// (H8)
#[test]
fn rule_rudp_h8_data_before_the_settings_is_dropped_and_comes_again() {
    let mut pair = Pair::new(CHALLENGING, clean());
    let mut lost = false;
    pair.lets_pass = Box::new(move |_, _, bytes| {
        let settings = has(bytes, |frame| matches!(frame, Frame::Settings { .. }));
        let first = settings && !lost;
        lost |= settings;
        !first
    });
    let client = pair.connect();
    pair.run_until(ms(60));
    let server = pair.server.handle();
    pair.server.send_all(server, b"early");
    pair.run_until(ms(500));
    assert!(!pair.client.conn(client).is_established());
    assert_eq!(pair.client.conn(client).stats().packets_received, 0);
    assert!(pair.frames(true).is_empty(), "nothing is acknowledged");
    pair.run_until(s(10));
    assert_eq!(pair.client.bytes(client), b"early");
}

/// (H8)
#[test]
fn rule_rudp_h8_what_was_written_before_leaves_with_the_first_acknowledgement() {
    let mut pair = Pair::new(Config::DEFAULT, clean());
    let client = pair.connect();
    pair.client.send_all(client, b"early");
    pair.run_until(ms(60));
    let server = pair.server.handle();
    assert_eq!(pair.server.bytes(server), b"early", "after 1.5 round trips");
    let kinds = pair
        .sent(true)
        .into_iter()
        .map(|(at, packet)| match packet {
            Packet::Hello { .. } => (at, false),
            other => (at, matches!(other, Packet::Data { .. })),
        });
    assert_eq!(kinds.collect::<Vec<_>>(), [(ms(0), false), (ms(40), true)]);
}

/// (H9)
#[test]
fn rule_rudp_h9_a_full_server_refuses_and_keeps_no_state() {
    let config = Config {
        max_connections: 1,
        ..NO_KEEPALIVE
    };
    let mut pair = Pair::with(Config::DEFAULT, config, clean());
    pair.connect();
    pair.run_for(s(1));
    let events = pair.server.events.len();
    pair.connect();
    pair.run_for(s(1));
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Busy)]);
    assert_eq!(pair.server.events.len(), events);
    let refusals = pair.sent(false);
    let refusal = refusals.last().map(|(_, packet)| packet);
    assert!(matches!(refusal, Some(Packet::Refuse { .. })));
    assert_eq!(pair.server.endpoint.stats().refusals_sent, 1);
}

/// (H10)
#[test]
fn rule_rudp_h10_a_known_id_from_elsewhere_gets_no_answer() {
    let (mut pair, _, server) = established();
    let to = pair.id_of(true);
    let frames = vec![stream(0, &[b'x'; 100], false)];
    let datagram = encoded(&Packet::Data {
        to,
        number: 50,
        frames,
    });
    let elsewhere = "10.0.0.3:1000".parse().unwrap();
    pair.server
        .endpoint
        .handle_datagram(pair.now, elsewhere, None, &datagram);
    let sent = pair.log.len();
    pair.settle();
    assert_eq!(
        (pair.log.len(), pair.server.bytes(server)),
        (sent, &b""[..])
    );
    assert_eq!(pair.server.endpoint.stats().unknown, 1);
}
