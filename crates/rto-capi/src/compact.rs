//! The timer for firmware: 32 bits, a clock of microseconds that wraps.
#![allow(
    unsafe_code,
    reason = "exports functions, one of which fills a buffer, and vouches for opaque memory"
)]

use core::{ffi::c_char, mem::MaybeUninit};

use rto::compact::{Estimator, Expiry, Params, Progress, RetransmitTimer, Sample, elapsed};

use crate::{
    config,
    memory::{self, Opaque},
    rto_action, rto_config, rto_progress, rto_status,
    status::Refusal,
    text,
};

/// No time at all, in the compact timer's microseconds: no sample, not yet.
pub const RTO_COMPACT_NONE: u32 = u32::MAX;

/// Size of an `rto_compact_params` in words of 32 bits, some of them to grow into.
pub const RTO_COMPACT_PARAMS_WORDS: usize = 8;

/// Size of an `rto_compact_timer` in words of 32 bits.
pub const RTO_COMPACT_TIMER_WORDS: usize = 7;

/// Checked settings, 32 bytes of yours: one serves every compact timer. Hand every call of one timer
/// the same one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rto_compact_params {
    opaque: [MaybeUninit<u32>; RTO_COMPACT_PARAMS_WORDS],
}

/// The retransmission timer for firmware, 28 bytes of yours, one per connection: 32-bit arithmetic
/// without multiplications, on a free-running counter of microseconds that wraps every 71.6 minutes
/// and may start anywhere. Deadlines are instants of the same counter, fit for a compare register.
/// Rust's takes 24 bytes; the four more tell whether it was initialised.
///
/// The functions do what their namesakes of `rto_timer` do. The RTO is never earlier than exact and
/// less than 3 us later; its cap is below 35.8 minutes, and samples above 134 s count as that much.
/// There are no limits: give up when `backoffs` says so.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rto_compact_timer {
    opaque: [MaybeUninit<u32>; RTO_COMPACT_TIMER_WORDS],
}

// SAFETY: Any bytes are a valid `MaybeUninit`; `Default` and C give the first ones a value.
unsafe impl Opaque for rto_compact_params {
    type Value = Params;
    const MARK: u32 = 0x7274_6f33;
}

// SAFETY: The same.
unsafe impl Opaque for rto_compact_timer {
    type Value = RetransmitTimer;
    const MARK: u32 = 0x7274_6f34;
}

impl Default for rto_compact_params {
    /// Zeros: not initialised.
    fn default() -> Self {
        let opaque = [MaybeUninit::new(0); RTO_COMPACT_PARAMS_WORDS];
        Self { opaque }
    }
}

impl Default for rto_compact_timer {
    /// Zeros: not initialised.
    fn default() -> Self {
        let opaque = [MaybeUninit::new(0); RTO_COMPACT_TIMER_WORDS];
        Self { opaque }
    }
}

/// The compact timer has expired.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rto_compact_expiry {
    /// The RTO in force until now.
    pub rto_us: u32,
    /// The doubled RTO, with which the timer runs again.
    pub next_rto_us: u32,
    /// How often the RTO was doubled since the last sample, this time included; up to 65535.
    pub backoffs: u32,
}

/// Checks settings and makes them ready. What is no whole number of microseconds is rounded up. If
/// they are refused, `rto_compact_check` says why.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_params_init(
    params: Option<&mut rto_compact_params>,
    config: Option<&rto_config>,
) -> rto_status {
    let Some(params) = params else {
        return rto_status::NullPointer;
    };
    (memory::set(params, checked(config)).map_err(|refusal| refusal.status())).into()
}

/// What `rto_compact_params_init` says of a configuration, and in `message` the reason: the value and
/// the rule it breaks, cut to `size` bytes with the NUL at the end. There is always room in
/// `RTO_TEXT_SIZE`. A null `message` takes none.
///
/// # Safety
///
/// `message` is null or points to `size` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rto_compact_check(
    config: Option<&rto_config>,
    message: *mut c_char,
    size: usize,
) -> rto_status {
    // SAFETY: The caller vouches for the buffer.
    unsafe { text::tell(message, size, checked(config).map(|_| ())) }
}

/// Makes a stopped timer.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_init(
    timer: Option<&mut rto_compact_timer>,
    params: Option<&rto_compact_params>,
) -> rto_status {
    let Some(timer) = timer else {
        return rto_status::NullPointer;
    };
    let made = memory::get(params).map(|params| RetransmitTimer::new(Estimator::new(params)));
    memory::set(timer, made).into()
}

/// A segment left, new or repeated, for whatever reason. Starts a stopped timer and leaves a running
/// one alone.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_sent(
    timer: Option<&mut rto_compact_timer>,
    now_us: u32,
) -> rto_status {
    memory::get_mut(timer)
        .map(|timer| timer.handle_sent(now_us))
        .into()
}

/// A SYN, or whatever opens the connection, was sent.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_handshake_sent(
    timer: Option<&mut rto_compact_timer>,
    now_us: u32,
) -> rto_status {
    memory::get_mut(timer)
        .map(|timer| timer.handle_handshake_sent(now_us))
        .into()
}

/// Data transmission begins; call this before telling of the first data sent.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_data_phase(
    timer: Option<&mut rto_compact_timer>,
    params: Option<&rto_compact_params>,
) -> rto_status {
    both(timer, params)
        .map(|(timer, params)| timer.handle_data_phase(params))
        .into()
}

/// An ACK arrived: `progress` is an `rto_progress`, `rtt_us` the round trip that it gives, from
/// `rto_compact_elapsed`, or `RTO_COMPACT_NONE`.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_acked(
    timer: Option<&mut rto_compact_timer>,
    params: Option<&rto_compact_params>,
    now_us: u32,
    progress: u32,
    rtt_us: u32,
) -> rto_status {
    let progress = match rto_progress::of(progress) {
        Some(rto_progress::None) => Progress::None,
        Some(rto_progress::Some) => Progress::Some,
        Some(rto_progress::All) => Progress::All,
        None => return rto_status::Progress,
    };
    acked(timer, params, now_us, progress, rtt_us)
}

/// As `rto_compact_acked` with `RTO_PROGRESS_SOME`, but the timer counts from `sent_at_us`, when the
/// earliest segment outstanding was last sent: an RTO after it, or an RTO from now if that is over.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_acked_since(
    timer: Option<&mut rto_compact_timer>,
    params: Option<&rto_compact_params>,
    now_us: u32,
    sent_at_us: u32,
    rtt_us: u32,
) -> rto_status {
    acked(
        timer,
        params,
        now_us,
        Progress::SomeSince(sent_at_us),
        rtt_us,
    )
}

/// A round trip came by itself, as timestamps give one with every ACK. A running timer is not moved.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_sample(
    timer: Option<&mut rto_compact_timer>,
    params: Option<&rto_compact_params>,
    rtt_us: u32,
) -> rto_status {
    both(timer, params)
        .map(|(timer, params)| {
            if let Some(sample) = sample(rtt_us) {
                timer.handle_sample(params, sample);
            }
        })
        .into()
}

/// When the deadline has come, doubles the RTO, restarts the timer from now and asks you to
/// retransmit; `expiry` has the details and may be null. Before it, and while stopped, does nothing.
///
/// Call it within 35.8 minutes of the deadline: from then on, and for as long, the deadline is taken
/// for one to come.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_timeout(
    timer: Option<&mut rto_compact_timer>,
    params: Option<&rto_compact_params>,
    now_us: u32,
    expiry: Option<&mut MaybeUninit<rto_compact_expiry>>,
) -> rto_action {
    let Ok((timer, params)) = both(timer, params) else {
        return rto_action::Invalid;
    };
    let Some(Expiry {
        rto_us,
        next_rto_us,
        backoffs,
    }) = timer.handle_timeout(params, now_us)
    else {
        return rto_action::None;
    };
    if let Some(place) = expiry {
        place.write(rto_compact_expiry {
            rto_us,
            next_rto_us,
            backoffs: backoffs.into(),
        });
    }
    rto_action::Retransmit
}

/// Whether the timer runs; if so, `deadline_us` is when to call `rto_compact_timeout`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_poll_timeout(
    timer: Option<&rto_compact_timer>,
    deadline_us: Option<&mut MaybeUninit<u32>>,
) -> bool {
    let deadline = (memory::get(timer).ok()).and_then(RetransmitTimer::poll_timeout);
    if let (Some(deadline), Some(place)) = (deadline, deadline_us) {
        place.write(deadline);
    }
    deadline.is_some()
}

/// Stops the timer. The RTO and its back-off stay.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_stop(timer: Option<&mut rto_compact_timer>) -> rto_status {
    memory::get_mut(timer).map(RetransmitTimer::stop).into()
}

/// The retransmission timeout in force: never 0, below 2^31. `RTO_COMPACT_NONE` for a timer that is
/// null or not initialised.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_rto(timer: Option<&rto_compact_timer>) -> u32 {
    read(timer, |estimator| Some(estimator.rto_us()))
}

/// The smoothed round-trip time, to the nearest microsecond, or `RTO_COMPACT_NONE`.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_srtt(timer: Option<&rto_compact_timer>) -> u32 {
    read(timer, Estimator::srtt_us)
}

/// The round-trip time variation, to the nearest microsecond, or `RTO_COMPACT_NONE`.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_rttvar(timer: Option<&rto_compact_timer>) -> u32 {
    read(timer, Estimator::rttvar_us)
}

/// How often the RTO was doubled since the last sample, up to 65535.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_backoffs(timer: Option<&rto_compact_timer>) -> u32 {
    memory::get(timer).map_or(0, |timer| timer.estimator().backoffs().into())
}

/// The microseconds from `earlier_us` to `later_us`, two readings of the counter that wraps, or
/// `RTO_COMPACT_NONE` if `later_us` is the earlier one, that is, 2^31 or more ahead. So it gives a
/// round trip, and the time left until a deadline.
#[unsafe(no_mangle)]
pub extern "C" fn rto_compact_elapsed(earlier_us: u32, later_us: u32) -> u32 {
    elapsed(earlier_us, later_us).unwrap_or(RTO_COMPACT_NONE)
}

fn checked(config: Option<&rto_config>) -> Result<Params, Refusal> {
    Params::new(config::meant(config)?).map_err(Refusal::Compact)
}

fn sample(rtt_us: u32) -> Option<Sample> {
    (rtt_us != RTO_COMPACT_NONE).then_some(Sample::measured(rtt_us))
}

fn acked(
    timer: Option<&mut rto_compact_timer>,
    params: Option<&rto_compact_params>,
    now_us: u32,
    progress: Progress,
    rtt_us: u32,
) -> rto_status {
    both(timer, params)
        .map(|(timer, params)| {
            timer.handle_acked(params, now_us, progress, sample(rtt_us));
        })
        .into()
}

fn both<'a>(
    timer: Option<&'a mut rto_compact_timer>,
    params: Option<&'a rto_compact_params>,
) -> Result<(&'a mut RetransmitTimer, &'a Params), rto_status> {
    Ok((memory::get_mut(timer)?, memory::get(params)?))
}

fn read(timer: Option<&rto_compact_timer>, read: impl FnOnce(&Estimator) -> Option<u32>) -> u32 {
    let read = memory::get(timer).map_or(None, |timer| read(timer.estimator()));
    read.unwrap_or(RTO_COMPACT_NONE)
}
