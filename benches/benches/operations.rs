//! Time per operation: `cargo bench -p benches`. Compare within one run only.

use benches::OPERATIONS;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

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

criterion_group!(all, operations);
criterion_main!(all);
