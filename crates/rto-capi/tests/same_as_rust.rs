//! Any calls, through the functions that C sees, give the answers of the Rust timers behind them.
#![allow(unsafe_code, reason = "calls functions that fill a buffer, as C does")]

#[path = "same_as_rust/compact.rs"]
mod compact;
#[path = "same_as_rust/sampler.rs"]
mod sampler;
#[path = "same_as_rust/settings.rs"]
mod settings;
#[path = "same_as_rust/timer.rs"]
mod timer;

use std::{ffi::CStr, mem::MaybeUninit, time::Duration};

use proptest::prelude::*;
use rto_capi::{RTO_NONE, RTO_TEXT_SIZE};

/// Any instant, near ones more often, up to the end of time.
fn instant() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![
        8 => (0_u64..500_000).prop_map(|ms| ms * 1_000_000),
        1 => any::<u64>(),
        1 => RTO_NONE - 2..=RTO_NONE,
    ]
}

/// A round trip, or none.
fn rtt() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![
        3 => 0_u64..5_000_000_000,
        1 => instant(),
        2 => Just(RTO_NONE),
    ]
}

/// A number meant for an enum of `len`, now and then none of its.
fn number(len: u32) -> impl Strategy<Value = u32> {
    prop_oneof![40 => 0..len, 1 => any::<u32>()]
}

fn time(ns: u64) -> Option<Duration> {
    (ns != RTO_NONE).then_some(Duration::from_nanos(ns))
}

fn nanos(time: Option<Duration>) -> u64 {
    let ns = time.map(|time| u64::try_from(time.as_nanos()));
    ns.and_then(Result::ok).unwrap_or(RTO_NONE)
}

/// What a function leaves in a buffer.
fn text(fill: impl FnOnce(*mut core::ffi::c_char, usize)) -> String {
    let mut buffer = [MaybeUninit::<u8>::new(b'#'); RTO_TEXT_SIZE];
    fill(buffer.as_mut_ptr().cast(), buffer.len());
    let bytes = buffer.map(|byte| {
        // SAFETY: The buffer was initialised above.
        unsafe { byte.assume_init() }
    });
    let text = CStr::from_bytes_until_nul(&bytes).expect("a NUL within the buffer");
    text.to_str().expect("whole characters").to_owned()
}
