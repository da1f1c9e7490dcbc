//! The measured operations, once for criterion (time) and once for callgrind (instructions).

use std::{hint::black_box, time::Duration};

use rto::{Config, Estimator, Progress, RetransmitTimer, Sample};

/// An operation with a name; it runs as often as it is told.
pub type Operation = (&'static str, fn(u64));

/// Every operation whose cost is recorded in `BENCHMARKS.md`.
pub const OPERATIONS: &[Operation] = &[("rto.sample", rto_sample), ("rto.cycle", rto_cycle)];

fn estimator() -> Estimator {
    Estimator::new(Config::RFC6298).expect("the RFC's own values are valid")
}

/// Round-trip times that vary by a millisecond, so that both gains have work to do; made
/// beforehand, so that making them does not count.
fn round_trips() -> [Duration; 64] {
    std::array::from_fn(|turn| Duration::from_nanos(40_000_000 + (turn as u64 * 7_919 % 1_000_003)))
}

/// One sample in, the RTO read as a `Duration`.
fn rto_sample(times: u64) {
    let mut estimator = black_box(estimator());
    let round_trips = round_trips().map(Sample::measured);
    for turn in 0..times {
        estimator.sample(black_box(round_trips[turn as usize % 64]));
        black_box(estimator.rto());
    }
}

/// Send, ACK with a sample, deadline read: what a segment costs when all goes well.
fn rto_cycle(times: u64) {
    let mut timer = black_box(RetransmitTimer::new(estimator()));
    let round_trips = round_trips();
    for turn in 0..times {
        let sent_at = Duration::new(turn, 0);
        timer.handle_sent(black_box(sent_at));
        let acked_at = round_trips[turn as usize % 64];
        let acked_at = Duration::new(turn, acked_at.subsec_nanos());
        let sample = Sample::of_transmission(sent_at, acked_at);
        timer.handle_acked(acked_at, black_box(Progress::Some), Some(sample));
        black_box(timer.poll_timeout());
    }
}
