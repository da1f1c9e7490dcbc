//! Loss and timers, L1 to L16.

use std::time::Duration;

use conformance::pair::{Pair, SingleStream, clean, pattern};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::{BASE_DATAGRAM, Frame, Packet};
use rudp_proto::{Config, Handle, Step};

use super::{NO_KEEPALIVE, TRACED, ack, ack_after, established, stream, violation};

/// A transfer over a bad link, all of it logged.
fn lossy_transfer() -> Pair {
    let loss = "8%".parse().unwrap();
    let (mut pair, client, server) = Pair::connected(TRACED, LinkConfig { loss, ..clean() });
    pair.client.send_all(client, &pattern(400_000));
    pair.run_for(s(120));
    assert!(pair.server.bytes(server) == pattern(400_000));
    pair
}

/// (L1)
#[test]
fn rule_rudp_l1_no_packet_number_is_used_twice() {
    let pair = lossy_transfer();
    for from_client in [true, false] {
        let numbers = pair
            .sent(from_client)
            .into_iter()
            .filter_map(|(_, packet)| match packet {
                Packet::Data { number, .. } => Some(number),
                _ => None,
            });
        let numbers: Vec<u64> = numbers.collect();
        assert!(numbers.len() > 100);
        assert!(numbers.iter().copied().eq(0..numbers.len() as u64));
    }
}

/// (L2)
#[test]
fn rule_rudp_l2_every_ack_of_something_new_gives_one_sample_of_the_newest() {
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(|_, _, _| false);
    let before = pair.client.conn(client).stats().samples;
    for byte in [b"a", b"b", b"c"] {
        pair.client.conn(client).put(byte).unwrap();
        pair.run_for(ms(10));
    }
    let newest = pair.frames(true).last().unwrap().1;
    pair.run_for(ms(90)); // 100 ms after the newest left
    pair.inject(false, 60, vec![ack_after(ms(70), newest - 1..newest + 1)]);
    pair.inject(false, 61, vec![ack(newest - 1..newest + 1)]);
    assert_eq!(pair.client.conn(client).stats().samples, before + 1);
    let sample = pair
        .client
        .traces
        .iter()
        .rev()
        .find_map(|trace| match trace.step {
            Step::Timer(rto::Event::Sampled { rtt, .. }) => Some(rtt),
            _ => None,
        });
    assert_eq!(sample, Some(ms(100)), "the delay is not subtracted");
}

/// `count` packets leave at this instant; answers the number of the first.
fn packets(pair: &mut Pair, client: Handle, count: u64) -> u64 {
    for _ in 0..count {
        pair.client.conn(client).put(b"x").unwrap();
        pair.settle();
    }
    pair.frames(true).last().unwrap().1 + 1 - count
}

/// (L3)
#[test]
fn rule_rudp_l3_as_many_packets_later_as_were_seen_out_of_order_prove_a_loss() {
    let mut forged = 60..;
    let (mut pair, client, _) = established();
    let lost = |pair: &mut Pair| pair.client.conn(client).stats().packets_lost;
    let mut acks = |pair: &mut Pair, range| {
        pair.inject(false, forged.next().unwrap(), vec![ack(range)]);
        lost(pair)
    };
    pair.lets_pass = Box::new(|_, _, _| false);
    let first = packets(&mut pair, client, 9);
    pair.run_for(ms(40));
    assert_eq!(acks(&mut pair, first + 2..first + 3), 0, "two later");
    assert_eq!(acks(&mut pair, first + 3..first + 4), 1, "three later");
    assert_eq!(acks(&mut pair, first + 8..first + 9), 4, "1, 4 and 5");

    // All arrive after all, up to eight numbers behind the newest.
    assert_eq!(acks(&mut pair, first..first + 9), 4);
    let first = packets(&mut pair, client, 12);
    pair.run_for(ms(40));
    let lost = acks(&mut pair, first..first + 11); // what was repeated, before these
    let lost_now = |pair: &mut Pair| pair.client.conn(client).stats().packets_lost - lost;
    let first = packets(&mut pair, client, 12);
    acks(&mut pair, first + 10..first + 11);
    assert_eq!(
        lost_now(&mut pair),
        1,
        "the last of before, and not the first of now"
    );
    acks(&mut pair, first + 11..first + 12);
    assert_eq!(lost_now(&mut pair), 2, "eleven later");
}

/// (L4)
#[test]
fn rule_rudp_l4_an_expiry_repeats_the_earliest_data_once_and_no_sooner_than_the_rto() {
    let (mut pair, client, _) = established();
    let dark = pair.now + ms(100);
    pair.lets_pass = Box::new(move |at, _, _| at < dark);
    pair.run_for(ms(100));
    let start = pair.now;
    pair.client.conn(client).put(&pattern(5_000)).unwrap();
    pair.run_for(ms(500));
    pair.client.conn(client).put(b"later").unwrap();
    pair.run_until(start + s(40)); // beyond the keepalive, which has to wait (K1)
    let frames = pair.frames(true).into_iter();
    let mut at_start = frames.filter_map(|(at, _, frame)| match frame {
        Frame::Stream { offset, .. } if at == start => Some(offset),
        _ => None,
    });
    let third = at_start.nth(2).unwrap();
    let repeated = pair
        .frames(true)
        .into_iter()
        .filter_map(|(at, _, frame)| match frame {
            Frame::Stream { offset, .. } if at > start + ms(500) => Some((at - start, offset)),
            Frame::Ping => None, // (L13)
            other => {
                assert!(at <= start + ms(500), "{other:?}");
                None
            }
        });
    assert_eq!(
        repeated.collect::<Vec<_>>(),
        [(1, third), (3, 0), (7, 0), (15, 0), (31, 0)].map(|(at, offset)| (s(at), offset)),
        "one packet at a time; what was before the third left too recently (L14)"
    );
    for trace in &pair.client.traces {
        if let Step::Retransmit { rto, last_sent_at } = trace.step {
            assert!(trace.at - last_sent_at >= rto, "{trace:?}");
        }
    }
    assert_eq!(
        pair.client.conn(client).stats().congestion_window,
        BASE_DATAGRAM as u64
    );
}

/// (L5)
#[test]
fn rule_rudp_l5_a_late_acknowledgement_cancels_the_repetition() {
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(|_, _, _| false);
    // A full window: what is lost later cannot be repeated before the window opens.
    pair.client.conn(client).put(&pattern(100_000)).unwrap();
    pair.settle();
    let first = pair.frames(true).iter().rev().nth(9).unwrap().1;
    pair.run_for(s(1)); // the expiry repeats the first packet, and leaves a window of one
    let sent = pair.log.len();
    pair.inject(false, 60, vec![ack(first + 6..first + 7)]); // the next three are lost
    let lost = pair.client.conn(client).stats().packets_lost;
    assert_eq!((lost, pair.log.len()), (4, sent), "the window is shut");
    let sent = pair.frames(true).len();
    // But everything had arrived, and the window opens.
    pair.inject(false, 61, vec![ack(first..first + 10)]);
    let stats = pair.client.conn(client).stats();
    assert_eq!(stats.spurious_losses, 4);
    let frames = pair.frames(true).split_off(sent);
    let goes_on = |(_, _, frame): &(_, _, Frame<'_>)| match frame {
        Frame::Stream { offset, .. } => *offset >= stats.stream_bytes_acked,
        _ => false,
    };
    assert!(
        !frames.is_empty() && frames.iter().all(goes_on),
        "{frames:?}"
    );
}

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
fn rule_rudp_l7_doubt_is_answered_at_once_and_the_rest_in_pairs_or_after_the_delay() {
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
            vec![(10, stream(0, b"a", false)), (11, stream(1, b"b", false))],
            true,
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

/// (L11)
#[test]
fn rule_rudp_l11_what_was_overtaken_is_lost_a_round_trip_and_a_window_after_it_left() {
    let (mut pair, client, server) = established();
    pair.run_for(ms(100));
    let start = pair.now;
    pair.lets_pass = Box::new(move |at, client, _| !client || at > start);
    pair.client.conn(client).put(b"lost ").unwrap();
    pair.run_for(ms(5));
    pair.client.conn(client).put(b"and found").unwrap();
    pair.run_until(start + ms(49));
    assert_eq!(pair.client.conn(client).stats().packets_lost, 0);
    pair.run_until(start + ms(50)); // 40 ms, and a quarter of that
    assert_eq!(pair.client.conn(client).stats().packets_lost, 1);
    pair.run_until(start + ms(70));
    assert_eq!(pair.server.bytes(server), b"lost and found");
    assert_eq!(pair.client.conn(client).stats().timeouts, 0);
}

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
fn rule_rudp_l14_what_has_no_round_trip_to_go_by_is_repeated_after_a_second() {
    let mut pair = Pair::new(TRACED, clean());
    pair.lets_pass = Box::new(|at, from_client, _| !from_client || at == s(1));
    let client = pair.connect();
    pair.client.conn(client).put(b"x").unwrap();
    pair.run_until(s(9));
    assert_eq!(
        pair.client.conn(client).stats().rto,
        s(6),
        "after 3 s, (5.7-1)"
    );
    let frames = pair.frames(true).into_iter();
    let data = frames.filter(|(_, _, frame)| matches!(frame, Frame::Stream { .. }));
    let left: Vec<Duration> = data.map(|(at, _, _)| at).collect();
    assert_eq!(left, [ms(1_040), ms(2_040), ms(3_040)]);
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
    assert_eq!((stats.tail_probes, stats.congestion_window), (2, 12_000));
    pair.run_for(ms(1));
    assert_eq!(pair.client.conn(client).stats().timeouts, 1);
    let sent = pair.frames(true).into_iter().filter_map(|(at, _, frame)| {
        let data = matches!(frame, Frame::Stream { data, .. } if data == b"no answer");
        data.then(|| at.checked_sub(start)).flatten()
    });
    let sent: Vec<_> = sent.collect();
    let pauses: Vec<_> = sent.windows(2).map(|two| two[1] - two[0]).collect();
    let (least, most) = (pauses.iter().min(), pauses.iter().max());
    assert_eq!(sent.len(), 3);
    assert!(
        *least.unwrap() >= ms(75) && *most.unwrap() <= ms(85),
        "{pauses:?}"
    );

    // The end of a burst: the answer to the probe proves the rest lost.
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
