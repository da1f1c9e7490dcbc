//! The measured operations, once for criterion (time) and once for callgrind (instructions).

use std::{hint::black_box, time::Duration};

use backoff_policy::{Jitter, Ratio, Schedule, Series};
use grpc_backoff::{Action, Connection};
use rto::{Config, Estimator, Progress, RetransmitTimer, Sample};
use rudp_proto::wire::{Ack, Frame, Packet};

/// An operation with a name; it runs as often as it is told.
pub type Operation = (&'static str, fn(u64));

/// Every operation whose cost is recorded in `BENCHMARKS.md`.
pub const OPERATIONS: &[Operation] = &[
    ("rto.sample", rto_sample),
    ("rto.cycle", rto_cycle),
    ("policy.delay.full", |times| {
        policy_delay(times, Jitter::Full)
    }),
    ("policy.delay.decorrelated", |times| {
        policy_delay(times, Jitter::Decorrelated)
    }),
    ("grpc.step", grpc_step),
    ("wire.encode", wire_encode),
    ("wire.decode", wire_decode),
];

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

/// One jittered delay.
fn policy_delay(times: u64, jitter: Jitter) {
    let (base, cap) = (Duration::from_millis(100), Duration::from_secs(60));
    let schedule = Schedule::new(base, Ratio::new(2, 1), cap, jitter).expect("valid");
    let mut series = Series::new(black_box(&schedule));
    for turn in 0..times {
        let draw = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        black_box(series.next(&schedule, black_box(draw)));
    }
}

/// An attempt that fails at once: its start, its failure and the wait.
fn grpc_step(times: u64) {
    let mut connection = Connection::new(grpc_backoff::Config::GRPC).expect("valid");
    let mut now = Duration::ZERO;
    connection.connect(now);
    for turn in 0..times {
        let draw = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if let Some(Action::Start(start)) = connection.poll_action(now, || draw) {
            black_box(connection.handle_failed(now, start.attempt));
        }
        now = connection.poll_timeout().expect("a failure has a deadline");
    }
}

fn full_packet(data: &[u8]) -> Packet<'_> {
    let ack = Ack {
        delay: Duration::from_micros(250),
        ranges: vec![90..120, 40..80],
    };
    let stream = Frame::Stream {
        offset: 1 << 20,
        data,
        fin: false,
    };
    Packet::Data {
        to: 0x0123_4567_89ab_cdef,
        number: 70_000,
        frames: vec![Frame::Ack(ack), stream],
    }
}

/// A Data packet with an ACK and 1,100 bytes of stream, checksum included.
fn wire_encode(times: u64) {
    let data = [0x5a; 1_100];
    let packet = full_packet(&data);
    let mut datagram = Vec::with_capacity(1_200);
    for _ in 0..times {
        black_box(&packet).encode(&mut datagram);
        black_box(&datagram);
    }
}

/// The same packet, checked and taken apart.
fn wire_decode(times: u64) {
    let data = [0x5a; 1_100];
    let mut datagram = Vec::new();
    full_packet(&data).encode(&mut datagram);
    for _ in 0..times {
        let packet = Packet::decode(black_box(&datagram)).expect("just encoded");
        black_box(packet);
    }
}
