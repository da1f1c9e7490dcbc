//! Loss and timers, L1 to L5 and L11.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use conformance::pair::{Pair, SingleStream, clean, client_addr, pattern};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::{BASE_DATAGRAM, Frame, Packet};
use rudp_proto::{Config, Congestion, Handle, Step};

use super::{TRACED, ack, ack_after, established};

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

/// (L2)
#[test]
fn rule_rudp_l2_a_path_that_holds_packets_is_measured_honestly_and_forgotten() {
    let at_once = Config {
        max_ack_delay: Duration::ZERO,
        ..TRACED
    };
    let (mut pair, client, server) = Pair::connected(at_once, clean());
    let measured = |pair: &mut Pair| {
        let stats = pair.client.conn(client).stats();
        (stats.srtt.unwrap(), stats.rto, stats.samples)
    };
    for _ in 0..50 {
        pair.client.conn(client).put(b"x").unwrap();
        pair.run_for(ms(100));
    }
    assert_eq!(measured(&mut pair), (ms(40), s(1), 51));

    // For 5 s nothing gets through; then all of it does, one after the other.
    let held = Rc::new(RefCell::new(Vec::new()));
    let holder = Rc::clone(&held);
    pair.lets_pass = Box::new(move |_, from_client, datagram| {
        if from_client {
            holder.borrow_mut().push(datagram.to_vec());
        }
        !from_client
    });
    pair.client.conn(client).put(b"held").unwrap();
    pair.run_for(s(5));
    pair.lets_pass = Box::new(|_, _, _| true);
    for datagram in held.take() {
        let endpoint = &mut pair.server.endpoint;
        endpoint.handle_datagram(pair.now, client_addr(), None, &datagram);
        pair.settle();
    }
    pair.run_for(ms(20));
    let (srtt, rto, samples) = measured(&mut pair);
    assert_eq!((srtt.as_millis(), rto.as_millis()), (1_969, 9_285));

    let mut after = Vec::new();
    for _ in 0..60 {
        pair.client.conn(client).put(b"x").unwrap();
        pair.run_for(ms(100));
        after.push(measured(&mut pair));
    }
    let first = |is_back: &dyn Fn(Duration, Duration) -> bool| {
        let back = after.iter().find(|(srtt, rto, _)| is_back(*srtt, *rto));
        back.expect("it comes back").2 - samples
    };
    assert_eq!(first(&|_, rto| rto == s(1)), 22);
    assert_eq!(first(&|srtt, _| srtt <= ms(44)), 47);
    let all = [&[b'x'; 50][..], b"held", &[b'x'; 60]].concat();
    assert_eq!(pair.server.bytes(server), all);
}

/// (L2)
#[test]
fn rule_rudp_l2_the_delay_of_acks_is_gone_from_the_model_with_the_first_burst() {
    let link = LinkConfig {
        rate: Some(20_000_000),
        ..clean()
    };
    let after = |thin: u32| {
        let (mut pair, client, _) = Pair::connected(TRACED, link.clone());
        for _ in 0..thin {
            pair.client.conn(client).put(b"x").unwrap();
            pair.run_for(ms(100)); // a round trip of 40 ms, and the 25 of the ACK
        }
        let srtt = pair.client.conn(client).stats().srtt.unwrap();
        pair.client.send_all(client, &pattern(8_000_000));
        pair.run_for(s(2));
        let window = pair.client.conn(client).stats().congestion_window;
        (srtt.as_millis(), window)
    };
    let (short, usual) = after(0);
    let (long, window) = after(120);
    assert_eq!((short, long), (40, 65));
    // It is twice the pipe (G8); with the delay of ACKs in it, that would be 60 % more.
    assert!(window.abs_diff(usual) <= usual / 20, "{window}, {usual}");
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
    let config = Config {
        congestion: Congestion::NewReno, // its window is ten packets
        ..TRACED
    };
    let (mut pair, client, _) = Pair::connected(config, clean());
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
