//! Time per operation: `cargo bench -p benches`. Compare within one run only.

use benches::OPERATIONS;
use std::time::Duration;

use conformance::simulation::{Plan, run};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netsim::{LinkConfig, Probability};
use rudp_proto::Config;

/// Operations per measured call, so that the call itself costs nothing.
const TIMES: u64 = 1_000;

fn operations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("operations");
    group.throughput(Throughput::Elements(TIMES));
    for (name, run) in OPERATIONS {
        group.bench_function(*name, |bencher| bencher.iter(|| run(TIMES)));
    }
    group.finish();
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

criterion_group!(all, operations, goodput);
criterion_main!(all);
