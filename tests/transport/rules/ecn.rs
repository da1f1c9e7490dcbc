//! Explicit congestion notification, E1 to E4.

use conformance::pair::{Pair, SingleStream, clean, client_addr, endpoint, pattern, server_addr};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::Frame;
use rudp_proto::{Config, Congestion, Ecn, EcnCounts, Handle};

use super::{ack, established};

/// 20 Mbit/s and 40 ms of round trip, 300 kB of queue; 25 kB wait unmarked.
fn marking() -> LinkConfig {
    LinkConfig {
        rate: Some(20_000_000),
        queue: 300_000,
        mark_above: Some(25_000),
        ..clean()
    }
}

fn controlled_by(congestion: Congestion) -> Config {
    Config {
        congestion,
        ..Config::DEFAULT
    }
}

/// Sends so much from the client, and checks that it arrives.
fn transfer(pair: &mut Pair, client: Handle, server: Handle, bytes: usize) {
    pair.client.send_all(client, &pattern(bytes));
    pair.run_for(s(60));
    assert!(pair.server.bytes(server) == pattern(bytes));
}

/// (E1)
#[test]
fn rule_rudp_e1_data_packets_leave_with_ect0_and_hellos_without() {
    let mut client = endpoint(Config::DEFAULT, 1);
    client.connect(s(0), server_addr()).unwrap();
    let hello = client.poll_transmit(s(0), 1, &mut Vec::new());
    assert_eq!(hello.unwrap().ecn, None);
    let (mut pair, client, _) = established();
    pair.client.conn(client).put(b"x").unwrap();
    let client = &mut pair.client.endpoint;
    let data = client.poll_transmit(pair.now, 1, &mut Vec::new());
    assert_eq!(data.unwrap().ecn, Some(Ecn::Ect0));
}

/// (E2)
#[test]
fn rule_rudp_e2_a_receiver_counts_what_arrives_and_says_so_before_each_ack_once_one_was_marked() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, marking());
    transfer(&mut pair, client, server, 1_000_000);
    let marked = pair.up.counters().marked;
    assert!(marked > 0);
    let frames = pair.frames(false);
    let newest = frames.iter().rev().find_map(|(_, _, frame)| match frame {
        Frame::Ecn(counts) => Some(*counts),
        _ => None,
    });
    let datagrams = pair.server.endpoint.stats().datagrams_received;
    let hellos = 2;
    let EcnCounts { ect0, ect1, ce } = newest.unwrap();
    assert_eq!((ect1, ce), (0, marked));
    let late = datagrams - hellos - marked - ect0; // and the client's first ACKs, without
    assert!(late <= 3, "{late} not counted");
    let is_marked = |frame: &Frame<'_>| matches!(frame, Frame::Ecn(counts) if counts.ce > 0);
    let first = frames.iter().position(|(_, _, frame)| is_marked(frame));
    for pair in frames[first.unwrap()..].windows(2) {
        let is_ack = matches!(pair[1].2, Frame::Ack(_));
        assert!(!is_ack || is_marked(&pair[0].2), "before each");
    }
    let reported = pair.client.conn(client).stats().ecn_marked;
    assert_eq!(reported, marked);
}

/// (E2)
#[test]
fn rule_rudp_e2_a_marked_packet_that_asks_is_acknowledged_at_once() {
    for (ecn, at_once) in [(Ecn::Ect0, false), (Ecn::Ce, true)] {
        let (mut pair, client, _) = established();
        pair.lets_pass = Box::new(|_, _, _| false);
        pair.client.conn(client).put(b"x").unwrap();
        pair.settle();
        let sent = &pair.log.last().unwrap().2;
        let server = &mut pair.server.endpoint;
        server.handle_datagram(pair.now, client_addr(), Some(ecn), sent);
        let answer = server.poll_transmit(pair.now, 1, &mut Vec::new());
        assert_eq!(answer.is_some(), at_once, "{ecn:?}");
    }
}

/// (E3)
#[test]
fn rule_rudp_e3_a_path_that_clears_or_drops_the_field_is_used_without() {
    let bleaching = LinkConfig {
        bleach_ecn: true,
        ..marking()
    };
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, bleaching);
    transfer(&mut pair, client, server, 500_000);
    let connection = pair.client.conn(client);
    assert!(!connection.stats().ecn);
    assert_eq!(
        (connection.stats().timeouts, connection.stats().ecn_marked),
        (0, 0)
    );

    // What leaves with ECT(0) is dropped: a second or two later it leaves without.
    let mut pair = Pair::new(Config::DEFAULT, clean());
    pair.lets_pass_ecn = false;
    let client = pair.connect();
    pair.run_for(s(10));
    let server = pair.server.handle();
    transfer(&mut pair, client, server, 300_000);
    assert!(!pair.client.conn(client).stats().ecn);
    assert!(!pair.server.conn(server).stats().ecn);
}

/// (E3)
#[test]
fn rule_rudp_e3_a_path_that_clears_the_field_from_some_moment_on_is_used_without() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, marking());
    pair.client.send_all(client, &pattern(2_000_000));
    pair.run_for(ms(500));
    let before = pair.client.conn(client).stats();
    assert!(before.ecn && before.stream_bytes_acked > 0);
    let bleaching = LinkConfig {
        bleach_ecn: true,
        ..marking()
    };
    pair.up.set_config(bleaching).unwrap();
    pair.run_for(s(60));
    let after = pair.client.conn(client).stats();
    assert_eq!((after.ecn, after.timeouts), (false, 0));
    assert!(pair.server.bytes(server) == pattern(2_000_000));
}

/// (E3)
#[test]
fn rule_rudp_e3_counts_that_cannot_be_true_end_it() {
    for (counts, used) in [
        (Some((1, 0, 0)), true),
        (Some((0, 0, 1)), true),
        (None, true), // the next ones may tell
        (Some((0, 1, 0)), false),
        (Some((1, 0, 500)), false),
    ] {
        let (mut pair, client, _) = established();
        pair.lets_pass = Box::new(|_, _, _| false);
        let before = pair
            .frames(false)
            .iter()
            .rev()
            .find_map(|(_, _, frame)| match frame {
                Frame::Ecn(counts) => Some(*counts),
                _ => None,
            });
        let EcnCounts { ect0, ect1, ce } = before.unwrap_or_default();
        pair.client.conn(client).put(b"x").unwrap();
        pair.settle();
        let number = pair.frames(true).last().unwrap().1;
        let mut frames = vec![ack(number..number + 1)];
        if let Some((more0, more1, more)) = counts {
            let (ect0, ect1, ce) = (ect0 + more0, ect1 + more1, ce + more);
            frames.insert(0, Frame::Ecn(EcnCounts { ect0, ect1, ce }));
        }
        pair.inject(false, 60, frames);
        assert_eq!(pair.client.conn(client).stats().ecn, used, "{counts:?}");
    }
}

/// (E4)
#[test]
fn rule_rudp_e4_a_queue_that_marks_loses_nothing() {
    for congestion in [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr] {
        let (mut pair, client, server) = Pair::connected(controlled_by(congestion), marking());
        transfer(&mut pair, client, server, 4_000_000);
        let lost = pair.up.counters().lost();
        let stats = pair.client.conn(client).stats();
        assert!(stats.ecn && stats.ecn_marked > 0, "{congestion}: {stats:?}");
        assert_eq!((lost, stats.packets_lost), (0, 0), "{congestion}");
        let done = pair
            .log
            .iter()
            .rev()
            .find(|(_, client, bytes)| *client && bytes.len() > 500);
        let (took, ..) = done.unwrap();
        assert!(
            *took < s(3),
            "{congestion}: 1.7 s at the rate, not {took:?}"
        );
    }
}
