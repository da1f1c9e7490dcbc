//! Hellos that leave again before the timer expires, and what answers them: H13.

use std::time::Duration;

use conformance::datagrams::{encoded, has};
use conformance::pair::{Pair, clean, client_addr, endpoint};
use conformance::time::{ms, s};
use rudp_proto::wire::{Frame, HELLO_LEN, Packet};
use rudp_proto::{Config, Ecn, Endpoint};

use super::cookies::challenged;
use super::{CHALLENGING, NO_KEEPALIVE, TRACED, ack, hello, settings_id};

/// When Hellos leave in a minute that nobody answers, with an RTO that begins so, or after a Challenge that
/// took `rtt`.
fn hellos(initial_rto: Duration, rtt: Option<Duration>) -> (Vec<u64>, u64) {
    let config = Config {
        rto: rto::Config {
            initial_rto,
            min_rto: ms(200),
            ..rto::Config::RFC6298
        },
        max_half_open: 0,
        ..NO_KEEPALIVE
    };
    let mut link = clean();
    link.delay = rtt.unwrap_or_default() / 2;
    let mut pair = Pair::new(config, link);
    pair.lets_pass = Box::new(move |at, _, _| rtt.is_some_and(|rtt| at < rtt));
    let client = pair.connect();
    pair.run_until(ms(59_900));
    let sent = pair.sent(true).into_iter();
    let sent = sent.map(|(at, _)| u64::try_from(at.as_millis()).unwrap());
    let sent = sent.collect();
    let probes = pair.client.conn(client).stats().hello_probes;
    (sent, probes)
}

/// (H13)
#[test]
fn rule_rudp_h13_hellos_leave_a_second_apart_until_four_did_beside_the_timer_s() {
    let seconds = |at: &[u64]| at.iter().map(|at| at * 1_000).collect::<Vec<_>>();
    // As Linux sends SYNs, whose timer is linear at first; here it doubles with each expiry: 1, 7, 11 s ...
    let as_linux = seconds(&[0, 1, 2, 3, 4, 5, 7, 11, 19, 35]);
    assert_eq!(hellos(s(1), None), (as_linux, 4));
    let longer = seconds(&[0, 3, 6, 9, 12, 15, 21, 33, 57]);
    assert_eq!(hellos(s(3), None), (longer, 4), "no sooner than an RTO");
    let (shorter, probes) = hellos(ms(250), None);
    let first = [0, 250, 750, 1_750, 2_750, 3_750, 4_750, 5_750, 7_750];
    assert!(
        shorter.starts_with(&first),
        "no sooner than a second: {shorter:?}"
    );
    assert_eq!(probes, 4);
    // A Challenge that took 500 ms makes the RTO 1.5 s, and from there on it goes as before.
    let (challenged, probes) = hellos(s(1), Some(ms(500)));
    let first = [0, 500, 2_000, 3_500, 5_000, 6_500, 8_000, 11_000];
    assert!(challenged.starts_with(&first), "{challenged:?}");
    assert_eq!(probes, 4);
}

/// (H13)
#[test]
fn rule_rudp_h13_a_probe_is_the_same_hello_with_the_cookie_if_there_is_one() {
    for max_half_open in [0, 1] {
        let config = Config {
            max_half_open,
            ..TRACED
        };
        let mut pair = Pair::new(config, clean());
        pair.lets_pass = Box::new(|at, _, _| at < ms(30) || at >= s(3)); // a Challenge passes
        let client = pair.connect();
        pair.run_until(s(4));
        assert!(pair.client.conn(client).is_established());
        let sent = pair.log.iter().filter(|(_, client, _)| *client);
        let hellos = sent.filter(|(_, _, bytes)| bytes.len() == HELLO_LEN);
        let mut hellos: Vec<_> = hellos.map(|(_, _, bytes)| bytes).collect();
        let count = hellos.len();
        hellos.dedup();
        let stats = pair.client.conn(client).stats();
        let probes = stats.hello_probes;
        let expected = if max_half_open == 0 {
            (5, 2, 2, 1)
        } else {
            (1, 1, 0, 0)
        };
        assert_eq!((count, hellos.len(), probes, stats.timeouts), expected);
    }
}

/// When a server sends its SETTINGS until then, to which Hellos come at these times.
fn settings(
    server: &mut Endpoint,
    hellos: &[Duration],
    datagram: &[u8],
    until: Duration,
) -> Vec<Duration> {
    let mut hellos = hellos.iter().copied().peekable();
    let (mut sent, mut out) = (Vec::new(), Vec::new());
    loop {
        let timer = server.poll_timeout().into_iter();
        let next = timer.chain(hellos.peek().copied()).min();
        let Some(now) = next.filter(|next| *next <= until) else {
            return sent;
        };
        while hellos.next_if_eq(&now).is_some() {
            server.handle_datagram(now, client_addr(), None, datagram);
        }
        server.handle_timeout(now);
        while server.poll_transmit(now, 1, &mut out).is_some() {
            assert!(has(&out, |frame| matches!(frame, Frame::Settings { .. })));
            sent.push(now);
        }
    }
}

/// (H13)
#[test]
fn rule_rudp_h13_a_hello_that_comes_again_brings_the_settings_again_until_sixteen_packets_left() {
    for proved in [false, true] {
        let server = || match proved {
            true => {
                let (server, cookie) = challenged(CHALLENGING);
                (server, encoded(&hello(5, Some(cookie))))
            }
            false => {
                let mut server = endpoint(NO_KEEPALIVE, 2);
                server.listen(true);
                (server, encoded(&hello(5, None)))
            }
        };
        // Those that come together are answered once, and the RTO counts from the answer.
        let at = [ms(0), ms(0), ms(300), ms(300)];
        let (mut one, datagram) = server();
        let sent = settings(&mut one, &at, &datagram, s(4));
        assert_eq!(sent, [ms(0), ms(300), ms(1_300), ms(3_300)], "{proved}");

        let flood: Vec<_> = (0..1_000).map(ms).collect();
        let (mut one, datagram) = server();
        let mut sent = settings(&mut one, &flood, &datagram, s(4));
        let by_timer = sent.split_off(16);
        assert!(sent.into_iter().eq((0..16).map(ms)), "{proved}");
        assert_eq!(by_timer, [ms(1_015), ms(3_015)], "{proved}");
    }
}

/// (H13)
#[test]
fn rule_rudp_h13_once_the_settings_are_acknowledged_a_hello_brings_nothing() {
    for acknowledged in [false, true] {
        let (mut server, cookie) = challenged(CHALLENGING);
        let datagram = encoded(&hello(5, Some(cookie)));
        let mut out = Vec::new();
        server.handle_datagram(s(0), client_addr(), None, &datagram);
        let first = server.poll_transmit(s(0), 1, &mut out);
        assert_eq!(first.and_then(|sent| sent.ecn), Some(Ecn::Ect0));
        let acks = encoded(&Packet::Data {
            to: settings_id(&out),
            number: 0,
            frames: vec![ack(0..1)],
        });
        if acknowledged {
            server.handle_datagram(ms(40), client_addr(), None, &acks);
        }
        server.handle_datagram(ms(50), client_addr(), None, &datagram);
        let again = server.poll_transmit(ms(50), 1, &mut out);
        assert_eq!(again.is_some(), !acknowledged);
        // Where ECN is why they are lost, they get through now (E3).
        assert_eq!(again.and_then(|sent| sent.ecn), None);
    }
}
