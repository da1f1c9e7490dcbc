//! The retransmission timer.
#![allow(
    unsafe_code,
    reason = "exports functions, and vouches for opaque memory"
)]

mod reading;

pub use reading::*;

use core::{mem::MaybeUninit, num::NonZeroU16, time::Duration};

use rto::{Limit, Progress, RetransmitTimer, Sample, Snapshot, Timeout};

use crate::{
    limits,
    memory::{self, Opaque},
    rto_config, rto_limits, rto_status,
    time::{duration, nanos},
};

/// Size of an `rto_timer` in words of 64 bits, some of them to grow into.
pub const RTO_TIMER_WORDS: usize = 32;

/// The retransmission timer of one connection, estimator included: 256 bytes of yours. It knows
/// times, not data: what was sent stays with you.
///
/// Copy and move it as you like. Different timers can be used by different threads; one timer, by
/// one at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rto_timer {
    opaque: [MaybeUninit<u64>; RTO_TIMER_WORDS],
}

// SAFETY: Any bytes are a valid `MaybeUninit`; `Default` and C give the first ones a value.
unsafe impl Opaque for rto_timer {
    type Value = RetransmitTimer;
    const MARK: u32 = 0x7274_6f31;
}

impl Default for rto_timer {
    /// Zeros: not initialised.
    fn default() -> Self {
        let opaque = [MaybeUninit::new(0); RTO_TIMER_WORDS];
        Self { opaque }
    }
}

/// What an ACK tells about the data outstanding.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rto_progress {
    /// It covers no new data: a duplicate, a window update. The timer is not moved.
    None = 0,
    /// It covers new data and more is outstanding: the timer restarts.
    Some = 1,
    /// It covers new data and nothing is left outstanding: the timer stops.
    All = 2,
}

impl rto_progress {
    pub(crate) const fn of(number: u32) -> Option<Self> {
        const NONE: u32 = rto_progress::None as u32;
        const SOME: u32 = rto_progress::Some as u32;
        const ALL: u32 = rto_progress::All as u32;
        match number {
            NONE => Some(Self::None),
            SOME => Some(Self::Some),
            ALL => Some(Self::All),
            _ => None,
        }
    }
}

/// What to do now.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rto_action {
    /// Nothing: the deadline lies ahead, or the timer is stopped.
    None = 0,
    /// Retransmit the earliest unacknowledged segment; the timer runs again.
    Retransmit = 1,
    /// Close the connection: a limit was reached; the timer is stopped.
    GiveUp = 2,
    /// None of these: the timer is null or not initialised.
    Invalid = 3,
}

/// The limit at which a connection was given up.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rto_limit {
    /// It was not given up.
    None = 0,
    /// `r2` or `handshake_r2`.
    R2 = 1,
    /// `user_timeout_ns`.
    UserTimeout = 2,
}

/// The deadline has come. What does not belong to the action is 0.
///
/// If the earliest segment was retransmitted lately for another reason (later ones were
/// acknowledged), take the earliest one whose last transmission is at least `rto_ns` ago: none may
/// go out sooner.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rto_timeout {
    /// Retransmit: the RTO in force until now: the one that ran out, unless a sample changed it
    /// while the timer ran.
    pub rto_ns: u64,
    /// Retransmit: the doubled RTO, with which the timer runs again.
    pub next_rto_ns: u64,
    /// Give up: how long the data had been waiting.
    pub elapsed_ns: u64,
    /// Retransmit: how often the RTO was doubled since the last sample, this time included.
    pub backoffs: u32,
    /// Give up: how often the data was retransmitted in vain.
    pub retransmissions: u32,
    /// Give up: at which limit.
    pub limit: rto_limit,
    /// Retransmit: whether R1 was reached now, so that the route may be stale.
    pub r1: bool,
}

/// Makes a stopped timer. `limits` may be null: it never gives up. `cached` may be null; otherwise
/// the estimate starts from it, as RFC 9040 lets a new connection start from what an earlier one
/// learned.
///
/// If the settings are refused, `rto_config_check` says why, and the timer is as if never
/// initialised.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_init(
    timer: Option<&mut rto_timer>,
    config: Option<&rto_config>,
    limits: Option<&rto_limits>,
    cached: Option<&rto_snapshot>,
) -> rto_status {
    let Some(timer) = timer else {
        return rto_status::NullPointer;
    };
    let made = limits::checked(config, limits).map(|(mut estimator, limits)| {
        if let Some(cached) = cached.and_then(known) {
            estimator.seed(cached);
        }
        RetransmitTimer::new(estimator).with_limits(limits)
    });
    (memory::set(timer, made).map_err(|refusal| refusal.status())).into()
}

/// A segment left, new or repeated, or would have left if the socket had taken it. Starts a stopped
/// timer and leaves a running one alone.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_sent(timer: Option<&mut rto_timer>, now_ns: u64) -> rto_status {
    change(timer, |timer| timer.handle_sent(at(now_ns)))
}

/// A SYN, or whatever opens the connection, was sent: as `rto_timer_sent`, and its expiry will count
/// as one of the handshake.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_handshake_sent(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
) -> rto_status {
    change(timer, |timer| timer.handle_handshake_sent(at(now_ns)))
}

/// Data transmission begins: if the handshake timed out and no valid sample has come since, the RTO
/// is raised to 3 s. A running timer is not moved, so call this before telling of the first data
/// sent.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_data_phase(timer: Option<&mut rto_timer>, now_ns: u64) -> rto_status {
    change(timer, |timer| timer.handle_data_phase(at(now_ns)))
}

/// An ACK arrived: `progress` is an `rto_progress`, `rtt_ns` the round trip that it gives, or
/// `RTO_NONE`. Only unambiguous ones may be given (Karn): of a packet number that is never reused or
/// an echoed timestamp, see `rto_rtt`, or from an `rto_sampler`.
///
/// The RTO is recomputed before the timer restarts with it; without a sample it stays backed off.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_acked(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
    progress: u32,
    rtt_ns: u64,
) -> rto_status {
    let progress = match rto_progress::of(progress) {
        Some(rto_progress::None) => Progress::None,
        Some(rto_progress::Some) => Progress::Some,
        Some(rto_progress::All) => Progress::All,
        None => return rto_status::Progress,
    };
    change(timer, |timer| {
        timer.handle_acked(at(now_ns), progress, sample(rtt_ns));
    })
}

/// As `rto_timer_acked` with `RTO_PROGRESS_SOME`, but the timer counts from `sent_at_ns`, when the
/// earliest segment outstanding was last sent: an RTO after it, or an RTO from now if that is over.
/// RFC 7765 asks for this where fewer than four segments are outstanding or waiting.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_acked_since(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
    sent_at_ns: u64,
    rtt_ns: u64,
) -> rto_status {
    let progress = Progress::SomeSince(at(sent_at_ns));
    change(timer, |timer| {
        timer.handle_acked(at(now_ns), progress, sample(rtt_ns));
    })
}

/// A round trip came by itself, as timestamps give one with every ACK. A running timer is not moved.
/// `expected` is how many samples a round trip brings: 1, or `rto_expected_samples` where every ACK
/// brings one. `RTO_NONE` is no sample and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_sample(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
    rtt_ns: u64,
    expected: u32,
) -> rto_status {
    let expected = u16::try_from(expected).ok().and_then(NonZeroU16::new);
    let Some(expected) = expected else {
        return rto_status::Expected;
    };
    change(timer, |timer| {
        if let Some(sample) = sample(rtt_ns) {
            timer.handle_sample(at(now_ns), sample.one_of(expected));
        }
    })
}

/// A segment was retransmitted because later ones were acknowledged; in place of `rto_timer_sent`.
/// That is no timeout, so nothing doubles; only a stopped timer starts.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_fast_retransmit(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
) -> rto_status {
    change(timer, |timer| timer.handle_fast_retransmit(at(now_ns)))
}

/// The segment that a timeout asked for left, later than it was asked for: the timer counts from
/// now. There is no need to tell of one that left at once.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_retransmitted(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
) -> rto_status {
    change(timer, |timer| timer.handle_retransmitted(at(now_ns)))
}

/// An ICMP message tells that the last retransmission, sent at `sent_at_ns`, met a broken path: one
/// back-off is undone, and a running timer counts the shorter RTO from `sent_at_ns` (RFC 6069). It
/// may be due at once.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_unreachable(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
    sent_at_ns: u64,
) -> rto_status {
    change(timer, |timer| {
        timer.handle_unreachable(at(now_ns), at(sent_at_ns));
    })
}

/// The timeouts since the last sample proved spurious: the first ACK of new data after them echoes a
/// timestamp from before the retransmission (RFC 3522). Every back-off is undone, and a running timer
/// counts from now. The next sample of new data goes to `rto_timer_sample_after_spurious`.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_spurious_timeout(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
) -> rto_status {
    change(timer, |timer| timer.handle_spurious_timeout(at(now_ns)))
}

/// The first sample of data sent after a timeout that proved spurious; `before` is the
/// `rto_timer_snapshot` from before that timeout (RFC 4015). Restarts a running timer. A `before`
/// without a sample makes this an ordinary `rto_timer_sample`.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_sample_after_spurious(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
    before: rto_snapshot,
    rtt_ns: u64,
) -> rto_status {
    change(timer, |timer| {
        let now = at(now_ns);
        match (sample(rtt_ns), known(&before)) {
            (None, _) => {}
            (Some(sample), None) => _ = timer.handle_sample(now, sample),
            (Some(sample), Some(before)) => {
                timer.handle_sample_after_spurious(now, before, sample);
            }
        }
    })
}

/// When the deadline has come, doubles the RTO, restarts the timer from now and asks you to
/// retransmit, or to give up if a limit is reached; `timeout` has the details and may be null.
/// Before the deadline, and while stopped, does nothing and leaves `timeout` alone: a call too early
/// is harmless. A late call is one expiry.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_timeout(
    timer: Option<&mut rto_timer>,
    now_ns: u64,
    timeout: Option<&mut MaybeUninit<rto_timeout>>,
) -> rto_action {
    let Ok(timer) = memory::get_mut(timer) else {
        return rto_action::Invalid;
    };
    let Some(happened) = timer.handle_timeout(at(now_ns)) else {
        return rto_action::None;
    };
    if let Some(place) = timeout {
        place.write(details(&happened));
    }
    match happened {
        Timeout::Retransmit(_) => rto_action::Retransmit,
        Timeout::GiveUp(_) => rto_action::GiveUp,
    }
}

/// Stops the timer, as when the connection is over; a later send or ACK of part of the data starts it
/// again. The RTO and its back-off stay, and so does what the limits count.
#[unsafe(no_mangle)]
pub extern "C" fn rto_timer_stop(timer: Option<&mut rto_timer>, now_ns: u64) -> rto_status {
    change(timer, |timer| timer.stop(at(now_ns)))
}

fn at(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

fn sample(rtt_ns: u64) -> Option<Sample> {
    duration(rtt_ns).map(Sample::measured)
}

fn known(snapshot: &rto_snapshot) -> Option<Snapshot> {
    Some(Snapshot {
        srtt: duration(snapshot.srtt_ns)?,
        rttvar: duration(snapshot.rttvar_ns)?,
    })
}

fn details(timeout: &Timeout) -> rto_timeout {
    let nothing = rto_timeout {
        rto_ns: 0,
        next_rto_ns: 0,
        elapsed_ns: 0,
        backoffs: 0,
        retransmissions: 0,
        limit: rto_limit::None,
        r1: false,
    };
    match timeout {
        Timeout::Retransmit(expiry) => rto_timeout {
            rto_ns: nanos(expiry.rto),
            next_rto_ns: nanos(expiry.next_rto),
            backoffs: expiry.backoffs,
            r1: expiry.r1,
            ..nothing
        },
        Timeout::GiveUp(give_up) => rto_timeout {
            elapsed_ns: nanos(give_up.elapsed),
            retransmissions: give_up.retransmissions,
            limit: match give_up.limit {
                Limit::R2 => rto_limit::R2,
                Limit::UserTimeout => rto_limit::UserTimeout,
            },
            ..nothing
        },
    }
}

fn change(timer: Option<&mut rto_timer>, change: impl FnOnce(&mut RetransmitTimer)) -> rto_status {
    memory::get_mut(timer).map(change).into()
}
