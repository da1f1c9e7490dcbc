//! What a timer can be asked.
#![allow(unsafe_code, reason = "exports functions, two of which fill a buffer")]

use core::ffi::c_char;

use rto::Estimator;

use super::{at, rto_timer};
use crate::{RTO_NONE, memory, rto_status, text, time::nanos};

/// SRTT and RTTVAR, to keep for the next connection to the same peer or over a timeout that may
/// prove spurious. Both are `RTO_NONE` where there was no sample.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rto_snapshot {
    /// The smoothed round-trip time.
    pub srtt_ns: u64,
    /// The round-trip time variation.
    pub rttvar_ns: u64,
}

/// When to call `rto_timer_timeout`, or `RTO_NONE`: the timer is stopped (or null, or not
/// initialised). Every other call may change it.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_poll_timeout(timer: Option<&rto_timer>) -> u64 {
    memory::get(timer).map_or(RTO_NONE, |timer| nanos(timer.poll_timeout()))
}

/// The retransmission timeout in force, never 0. `RTO_NONE` for a timer that is null or not
/// initialised.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_rto(timer: Option<&rto_timer>) -> u64 {
    read(timer, |estimator| nanos(estimator.rto()))
}

/// The smoothed round-trip time, to the nearest ns, or `RTO_NONE`: no sample yet, or cleared.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_srtt(timer: Option<&rto_timer>) -> u64 {
    read(timer, |estimator| nanos(estimator.srtt()))
}

/// The round-trip time variation, to the nearest ns, or `RTO_NONE`: no sample yet, or cleared.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_rttvar(timer: Option<&rto_timer>) -> u64 {
    read(timer, |estimator| nanos(estimator.rttvar()))
}

/// How often the RTO was doubled since the last sample.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_backoffs(timer: Option<&rto_timer>) -> u32 {
    memory::get(timer).map_or(0, |timer| timer.estimator().backoffs())
}

/// SRTT and RTTVAR, for `rto_timer_init` and `rto_timer_sample_after_spurious`.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_snapshot(timer: Option<&rto_timer>) -> rto_snapshot {
    rto_snapshot {
        srtt_ns: rto_timer_srtt(timer),
        rttvar_ns: rto_timer_rttvar(timer),
    }
}

/// When the timer would expire if nothing were ever acknowledged, counted from a send: the first
/// `count` instants. With the initial RTO of RFC 6298: 1, 3, 7, 15, 31, 63, 123, 183 s and so on.
///
/// # Safety
///
/// `after_ns` points to `count` numbers that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rto_timer_schedule(
    timer: Option<&rto_timer>,
    after_ns: *mut u64,
    count: usize,
) -> rto_status {
    let timer = match memory::get(timer) {
        Ok(timer) => timer,
        Err(status) => return status,
    };
    if after_ns.is_null() {
        return rto_status::NullPointer;
    }
    for (index, expiry) in (0..count).zip(timer.estimator().schedule()) {
        // SAFETY: The caller says that there is room for `count` of them.
        unsafe { after_ns.wrapping_add(index).write(nanos(expiry)) };
    }
    rto_status::Ok
}

/// The RTO, its reasons and the time left, in one line, cut to `size` bytes with the NUL at the end:
/// `RTO 2 s = 2 x 1 s initial, backed off once, expires in 2 s`. There is always room in
/// `RTO_TEXT_SIZE`. Of a timer that is null or not initialised, says that.
///
/// # Safety
///
/// `buffer` points to `size` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rto_timer_explain(
    timer: Option<&rto_timer>,
    now_ns: u64,
    buffer: *mut c_char,
    size: usize,
) -> rto_status {
    match memory::get(timer) {
        // SAFETY: The caller vouches for the buffer.
        Ok(timer) => unsafe { text::write(buffer, size, timer.explain(at(now_ns))) },
        // SAFETY: The same.
        Err(status) => unsafe { text::write(buffer, size, status) },
    }
    if buffer.is_null() {
        return rto_status::NullPointer;
    }
    memory::get(timer).map(|_| ()).into()
}

fn read(timer: Option<&rto_timer>, read: impl FnOnce(&Estimator) -> u64) -> u64 {
    memory::get(timer).map_or(RTO_NONE, |timer| read(timer.estimator()))
}
