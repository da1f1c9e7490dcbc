//! The operations of the workspace's own crates.

use std::{hint::black_box, time::Duration};

use backoff_policy::{Jitter, Ratio, Schedule, Series};
use grpc_backoff::{Action, Connection};
use rto::{Config, Estimator, Progress, RetransmitTimer, Sample};
use rudp_proto::wire::{Ack, Frame, Packet};
use rudp_proto::{Side, StreamId, StreamKind};

use crate::{
    Run,
    loops::{INPUTS, draws, each, round_trips, sent_and_acked},
};

pub(crate) fn estimator() -> Estimator {
    Estimator::new(Config::RFC6298).expect("the RFC's own values are valid")
}

/// One sample in, the RTO read as a `Duration`.
pub(crate) fn rto_sample() -> Run {
    let (mut estimator, inputs) = (estimator(), round_trips());
    Box::new(move |times| {
        // Lent out to nobody knows whom, so it lives in memory, as in a connection.
        let estimator = black_box(&mut estimator);
        each(times, &inputs, |round_trip| {
            estimator.sample(Sample::measured(round_trip));
            estimator.rto()
        });
    })
}

/// Send, ACK with a sample, deadline read: what a segment costs when all goes well.
pub(crate) fn rto_cycle() -> Run {
    let (mut timer, inputs) = (RetransmitTimer::new(estimator()), sent_and_acked());
    Box::new(move |times| {
        let timer = black_box(&mut timer);
        each(times, &inputs, |(sent_at, acked_at)| {
            cycle(timer, sent_at, acked_at)
        });
    })
}

#[inline(always)]
pub(crate) fn cycle(
    timer: &mut RetransmitTimer,
    sent_at: Duration,
    acked_at: Duration,
) -> Option<Duration> {
    timer.handle_sent(sent_at);
    let sample = Sample::of_transmission(sent_at, acked_at);
    timer.handle_acked(acked_at, Progress::Some, Some(sample));
    timer.poll_timeout()
}

pub(crate) fn policy_full() -> Run {
    policy_delay(Jitter::Full)
}

pub(crate) fn policy_decorrelated() -> Run {
    policy_delay(Jitter::Decorrelated)
}

/// One jittered delay.
fn policy_delay(jitter: Jitter) -> Run {
    let schedule = doubling(Duration::from_millis(100), Duration::from_secs(60), jitter);
    let (mut series, inputs) = (Series::new(&schedule), draws());
    Box::new(move |times| {
        let (schedule, series) = black_box((&schedule, &mut series));
        each(times, &inputs, |draw| series.next(schedule, draw));
    })
}

pub(crate) fn doubling(base: Duration, cap: Duration, jitter: Jitter) -> Schedule {
    Schedule::new(base, Ratio::new(2, 1), cap, jitter).expect("valid")
}

/// An attempt that fails at once: its start, its failure and the wait.
pub(crate) fn grpc_step() -> Run {
    let mut connection = Connection::new(grpc_backoff::Config::GRPC).expect("valid");
    let (mut now, inputs) = (Duration::ZERO, draws());
    connection.connect(now);
    Box::new(move |times| {
        let connection = black_box(&mut connection);
        each(times, &inputs, |draw| {
            if let Some(Action::Start(start)) = connection.poll_action(now, || draw) {
                black_box(connection.handle_failed(now, start.attempt));
            }
            now = connection.poll_timeout().expect("a failure has a deadline");
            now
        });
    })
}

fn full_packet(data: &[u8]) -> Packet<'_> {
    let ack = Ack {
        delay: Duration::from_micros(250),
        ranges: [90..120, 40..80].into_iter().collect(),
    };
    let stream = Frame::Stream {
        id: StreamId::new(Side::Client, StreamKind::Bytes, 0),
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
pub(crate) fn wire_encode() -> Run {
    let mut datagram = Vec::with_capacity(1_200);
    Box::new(move |times| {
        let data = [0x5a; 1_100];
        let packet = full_packet(&data);
        let packet = black_box(&packet);
        each(times, &[(); INPUTS], |()| {
            datagram.clear();
            packet.encode(&mut datagram);
            black_box(&datagram);
        });
    })
}

/// The same packet, checked and taken apart.
pub(crate) fn wire_decode() -> Run {
    let mut datagram = Vec::new();
    full_packet(&[0x5a; 1_100]).encode(&mut datagram);
    Box::new(move |times| {
        let datagram = black_box(datagram.as_slice());
        each(times, &[(); INPUTS], |()| {
            Packet::decode(datagram, 0).expect("just encoded");
        });
    })
}
