//! Which round trips may be measured.
#![allow(
    unsafe_code,
    reason = "exports functions, and vouches for opaque memory"
)]

use core::{mem::MaybeUninit, time::Duration};

use rto::{Sample, Sampler};

use crate::{
    RTO_NONE,
    memory::{self, Opaque},
    rto_status,
    time::nanos,
};

/// Size of an `rto_sampler` in words of 64 bits, some of them to grow into.
pub const RTO_SAMPLER_WORDS: usize = 8;

/// Measures round trips for stacks whose retransmissions repeat sequence numbers (Karn): one segment
/// is timed at a time, and what was sent twice gives no sample. 64 bytes of yours.
///
/// Sequence numbers are 64 bits wide and never wrap: unwrap narrower ones first, and give a SYN or
/// FIN its own number as TCP does.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rto_sampler {
    opaque: [MaybeUninit<u64>; RTO_SAMPLER_WORDS],
}

// SAFETY: Any bytes are a valid `MaybeUninit`; `Default` and C give the first ones a value.
unsafe impl Opaque for rto_sampler {
    type Value = Sampler;
    const MARK: u32 = 0x7274_6f32;
}

impl Default for rto_sampler {
    /// Zeros: not initialised.
    fn default() -> Self {
        let opaque = [MaybeUninit::new(0); RTO_SAMPLER_WORDS];
        Self { opaque }
    }
}

/// Starts at sequence number 0, nothing sent.
#[unsafe(no_mangle)]
pub extern "C" fn rto_sampler_init(sampler: Option<&mut rto_sampler>) -> rto_status {
    let made = sampler.ok_or(rto_status::NullPointer);
    made.and_then(|sampler| memory::set(sampler, Ok(Sampler::new())))
        .into()
}

/// The bytes from `start` on, up to but without `end`, were sent. Fresh ones start a measurement if
/// none runs; a range that repeats any byte voids the running one. An empty range does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn rto_sampler_sent(
    sampler: Option<&mut rto_sampler>,
    now_ns: u64,
    start: u64,
    end: u64,
) -> rto_status {
    memory::get_mut(sampler)
        .map(|sampler| sampler.handle_sent(Duration::from_nanos(now_ns), start..end))
        .into()
}

/// Everything below `upto` is acknowledged. Gives the round trip in ns if this ACK ends a
/// measurement, for `rto_timer_acked`, and otherwise `RTO_NONE`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn rto_sampler_acked(
    sampler: Option<&mut rto_sampler>,
    now_ns: u64,
    upto: u64,
) -> u64 {
    memory::get_mut(sampler).map_or(RTO_NONE, |sampler| {
        let sample = sampler.handle_acked(Duration::from_nanos(now_ns), upto);
        sample.map_or(RTO_NONE, |sample| nanos(sample.rtt().ok()))
    })
}

/// The round trip in ns of a transmission that the ACK names, by a packet number that is never reused
/// or by its echoed timestamp. `RTO_NONE` where the ACK lies before the send: the clock went back.
#[unsafe(no_mangle)]
pub extern "C" fn rto_rtt(sent_at_ns: u64, acked_at_ns: u64) -> u64 {
    let (sent_at, acked_at) = (
        Duration::from_nanos(sent_at_ns),
        Duration::from_nanos(acked_at_ns),
    );
    nanos(Sample::of_transmission(sent_at, acked_at).rtt().ok())
}

/// How many samples a round trip brings with timestamps, when every second segment is acknowledged:
/// `expected` of `rto_timer_sample` (RFC 7323). At least 1; `flight_size` and `smss` in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn rto_expected_samples(flight_size: u64, smss: u32) -> u32 {
    rto::expected_samples(flight_size, smss).get().into()
}
