//! When to stop trying, as plain structs.
#![allow(unsafe_code, reason = "exports functions; no block of it is unsafe")]

use core::{ffi::c_char, time::Duration};

use rto::{Estimator, Limits, Threshold};

use crate::{
    config, rto_config, rto_status,
    status::{BadNumber, Refusal},
    text,
    time::{duration, nanos},
};

/// When a connection that gets no answer is reported and when it is given up. The time counts from
/// the first transmission of the data that is still unacknowledged.
///
/// Begin with `rto_limits_none()` or `rto_limits_rfc9293()` and change what differs. What a choice
/// means can be seen before it is made: `rto_timer_schedule`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rto_limits {
    /// R1: the expiry that reaches it says so, once: the route may be stale. Of `n`
    /// retransmissions, that is the expiry that makes the `n`-th.
    pub r1: rto_threshold,
    /// R2 for data: the expiry at which the connection is given up. Of `n` retransmissions,
    /// all `n` are sent, and the expiry after them gives up.
    pub r2: rto_threshold,
    /// R2 for a handshake, counted as `r2` is.
    pub handshake_r2: rto_threshold,
    /// How long data may stay unacknowledged at most, `RTO_NONE` for ever. No deadline lies beyond
    /// it, and the RTO does not change.
    pub user_timeout_ns: u64,
}

/// How much is too much, by count or by time.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rto_threshold {
    /// An `rto_threshold_kind`: which of the two counts.
    pub kind: u32,
    /// So many retransmissions of the same data.
    pub retransmissions: u32,
    /// So much time since its first transmission.
    pub after_ns: u64,
}

/// What a threshold counts.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rto_threshold_kind {
    /// Nothing: it is never reached.
    Never = 0,
    /// `retransmissions`.
    Retransmissions = 1,
    /// `after_ns`.
    After = 2,
}

/// Never gives up.
#[unsafe(no_mangle)]
pub extern "C" fn rto_limits_none() -> rto_limits {
    preset(&Limits::NONE)
}

/// The least that RFC 9293 asks for: R1 at 3 retransmissions, R2 at 100 s, 3 min for a handshake.
#[unsafe(no_mangle)]
pub extern "C" fn rto_limits_rfc9293() -> rto_limits {
    preset(&Limits::RFC9293)
}

/// What `rto_timer_init` says of a configuration and limits (null for none), and in `message` the
/// reason: the value and the rule it breaks, cut to `size` bytes with the NUL at the end. There is
/// always room in `RTO_TEXT_SIZE`. A null `message` takes none.
///
/// # Safety
///
/// `message` is null or points to `size` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rto_config_check(
    config: Option<&rto_config>,
    limits: Option<&rto_limits>,
    message: *mut c_char,
    size: usize,
) -> rto_status {
    let checked = checked(config, limits).map(|_| ());
    // SAFETY: The caller vouches for the buffer.
    unsafe { text::tell(message, size, checked) }
}

/// The settings that a timer is made of.
pub(crate) fn checked(
    config: Option<&rto_config>,
    limits: Option<&rto_limits>,
) -> Result<(Estimator, Limits), Refusal> {
    let estimator = Estimator::new(config::meant(config)?).map_err(Refusal::Config)?;
    let limits = limits.map_or(Ok(Limits::NONE), meant)?;
    Ok((estimator, limits))
}

fn preset(limits: &Limits) -> rto_limits {
    let Limits {
        r1,
        r2,
        handshake_r2,
        user_timeout,
    } = *limits;
    let threshold = |threshold| {
        let (kind, retransmissions, after_ns) = match threshold {
            Threshold::Never => (rto_threshold_kind::Never, 0, 0),
            Threshold::Retransmissions(most) => (rto_threshold_kind::Retransmissions, most, 0),
            Threshold::After(most) => (rto_threshold_kind::After, 0, nanos(most)),
        };
        rto_threshold {
            kind: kind as u32,
            retransmissions,
            after_ns,
        }
    };
    rto_limits {
        r1: threshold(r1),
        r2: threshold(r2),
        handshake_r2: threshold(handshake_r2),
        user_timeout_ns: nanos(user_timeout),
    }
}

/// A user timeout of 0 gives everything up at once: a struct of zeros rather than a wish.
fn meant(limits: &rto_limits) -> Result<Limits, Refusal> {
    if limits.user_timeout_ns == 0 {
        return Err(Refusal::UserTimeout);
    }
    Ok(Limits {
        r1: threshold("r1.kind", limits.r1)?,
        r2: threshold("r2.kind", limits.r2)?,
        handshake_r2: threshold("handshake_r2.kind", limits.handshake_r2)?,
        user_timeout: duration(limits.user_timeout_ns),
    })
}

fn threshold(field: &'static str, threshold: rto_threshold) -> Result<Threshold, Refusal> {
    const NEVER: u32 = rto_threshold_kind::Never as u32;
    const RETRANSMISSIONS: u32 = rto_threshold_kind::Retransmissions as u32;
    const AFTER: u32 = rto_threshold_kind::After as u32;
    match threshold.kind {
        NEVER => Ok(Threshold::Never),
        RETRANSMISSIONS => Ok(Threshold::Retransmissions(threshold.retransmissions)),
        AFTER => Ok(Threshold::After(Duration::from_nanos(threshold.after_ns))),
        number => Err(Refusal::Number(BadNumber {
            status: rto_status::ThresholdKind,
            field,
            number,
            kind: "rto_threshold_kind (T7, T8)",
        })),
    }
}
