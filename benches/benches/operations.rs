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

/// How long the peers take for a sample, as multiples of what `rto` takes. Each turn times all of
/// them one right after the other, so that a busy machine slows them alike; printed is the median.
fn ratios(_: &mut Criterion) {
    const TURNS: usize = 501;
    let names = ["rto.sample", "peer.quinn.sample", "peer.s2n.sample"];
    let mut runs = names.map(|name| {
        let named = OPERATIONS.iter().find(|operation| operation.name == name);
        (named.expect("it is listed").start)()
    });
    let mut turns: Vec<[f64; 3]> = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        turns.push(runs.each_mut().map(|run| {
            let start = now();
            run(TIMES);
            start.elapsed().as_secs_f64()
        }));
    }
    for (peer, name) in names.iter().enumerate().skip(1) {
        let mut ratios: Vec<f64> = turns.iter().map(|turn| turn[peer] / turn[0]).collect();
        ratios.sort_by(f64::total_cmp);
        println!("{name}: {:.2} times rto.sample", ratios[TURNS / 2]);
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
