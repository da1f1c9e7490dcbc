//! What is sent again or asked before anything is known to be lost: L13 to L15.

use std::time::Duration;

use conformance::pair::{Pair, SingleStream, clean, pattern};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::Frame;
use rudp_proto::{Config, Handle, Stats, Step};

use super::{TRACED, ack, established, stream};

/// (L13)
#[test]
fn rule_rudp_l13_a_silent_path_is_probed_until_the_peer_is_heard() {
    let (mut pair, client, server) = established();
    pair.run_for(ms(100));
    let (dark, light) = (pair.now, pair.now + s(11));
    pair.lets_pass = Box::new(move |at, _, _| at >= light);
    pair.client.conn(client).put(b"from the client").unwrap();
    pair.server.conn(server).put(b"from the server").unwrap();
    pair.run_until(light);
    let pings = |pair: &Pair, client: bool| {
        let pings = pair.frames(client).into_iter();
        let pings = pings.filter(|(at, _, frame)| *at >= dark && matches!(frame, Frame::Ping));
        pings.map(|(at, _, _)| at).collect::<Vec<_>>()
    };
    let probes = pings(&pair, true);
    assert!((30..=38).contains(&probes.len()), "{}", probes.len());
    assert!(probes[0] >= dark + s(1), "none before the expiry");
    let pauses = probes.windows(2).map(|two| two[1] - two[0]);
    assert!(pauses.min().unwrap() >= ms(250));
    let sent = pair.sent(true).into_iter();
    let repeated = sent.filter(|(at, _)| *at > dark).count() - probes.len();
    assert_eq!(repeated, 4, "twice at once (L14), the timer at 3 and 7 s");

    pair.run_until(light + ms(450));
    assert_eq!(pair.server.bytes(server), b"from the client");
    assert_eq!(pair.client.bytes(client), b"from the server");
    let (probes, of_server) = (pings(&pair, true).len(), pings(&pair, false).len());
    pair.run_for(s(5));
    let after = (pings(&pair, true).len(), pings(&pair, false).len());
    assert_eq!(after, (probes, of_server), "it is over");
    let counted = pair.client.conn(client).stats().path_probes;
    assert!(counted >= 30);
    let steps = pair.client.traces.iter().map(|trace| trace.step);
    let told = steps.filter(|step| *step == Step::PathProbe).count();
    assert_eq!(told as u64, counted);
}

/// (L13)
#[test]
fn rule_rudp_l13_what_is_sent_while_nothing_waits_is_a_probe_itself() {
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.run_for(s(13));
    assert!(pair.client.conn(client).stats().timeouts > 0, "of a PING");
    let before = pair.client.conn(client).stats().path_probes;
    pair.client.conn(client).put(b"x").unwrap();
    for (after, probes) in [(249, 0), (1, 1)] {
        pair.run_for(ms(after));
        let stats = pair.client.conn(client).stats();
        assert_eq!(stats.path_probes - before, probes);
    }
}

/// (L14)
#[test]
fn rule_rudp_l14_after_a_repeated_hello_the_answer_to_the_last_one_says_when() {
    let mut pair = Pair::new(TRACED, clean());
    pair.lets_pass = Box::new(|at, from_client, _| !from_client || at == s(1));
    let client = pair.connect();
    pair.client.conn(client).put(b"x").unwrap();
    pair.run_until(s(9));
    assert_eq!(
        pair.client.conn(client).stats().rto,
        s(6),
        "after 3 s, (5.7-1): it is no sample"
    );
    let frames = pair.frames(true).into_iter();
    let data = frames.filter(|(_, _, frame)| matches!(frame, Frame::Stream { .. }));
    let left: Vec<Duration> = data.map(|(at, _, _)| at).collect();
    // Twice 40 ms and the delay of an ACK, twice.
    assert_eq!(left, [1_040, 1_145, 1_250].map(ms));
}

/// (L14)
#[test]
fn rule_rudp_l14_what_gets_no_answer_is_repeated_twice_before_the_expiry() {
    let (mut pair, client, _) = established();
    for _ in 0..20 {
        pair.client.conn(client).put(b"x").unwrap();
        pair.run_for(ms(100)); // an ACK comes after 40 ms, and the 25 of its delay
    }
    let start = pair.now;
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.client.conn(client).put(b"no answer").unwrap();
    pair.run_for(ms(999));
    let traces = pair.client.traces.iter();
    let moved = traces.filter(|trace| {
        let moved = matches!(trace.step, Step::Timer(rto::Event::Restarted { .. }));
        moved && trace.at > start
    });
    assert_eq!(moved.count(), 0, "no probe moves the timer");
    let stats = pair.client.conn(client).stats();
    assert_eq!((stats.timeouts, stats.packets_lost), (0, 0));
    assert_eq!((stats.tail_probes, stats.congestion_window), (2, 38_400));
    pair.run_for(ms(1));
    assert_eq!(pair.client.conn(client).stats().timeouts, 1);
    let sent = pair.frames(true).into_iter().filter_map(|(at, _, frame)| {
        let data = matches!(frame, Frame::Stream { data, .. } if data == b"no answer");
        data.then(|| at.checked_sub(start)).flatten()
    });
    let sent: Vec<_> = sent.collect();
    let pauses: Vec<_> = sent.windows(2).map(|two| two[1] - two[0]).collect();
    let [first, second] = pauses[..] else {
        panic!("{sent:?}");
    };
    // What leaves again waits for no delay of an ACK: SRTT, which has some, and a twelfth of 40 ms.
    assert!((ms(75)..ms(85)).contains(&first), "{first:?}");
    assert!((ms(66)..ms(70)).contains(&second), "{second:?}");

    // The end of a burst: the answer to a probe proves the rest lost.
    let (mut pair, client, server) = established();
    let (start, mut count) = (pair.now, 0);
    pair.lets_pass = Box::new(move |_, from_client, _| {
        count += u32::from(from_client);
        !from_client || !(4..=8).contains(&count)
    });
    pair.client.conn(client).put(&pattern(9_000)).unwrap();
    pair.run_until(start + ms(250));
    assert_eq!(pair.server.bytes(server).len(), 9_000);
    let stats = pair.client.conn(client).stats();
    assert_eq!((stats.timeouts, stats.tail_probes), (0, 1));
}

/// (L14)
#[test]
fn rule_rudp_l14_where_nothing_is_lost_no_lone_packet_is_repeated_from_the_first_on() {
    for rtt in [10, 40, 200] {
        for pause in [7, 30, 100] {
            let link = LinkConfig {
                delay: ms(rtt / 2),
                ..clean()
            };
            let (mut pair, client, server) = Pair::connected(TRACED, link);
            for _ in 0..20 {
                pair.client.conn(client).put(b"x").unwrap();
                pair.run_for(ms(pause));
                pair.server.conn(server).put(b"x").unwrap();
                pair.run_for(ms(pause));
            }
            let probes = |stats: Stats| stats.tail_probes;
            let probes = [
                probes(pair.client.conn(client).stats()),
                probes(pair.server.conn(server).stats()),
            ];
            assert_eq!(probes, [0; 2], "{rtt} ms, each {pause} ms");
        }
    }
}

/// How many probes the client sends beside so many packets with a pause after each.
fn probes_of(pair: &mut Pair, client: Handle, packets: usize, pause: Duration) -> u64 {
    let before = pair.client.conn(client).stats().tail_probes;
    for _ in 0..packets {
        pair.client.conn(client).put(b"x").unwrap();
        pair.run_for(pause);
    }
    pair.client.conn(client).stats().tail_probes - before
}

/// (L14)
#[test]
fn rule_rudp_l14_a_round_trip_that_grows_at_once_costs_some_probes_and_loses_nothing() {
    // Two until the first late ACK, and after each until it is known that this is usual.
    for (bundles, most) in [(true, 0), (false, 20)] {
        let config = Config { bundles, ..TRACED };
        let (mut pair, client, _) = Pair::connected(config, clean());
        let probes_of_100 = |pair: &mut Pair| probes_of(pair, client, 100, ms(20));
        assert_eq!(probes_of_100(&mut pair), 0);
        let slow = LinkConfig {
            delay: ms(200), // in place of 20
            ..clean()
        };
        for link in [&mut pair.up, &mut pair.down] {
            link.set_config(slow.clone()).unwrap();
        }
        let probes = probes_of_100(&mut pair);
        assert!(probes <= most, "{probes}");
        assert_eq!(probes_of_100(&mut pair), 0);
        let stats = pair.client.conn(client).stats();
        assert_eq!((stats.timeouts, stats.packets_lost), (0, 0));
    }
}

/// (L14)
#[test]
fn rule_rudp_l14_a_peer_whose_acks_wait_longer_is_soon_known() {
    let slow = Config {
        max_ack_delay: ms(200),
        ..TRACED
    };
    let mut pair = Pair::with(TRACED, slow, clean());
    let client = pair.connect();
    pair.run_for(ms(100));
    assert!(probes_of(&mut pair, client, 20, ms(400)) <= 40);
    assert_eq!(probes_of(&mut pair, client, 50, ms(400)), 0);
}

/// (L14)
#[test]
fn rule_rudp_l14_the_probe_of_a_lost_ack_brings_the_answer_that_had_it() {
    for probe_arrives in [true, false] {
        let config = Config {
            bundles: false,
            ..TRACED
        };
        let (mut pair, client, server) = Pair::connected(config, clean());
        let exchange = |pair: &mut Pair, answer: &[u8]| {
            pair.client.conn(client).put(b"x").unwrap();
            pair.run_for(ms(1));
            pair.server.conn(server).put(answer).unwrap();
            pair.run_for(ms(19)); // it is there a millisecond after the next question left
        };
        for _ in 0..50 {
            exchange(&mut pair, b"x");
        }
        let before = pair.server.conn(server).stats().tail_probes;
        let lost_at = pair.now + ms(1);
        pair.lets_pass = Box::new(move |at, from_client, _| {
            let is_probe = from_client && at > lost_at + ms(20) && at < lost_at + ms(39);
            (from_client || at != lost_at) && (probe_arrives || !is_probe)
        });
        exchange(&mut pair, b"lost");
        for _ in 0..5 {
            exchange(&mut pair, b"x");
        }
        let sent = pair.frames(false).into_iter();
        let sent = sent.filter_map(|(at, _, frame)| {
            let data = matches!(frame, Frame::Stream { data, .. } if data == b"lost");
            data.then(|| at.checked_sub(lost_at)).flatten()
        });
        // The probe leaves 43 ms after the question, which left 21 ms before the answer; what shows
        // the loss without it is the ACK of the next answer.
        let [Duration::ZERO, again] = sent.collect::<Vec<_>>()[..] else {
            panic!("it is sent twice");
        };
        let (from, to) = if probe_arrives { (43, 44) } else { (60, 61) };
        assert!((ms(from)..ms(to)).contains(&again), "{again:?}");
        let probes = pair.server.conn(server).stats().tail_probes;
        assert_eq!((before, probes), (0, u64::from(probe_arrives)));
    }
}

/// (L13)
#[test]
fn rule_rudp_l13_whatever_the_peer_sends_ends_the_silence_of_either_side() {
    let silent = || {
        let (mut pair, client, server) = established();
        pair.run_for(ms(100));
        pair.lets_pass = Box::new(|_, _, _| false);
        for (side, handle) in [(true, client), (false, server)] {
            pair.host_mut(side).conn(handle).put(b"x").unwrap();
        }
        pair.run_for(s(5));
        (pair, client, server)
    };
    // Something to answer, something new, and an ACK of what was acknowledged before.
    for heard in [Frame::Ping, stream(0, b"y", false), ack(0..1)] {
        for is_client in [true, false] {
            let (mut pair, client, server) = silent();
            let handle = if is_client { client } else { server };
            let probes =
                |pair: &mut Pair| pair.host_mut(is_client).conn(handle).stats().path_probes;
            let before = probes(&mut pair);
            for number in [60, 61] {
                pair.inject(!is_client, number, vec![heard.clone()]);
                assert_eq!(probes(&mut pair), before + 1, "one between two of them");
            }

            // A probe that gets through: a round trip to know that the path is back, and the way there.
            let (mut pair, client, server) = silent();
            pair.lets_pass = Box::new(|_, _, _| true);
            let lost = pair.frames(!is_client).last().unwrap().1;
            pair.inject(!is_client, lost, vec![heard.clone()]);
            pair.run_for(ms(61));
            let other = if is_client { server } else { client };
            assert_eq!(pair.host_mut(!is_client).bytes(other), b"x", "{heard:?}");
        }
    }
}

/// (L15)
#[test]
fn rule_rudp_l15_a_thin_stream_repeats_what_the_packets_before_carried() {
    for bundles in [true, false] {
        let config = Config { bundles, ..TRACED };
        let (mut pair, client, server) = Pair::connected(config, clean());
        pair.run_for(ms(100));
        let (start, mut count) = (pair.now, 0);
        pair.lets_pass = Box::new(move |_, from_client, _| {
            count += u32::from(from_client);
            !from_client || count != 1
        });
        pair.client.conn(client).put(&[1; 100]).unwrap();
        pair.run_for(ms(10));
        pair.client.conn(client).put(&[2; 100]).unwrap();
        pair.run_until(start + ms(31)); // the second packet has arrived
        let arrived = pair.server.bytes(server).len();
        assert_eq!(arrived, if bundles { 200 } else { 0 });
        pair.run_for(ms(300));
        assert_eq!(pair.server.bytes(server).len(), 200);

        // A piece that is large, or known to have arrived, is not repeated.
        for _ in 0..20 {
            pair.client.conn(client).put(b"x").unwrap();
            pair.run_for(ms(100)); // until it is known how long an ACK takes (L14)
        }
        let sent = |pair: &mut Pair| pair.client.conn(client).stats().stream_bytes_sent;
        let before = sent(&mut pair);
        for length in [300, 100] {
            pair.client.conn(client).put(&pattern(length)).unwrap();
            pair.settle();
        }
        pair.run_for(ms(300));
        pair.client.conn(client).put(&pattern(100)).unwrap();
        pair.settle();
        assert_eq!(sent(&mut pair) - before, 500);
    }
}
