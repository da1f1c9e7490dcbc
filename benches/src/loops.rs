//! The loop around every operation, and the same loop around nothing.

use std::{hint::black_box, time::Duration};

use crate::Run;

/// Inputs per round: made beforehand, so that making them does not count.
pub(crate) const INPUTS: usize = 64;

/// Gives every input to `operation`, over and over. Inputs and results are opaque to the compiler,
/// so that nothing is computed beforehand and nothing left out.
#[inline(always)]
pub(crate) fn each<I: Copy, O>(
    times: u64,
    inputs: &[I; INPUTS],
    mut operation: impl FnMut(I) -> O,
) {
    // Of unknown length too: an idle loop must not be unrolled where a busy one is not.
    let inputs: &[I] = black_box(inputs);
    for _ in 0..times.div_ceil(INPUTS as u64) {
        for &input in inputs {
            black_box(operation(input));
        }
    }
}

/// Round-trip times that vary by a millisecond, so that both gains have work to do.
pub(crate) fn round_trips() -> [Duration; INPUTS] {
    std::array::from_fn(|turn| Duration::from_nanos(40_000_000 + (turn as u64 * 7_919 % 1_000_003)))
}

/// Sent in one second after the other, each acknowledged after its round trip. With the next
/// round the clock starts again, which a timer that is told every instant does not mind.
pub(crate) fn sent_and_acked() -> [(Duration, Duration); INPUTS] {
    let round_trips = round_trips();
    std::array::from_fn(|turn| {
        let sent_at = Duration::from_secs(turn as u64);
        (sent_at, sent_at + round_trips[turn])
    })
}

/// Draws all over the range.
pub(crate) fn draws() -> [u64; INPUTS] {
    std::array::from_fn(|turn| (turn as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(crate) fn idle_duration() -> Run {
    let inputs = round_trips();
    Box::new(move |times| each(times, &inputs, |round_trip| round_trip))
}

pub(crate) fn idle_pair() -> Run {
    let inputs = sent_and_acked();
    Box::new(move |times| each(times, &inputs, |(sent_at, _)| Some(sent_at)))
}

pub(crate) fn idle_draw() -> Run {
    let inputs = draws();
    Box::new(move |times| each(times, &inputs, |draw| draw))
}

pub(crate) fn idle_unit() -> Run {
    Box::new(|times| each(times, &[(); INPUTS], |()| ()))
}
