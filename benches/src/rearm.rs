//! Many timers in one process: what one more ACK costs when it may be for any of them.

use std::{hint::black_box, time::Duration};

use rto::{RetransmitTimer, Sample};

use crate::{
    Run,
    loops::{each, round_trips, sent_and_acked},
    operations::{cycle, estimator},
};

/// Steps through `0..N` so that neighbours in time are far apart in memory and every one has its
/// turn: multiples of the golden ratio, whose fraction is scaled to `N`.
struct Stride<const N: u64>(u64);

impl<const N: u64> Stride<N> {
    #[inline(always)]
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (((self.0 >> 32) * N) >> 32) as usize
    }
}

/// A send and an ACK with a sample, each time on another one of `N` timers.
pub(crate) fn among<const N: u64>() -> Run {
    // All alike and in the middle of their work: the first sends and samples cost less or more.
    let mut timer = RetransmitTimer::new(estimator());
    timer.handle_sent(Duration::ZERO);
    for round_trip in round_trips() {
        timer.handle_sample(Duration::ZERO, Sample::measured(round_trip));
    }
    let mut timers = vec![timer; N as usize];
    let (mut stride, inputs) = (Stride::<N>(0), sent_and_acked());
    Box::new(move |times| {
        let timers = black_box(timers.as_mut_slice());
        each(times, &inputs, |(sent_at, acked_at)| {
            cycle(&mut timers[stride.next()], sent_at, acked_at)
        });
    })
}

/// The same, without the timer.
pub(crate) fn idle<const N: u64>() -> Run {
    let (mut stride, inputs) = (Stride::<N>(0), sent_and_acked());
    Box::new(move |times| {
        each(times, &inputs, |(sent_at, _)| {
            black_box(stride.next());
            Some(sent_at)
        });
    })
}
