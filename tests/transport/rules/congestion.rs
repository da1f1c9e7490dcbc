//! Congestion control, L10 and G1 to G9; G10 is in `base_loss`.

mod first;
mod model;

use std::time::Duration;

use conformance::pair::{Pair, SingleStream, clean, pattern};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::{BASE_DATAGRAM, Frame};
use rudp_proto::{Config, Congestion, Handle, Step};

use super::{TRACED, ack};
use first::fill_window;

const PACKET: u64 = BASE_DATAGRAM as u64;
const LOSS_BASED: [Congestion; 2] = [Congestion::NewReno, Congestion::Cubic];
const ALL: [Congestion; 3] = [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr];

const fn config(congestion: Congestion) -> Config {
    Config {
        congestion,
        ..TRACED
    }
}

fn established(congestion: Congestion) -> (Pair, Handle) {
    let (pair, client, _) = Pair::connected(config(congestion), clean());
    (pair, client)
}

/// 10 Mbit/s and 40 ms: 50 kB fill it.
fn narrow(queue: usize) -> LinkConfig {
    LinkConfig {
        rate: Some(10_000_000),
        queue,
        ..clean()
    }
}

fn window(pair: &mut Pair, client: Handle) -> u64 {
    pair.client.conn(client).stats().congestion_window
}

/// The window after each of so many milliseconds.
fn windows(pair: &mut Pair, client: Handle, count: usize) -> Vec<u64> {
    let each = |_| {
        pair.run_for(ms(1));
        window(pair, client)
    };
    (0..count).map(each).collect()
}

/// When the client sent stream data.
fn sending_times(pair: &Pair) -> Vec<Duration> {
    let data = |(at, _, frame)| matches!(frame, Frame::Stream { .. }).then_some(at);
    pair.frames(true).into_iter().filter_map(data).collect()
}

/// From so long after now, loses the packets with these counts, from 1, of those that the client
/// sends.
fn lose(pair: &mut Pair, after: Duration, which: &'static [u32]) {
    let start = pair.now + after;
    let mut sent = 0;
    pair.lets_pass = Box::new(move |at, from_client, _| {
        sent += u32::from(from_client && at >= start);
        !(from_client && which.contains(&sent))
    });
}

/// (G1)
#[test]
fn rule_rudp_g1_newreno_halves_once_a_round_and_does_not_grow_unused() {
    let (mut pair, client) = established(Congestion::NewReno);
    pair.client.conn(client).put(&pattern(1 << 20)).unwrap();
    pair.run_for(ms(40));
    let doubled = window(&mut pair, client);
    assert!((19 * PACKET..=20 * PACKET).contains(&doubled), "{doubled}");
    lose(&mut pair, ms(20), &[3, 9]); // two losses of one round
    let windows = windows(&mut pair, client, 130);
    let most = *windows.iter().max().unwrap();
    let least = *windows.iter().min().unwrap();
    let halved = most * 3 / 8..=most * 5 / 8;
    assert!(halved.contains(&least), "{most} to {least}");
    assert_eq!(pair.client.conn(client).stats().timeouts, 0);

    let (mut pair, client) = established(Congestion::NewReno);
    for _ in 0..50 {
        pair.client.conn(client).put(b"thin").unwrap();
        pair.run_for(ms(100));
    }
    assert_eq!(window(&mut pair, client), 10 * PACKET);

    pair.client.conn(client).put(&pattern(400_000)).unwrap();
    pair.run_for(s(1));
    assert!(window(&mut pair, client) > 20 * PACKET);
    pair.run_for(s(5));
    pair.client.conn(client).put(b"after a rest").unwrap();
    pair.settle();
    assert_eq!(window(&mut pair, client), 10 * PACKET);
}

/// (G2)
#[test]
fn rule_rudp_g2_a_recovery_never_falls_silent() {
    for congestion in LOSS_BASED {
        let (mut pair, client, _) = Pair::connected(config(congestion), narrow(100_000));
        pair.client.conn(client).put(&pattern(1 << 20)).unwrap();
        pair.run_for(ms(300));
        let start = pair.now;
        lose(&mut pair, ms(0), &[5]);
        pair.run_for(ms(400));
        assert!(pair.client.conn(client).stats().packets_lost >= 1);
        let times = sending_times(&pair);
        let recovery: Vec<_> = times.into_iter().filter(|at| *at > start).collect();
        let gaps = recovery.windows(2).map(|pair| pair[1] - pair[0]);
        let longest = gaps.max().unwrap();
        assert!(longest < ms(20), "{congestion}: silent for {longest:?}");
    }
}

/// (G3)
#[test]
fn rule_rudp_g3_the_delivery_rate_is_that_of_the_path_however_it_is_sent() {
    for congestion in ALL {
        let (mut pair, client, _) = Pair::connected(config(congestion), narrow(100_000));
        pair.client.conn(client).put(&pattern(500_000)).unwrap();
        pair.run_for(ms(300));
        let rate = pair.client.conn(client).stats().delivery_rate.unwrap();
        let path = 1_250_000;
        assert!((path * 9 / 10..=path * 101 / 100).contains(&rate), "{rate}");
    }
}

/// (G4)
#[test]
fn rule_rudp_g4_what_leaves_at_once_is_two_milliseconds_of_the_rate() {
    for congestion in ALL {
        let (mut pair, client, _) = Pair::connected(config(congestion), narrow(100_000));
        let rate = pair.client.conn(client).stats().pacing_rate;
        assert_eq!(rate.is_some(), congestion == Congestion::Bbr);
        pair.client.conn(client).put(&pattern(500_000)).unwrap();
        let start = pair.now;
        let mut fastest = 0;
        for _ in 0..300 {
            pair.run_for(ms(1));
            let rate = pair.client.conn(client).stats().pacing_rate;
            fastest = fastest.max(rate.unwrap_or_default());
        }
        let times: Vec<_> = sending_times(&pair);
        let burst = |at: &Duration| times.iter().filter(|other| *other == at).count() as u64;
        if rate.is_none() {
            assert_eq!(burst(&start), 10, "the initial window");
        }
        let paced = times.iter().filter(|at| **at > start || rate.is_some());
        let most = paced.map(burst).max().unwrap();
        let quantum = (fastest / 500 / PACKET).max(2);
        assert!(
            most <= quantum + 1,
            "{congestion}: {most} of {quantum} packets"
        );
        assert_eq!(pair.client.conn(client).stats().timeouts, 0);
    }
}

/// (G4, G8)
#[test]
fn rule_rudp_g4_what_was_slow_at_first_holds_nothing_back_later() {
    const BYTES: usize = 2 << 20;
    for congestion in ALL {
        // After 10 s: not while the shortest round trip is probed (G8).
        let took = [0, 1, 5, 500].map(|thin| {
            let link = wide(250_000, "0%");
            let (mut pair, client, _) = Pair::connected(config(congestion), link);
            for _ in 0..thin {
                pair.client.conn(client).put(&[0; 20]).unwrap();
                pair.run_for(ms(20));
            }
            pair.log.clear();
            let start = pair.now;
            pair.client.send_all(client, &pattern(BYTES));
            while pair.server.ended.is_empty() {
                pair.run_for(ms(1));
            }
            pair.now - start
        });
        let [at_once, later @ ..] = took;
        assert!(at_once < ms(300), "{congestion}: {took:?}");
        let no_slower = later.iter().all(|took| *took < at_once + ms(20));
        assert!(no_slower, "{congestion}: {took:?}");
    }
}

/// (G5)
#[test]
fn rule_rudp_g5_cubic_keeps_seven_tenths_and_climbs_back_no_slower_than_reno() {
    let (mut pair, client) = established(Congestion::Cubic);
    pair.client.send_all(client, &pattern(8 << 20));
    pair.run_for(ms(60));
    lose(&mut pair, ms(0), &[3]);
    let windows = windows(&mut pair, client, 3_000);
    let (peak, most) = (0..200)
        .map(|i| (i, windows[i]))
        .max_by_key(|it| it.1)
        .unwrap();
    let least = *windows[peak..peak + 200].iter().min().unwrap();
    let kept = most * 6 / 10..=most * 8 / 10;
    assert!(kept.contains(&least), "{most} to {least}");
    let back = windows[peak + 200..]
        .iter()
        .position(|window| *window >= most);
    // 9/17 packets in each 40 ms for three tenths of the window.
    let lost = (most - least) / PACKET;
    let reno = usize::try_from(lost * 40 * 17 / 9).unwrap();
    let back = back.expect("it climbs back") + 200;
    assert!(
        (reno / 2..=reno * 3 / 2).contains(&back),
        "after {back} ms, Reno {reno} ms"
    );
}

/// (G6)
#[test]
fn rule_rudp_g6_slow_start_ends_by_the_queue_that_it_makes_before_a_loss() {
    let [reno, cubic] = LOSS_BASED.map(|congestion| {
        let (mut pair, client, _) = Pair::connected(config(congestion), narrow(10_000_000));
        pair.client.send_all(client, &pattern(8 << 20));
        pair.run_for(s(2));
        assert_eq!(pair.client.conn(client).stats().packets_lost, 0);
        window(&mut pair, client)
    });
    assert!(cubic < reno / 2, "{cubic} and {reno} for a path of 50 kB");
}

/// (G7)
#[test]
fn rule_rudp_g7_a_reduction_that_answered_late_packets_is_undone_to_the_byte() {
    for congestion in LOSS_BASED {
        let (mut pair, client) = established(congestion);
        pair.lets_pass = Box::new(|_, _, _| false);
        pair.client.conn(client).put(&pattern(100_000)).unwrap();
        pair.settle();
        let first = pair.frames(true).iter().rev().nth(9).unwrap().1;
        pair.run_for(ms(40));
        pair.inject(false, 60, vec![ack(first + 5..first + 6)]);
        assert_eq!(pair.client.conn(client).stats().packets_lost, 3);
        pair.inject(false, 61, vec![ack(first..first + 2)]);
        let reduced = window(&mut pair, client);
        assert!(reduced < 10 * PACKET, "{congestion}: {reduced}");
        pair.inject(false, 62, vec![ack(first + 2..first + 3)]);
        assert_eq!(window(&mut pair, client), 10 * PACKET, "{congestion}");
        assert_eq!(pair.client.conn(client).stats().undone_reductions, 1);
        pair.settle();
        let late = (pair.client.traces.iter()).filter_map(|trace| match trace.step {
            Step::SpuriousLoss { packets, undone } => Some((packets, undone)),
            _ => None,
        });
        assert_eq!(late.collect::<Vec<_>>(), [(2, false), (1, true)]);
    }
}

/// (G7)
#[test]
fn rule_rudp_g7_an_expiry_that_was_a_mistake_is_undone_to_the_byte() {
    for congestion in ALL {
        let (mut pair, client) = established(congestion);
        let sent = fill_window(&mut pair, client).len() as u64;
        let last = pair.frames(true).last().unwrap().1;
        pair.run_for(s(1) + ms(100));
        assert_eq!(window(&mut pair, client), PACKET, "{congestion}");
        pair.inject(false, 60, vec![ack(last + 1 - sent..last + 1)]);
        assert!(window(&mut pair, client) >= sent * PACKET, "{congestion}");
        assert_eq!(pair.client.conn(client).stats().undone_reductions, 1);
    }
}

/// 100 Mbit/s and 20 ms, with a queue of so many bytes, losing so many percent.
fn wide(queue: usize, loss: &str) -> LinkConfig {
    LinkConfig {
        delay: ms(10),
        rate: Some(100_000_000),
        queue,
        loss: loss.parse().unwrap(),
        ..LinkConfig::PERFECT
    }
}
