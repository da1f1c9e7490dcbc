//! Whole connections in virtual time over a table of hostile links, 1,000 seeds: streams, and beside
//! them messages, deadlines, resets and stops at random times.
//!
//! `SEED=417 cargo test -p conformance --test transport simulation` replays one of them.

use std::{ops::Range, thread, time::Duration};

use conformance::simulation::{Outcome, Plan, run};
use conformance::time::ms;
use netsim::{LinkConfig, Probability};
use rudp_proto::{Config, Congestion, Side};

const SEEDS: u64 = 1_000;

const LOSS_PERCENT: [u32; 5] = [0, 1, 5, 10, 20];
const DELAY_MS: [u64; 5] = [0, 1, 20, 100, 500];
const BLACKOUT_S: [u64; 5] = [0, 1, 3, 10, 30];
const SIZES: [usize; 6] = [0, 1, 1_200, 20_000, 100_000, 400_000];
const EXTRAS: [usize; 4] = [0, 3, 10, 30];
const CONGESTION: [Congestion; 3] = [Congestion::Bbr, Congestion::Cubic, Congestion::NewReno];

#[derive(Clone, Copy, Debug)]
enum Order {
    Kept,
    Jitter,
    HeldBack,
    Everything,
}
const ORDER: [Order; 4] = [
    Order::Kept,
    Order::Jitter,
    Order::HeldBack,
    Order::Everything,
];

/// Walks the whole table of loss x delay x reordering x blackout, twice in 1,000 seeds; sizes,
/// rates, marks, windows, controls, bundling and readers vary beside it.
fn plan(seed: u64) -> Plan {
    let pick = |step: u64, of: usize| usize::try_from(seed / step).expect("small") % of;
    let loss = Probability::from_percent(LOSS_PERCENT[pick(1, 5)]).expect("a percentage");
    let delay = ms(DELAY_MS[pick(5, 5)]);
    let order = ORDER[pick(25, 4)];
    let blackout = BLACKOUT_S[pick(100, 5)];
    let one_percent = Probability::from_percent(1).expect("a percentage");

    let mut link = LinkConfig {
        delay,
        loss,
        ..LinkConfig::PERFECT
    };
    match order {
        Order::Kept => {}
        Order::Jitter => (link.jitter, link.keep_order) = (delay / 2, false),
        Order::HeldBack => (link.reorder, link.reorder_delay) = (one_percent, ms(30)),
        Order::Everything => {
            (link.jitter, link.keep_order) = (delay / 3, false);
            (link.reorder, link.reorder_delay) = (one_percent, ms(5));
            (link.duplicate, link.corrupt) = (one_percent, one_percent);
        }
    }
    if blackout > 0 {
        link.blackouts = vec![dark(seed, blackout)];
    }
    if seed.is_multiple_of(3) {
        (link.rate, link.queue) = (Some(10_000_000), 50_000);
        link.mark_above = seed.is_multiple_of(2).then_some(20_000);
    }
    let mut config = Config {
        idle_timeout: Duration::from_secs(3_600),
        congestion: CONGESTION[pick(17, 3)],
        bundles: pick(19, 4) > 0,
        ..Config::DEFAULT
    };
    if seed.is_multiple_of(7) {
        (config.send_buffer, config.receive_window) = (5_000, 3_000);
    }
    let close_early = match seed % 9 {
        4 => [true, false],
        5 => [false, true],
        6 => [true, true],
        _ => [false, false],
    };
    let slow_reader = match seed % 10 {
        1 | 6 => Some((ms(20), 2_500)),
        3 => Some((ms(12_000), 50_000)), // longer than the keepalive
        _ => None,
    };
    let mut plan = Plan {
        seed,
        up: link.clone(),
        down: link,
        config,
        client_bytes: SIZES[pick(7, 6)],
        server_bytes: SIZES[pick(11, 4)],
        streams: 1 + pick(13, 4),
        extras: EXTRAS[pick(3, 4)],
        slow_reader,
        close_early,
    };
    plan.client_bytes *= usize::from(plan.sends(Side::Client));
    plan.server_bytes *= usize::from(plan.sends(Side::Server));
    plan
}

/// Somewhere in the first seconds: in the handshake, in the data or at the end.
fn dark(seed: u64, seconds: u64) -> Range<Duration> {
    let start = ms(seed * 37 % 2_500);
    start..start + Duration::from_secs(seconds)
}

fn run_all(seeds: Range<u64>) -> Vec<Outcome> {
    let workers = thread::available_parallelism().map_or(2, |n| n.get() as u64);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                let mine = seeds.clone().filter(move |seed| seed % workers == worker);
                scope.spawn(move || mine.map(|seed| run(&plan(seed))).collect::<Vec<_>>())
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("see the panic above"))
            .collect()
    })
}

#[test]
fn everything_arrives_whatever_the_links_do() {
    let seed = std::env::var("SEED").map(|seed| seed.parse().expect("SEED is a number"));
    let seeds = seed.map_or(0..SEEDS, |seed: u64| seed..seed + 1);
    let whole = seeds == (0..SEEDS);
    let outcomes = run_all(seeds);
    let sum = |what: fn(&Outcome) -> u64| outcomes.iter().map(what).sum::<u64>();
    let timeouts = sum(|outcome| outcome.client.timeouts + outcome.server.timeouts);
    let fast = sum(|outcome| outcome.client.fast_retransmits + outcome.server.fast_retransmits);
    let checked = sum(|outcome| outcome.timer_retransmissions);
    let fates =
        [0, 1, 2, 3].map(|fate: usize| outcomes.iter().map(|it| it.fates[fate]).sum::<u64>());
    println!(
        "{} runs: {timeouts} timeouts, {checked} checked, {fast} fast retransmits; extras \
         acknowledged, expired, reset, stopped: {fates:?}",
        outcomes.len()
    );
    if whole {
        // The table must bite: rules that never come into play prove nothing.
        assert!(timeouts > 1_000 && checked > 900 && fast > 1_000);
        assert!(fates.iter().all(|fate| *fate > 500), "{fates:?}");
    }
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [0, 57, 417, 999] {
        assert_eq!(run(&plan(seed)), run(&plan(seed)), "seed {seed}");
    }
    assert_ne!(run(&plan(57)).transcript, run(&plan(557)).transcript);
}

#[test]
fn a_clean_link_needs_no_retransmission_and_runs_at_its_rate() {
    let link = LinkConfig {
        delay: ms(10),
        rate: Some(100_000_000),
        queue: 250_000,
        ..LinkConfig::PERFECT
    };
    let outcome = run(&Plan {
        seed: 1,
        up: link.clone(),
        down: link,
        config: Config::DEFAULT,
        client_bytes: 4 << 20,
        server_bytes: 0,
        streams: 1,
        extras: 0,
        slow_reader: None,
        close_early: [false, false],
    });
    assert_eq!((outcome.client.timeouts, outcome.server.timeouts), (0, 0));
    let megabits = (4 << 20) as f64 * 8.0 / 1e6 / outcome.transferred_at.as_secs_f64();
    assert!((60.0..100.0).contains(&megabits), "{megabits:.1} Mbit/s");
}
