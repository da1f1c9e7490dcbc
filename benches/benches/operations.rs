//! Time per operation: `cargo bench -p benches`. Compare within one run only.

use benches::OPERATIONS;
use std::time::{Duration, Instant};

use conformance::simulation::{Plan, run};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netsim::{LinkConfig, Probability};
use rudp_proto::Config;

/// Operations per measured call, so that the call itself costs nothing.
const TIMES: u64 = 1_024;

fn operations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("operations");
    group.throughput(Throughput::Elements(TIMES));
    for operation in OPERATIONS {
        let mut run = (operation.start)();
        group.bench_function(operation.name, |bencher| bencher.iter(|| run(TIMES)));
    }
    group.finish();
}

/// How long peers take, as multiples of what ours takes, the first of each list.
fn ratios(_: &mut Criterion) {
    compare(&["rto.sample", "peer.quinn.sample", "peer.s2n.sample"]);
    compare(&[
        "policy.delay.drawn",
        "peer.backon.delay",
        "peer.tokio-retry.delay",
        "peer.exponential-backoff.delay",
        "peer.retry-policies.delay",
        "peer.backoff.delay",
        "peer.tower.delay",
    ]);
}

/// Each turn times all of them one right after the other, so that a busy machine slows them alike;
/// printed is the median.
fn compare(names: &[&str]) {
    const TURNS: usize = 501;
    let mut runs: Vec<_> = (names.iter())
        .map(|name| {
            let named = OPERATIONS.iter().find(|operation| operation.name == *name);
            (named.expect("it is listed").start)()
        })
        .collect();
    let turns: Vec<Vec<f64>> = (0..TURNS)
        .map(|_| {
            let times = runs.iter_mut().map(|run| {
                let start = now();
                run(TIMES);
                start.elapsed().as_secs_f64()
            });
            times.collect()
        })
        .collect();
    for (peer, name) in names.iter().enumerate().skip(1) {
        let mut ratios: Vec<f64> = turns.iter().map(|turn| turn[peer] / turn[0]).collect();
        ratios.sort_by(f64::total_cmp);
        println!("{name}: {:.2} times {}", ratios[TURNS / 2], names[0]);
    }
}

#[expect(clippy::disallowed_methods, reason = "measures time")]
fn now() -> Instant {
    Instant::now()
}

/// A whole transfer over a virtual link: the time is what the CPU needs for it. What the transport
/// makes of the link, in virtual time and so the same on every machine, is printed beside it.
fn goodput(criterion: &mut Criterion) {
    const BYTES: usize = 4 << 20;
    let mut group = criterion.benchmark_group("goodput");
    group
        .throughput(Throughput::Bytes(BYTES as u64))
        .sample_size(10);
    for loss in [0, 1, 5] {
        let link = LinkConfig {
            delay: Duration::from_millis(10),
            rate: Some(100_000_000),
            queue: 250_000,
            loss: Probability::from_percent(loss).expect("a percentage"),
            ..LinkConfig::PERFECT
        };
        let plan = Plan {
            seed: 1,
            up: link.clone(),
            down: link,
            config: Config::DEFAULT,
            client_bytes: BYTES,
            server_bytes: 0,
            streams: 1,
            extras: 0,
            slow_reader: None,
            close_early: [false, false],
        };
        let megabits = BYTES as f64 * 8e-6 / run(&plan).transferred_at.as_secs_f64();
        println!("100 Mbit/s, 20 ms round trip, {loss} % loss: {megabits:.1} Mbit/s");
        group.bench_function(format!("loss {loss} %"), |bencher| {
            bencher.iter(|| run(&plan))
        });
    }
    group.finish();
}

criterion_group!(all, operations, ratios, goodput);
criterion_main!(all);
