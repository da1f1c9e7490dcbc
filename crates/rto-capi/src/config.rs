//! Settings as a plain struct.
#![allow(unsafe_code, reason = "exports functions; no block of it is unsafe")]

use core::{num::NonZeroU32, time::Duration};

use rto::{Collapse, Config, Gain, PostSyn, VarianceFloor};

use crate::{
    rto_status,
    status::{BadNumber, Refusal},
    time::{duration, nanos},
};

/// The parameters of the estimator and the timer. Begin with a preset, such as
/// `rto_config_rfc6298()`, and change what differs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rto_config {
    /// RTO before the first sample, from `min_rto_ns` to `max_rto_ns`. RFC 6298: 1 s.
    pub initial_rto_ns: u64,
    /// Floor of every computed RTO, 0 for none. RFC 6298: 1 s.
    pub min_rto_ns: u64,
    /// Cap of every RTO, `RTO_NONE` for none. RFC 6298: 60 s.
    pub max_rto_ns: u64,
    /// Tick of the clock that measures round trips, G: the least variance term; at most 2^50.
    /// RFC 6298: 0, since a clock in nanoseconds is finer than any round trip.
    pub granularity_ns: u64,
    /// Larger samples count as this much, 1 to 2^50. RFC 6298: 1 h.
    pub max_sample_ns: u64,
    /// Weight of a sample in SRTT, in (0, 1]. RFC 6298: 1/8.
    pub alpha: rto_gain,
    /// Weight of a deviation in RTTVAR, in (0, 1]. RFC 6298: 1/4.
    pub beta: rto_gain,
    /// How many RTTVAR the RTO lies above SRTT, 1 to 32. RFC 6298: 4.
    pub k: u32,
    /// After how many consecutive back-offs SRTT and RTTVAR are cleared, 0 for never.
    /// RFC 6298: 0.
    pub clear_after: u32,
    /// An `rto_variance_floor`: what G is the least value of. RFC 6298: the term.
    pub variance_floor: u32,
    /// An `rto_post_syn`: what a handshake that timed out does to the data phase. RFC 6298: raise.
    pub post_syn: u32,
    /// An `rto_collapse`: what ends a back-off. RFC 6298: a sample.
    pub collapse: u32,
}

/// An exact ratio, such as 1/8.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rto_gain {
    /// Numerator.
    pub num: u16,
    /// Denominator.
    pub den: u16,
}

/// Where the granularity G takes the place of a variance that is too small.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rto_variance_floor {
    /// k x RTTVAR is at least G, as RFC 6298 has it.
    Term = 0,
    /// An RTTVAR that computes to zero becomes G, as RFC 9260 has it.
    ZeroRttvar = 1,
}

/// What a handshake that timed out does to the RTO when data transmission begins.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rto_post_syn {
    /// The RTO becomes 3 s unless it is larger already.
    Raise = 0,
    /// The RTO becomes exactly 3 s, within floor and cap.
    Replace = 1,
    /// The RTO stays as it is: for protocols without this rule.
    Keep = 2,
}

/// What ends a back-off.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rto_collapse {
    /// Only a valid sample, as RFC 6298 has it.
    OnSample = 0,
    /// Any ACK of new data, as RFC 9002 has it.
    OnAnyAck = 1,
}

/// RFC 6298 to the letter, for round trips up to 1 h.
#[unsafe(no_mangle)]
pub extern "C" fn rto_config_rfc6298() -> rto_config {
    preset(&Config::RFC6298)
}

/// RFC 2988, which RFC 6298 replaced: the initial RTO is 3 s.
#[unsafe(no_mangle)]
pub extern "C" fn rto_config_rfc2988() -> rto_config {
    preset(&Config::RFC2988)
}

/// RFC 9002 (QUIC): 999 ms at first, no floor, no cap, G = 1 ms, and any ACK ends a back-off: the
/// probe timeout without `max_ack_delay` and packet number spaces.
#[unsafe(no_mangle)]
pub extern "C" fn rto_config_rfc9002() -> rto_config {
    preset(&Config::RFC9002)
}

/// RFC 9260 (SCTP): an RTTVAR that computes to zero becomes G, here 1 ms.
#[unsafe(no_mangle)]
pub extern "C" fn rto_config_rfc9260() -> rto_config {
    preset(&Config::RFC9260)
}

/// Games and local networks: the floor is 200 ms.
#[unsafe(no_mangle)]
pub extern "C" fn rto_config_games() -> rto_config {
    preset(&Config::GAMES)
}

/// Every field by its name: one that is new must be thought of here.
fn preset(config: &Config) -> rto_config {
    let Config {
        initial_rto,
        min_rto,
        max_rto,
        granularity,
        alpha,
        beta,
        k,
        max_sample,
        clear_after,
        variance_floor,
        post_syn,
        collapse,
    } = *config;
    let gain = |Gain { num, den }| rto_gain { num, den };
    let variance_floor = match variance_floor {
        VarianceFloor::Term => rto_variance_floor::Term,
        VarianceFloor::ZeroRttvar => rto_variance_floor::ZeroRttvar,
    };
    let post_syn = match post_syn {
        PostSyn::Raise => rto_post_syn::Raise,
        PostSyn::Replace => rto_post_syn::Replace,
        PostSyn::Keep => rto_post_syn::Keep,
    };
    let collapse = match collapse {
        Collapse::OnSample => rto_collapse::OnSample,
        Collapse::OnAnyAck => rto_collapse::OnAnyAck,
    };
    rto_config {
        initial_rto_ns: nanos(initial_rto),
        min_rto_ns: nanos(min_rto),
        max_rto_ns: nanos(max_rto),
        granularity_ns: nanos(granularity),
        max_sample_ns: nanos(max_sample),
        alpha: gain(alpha),
        beta: gain(beta),
        k,
        clear_after: clear_after.map_or(0, NonZeroU32::get),
        variance_floor: variance_floor as u32,
        post_syn: post_syn as u32,
        collapse: collapse as u32,
    }
}

/// What a pointer to settings stands for; whether the values are legal is for `rto` to say.
pub(crate) fn meant(config: Option<&rto_config>) -> Result<Config, Refusal> {
    let config = config.ok_or(Refusal::Null)?;
    let time = |ns| duration(ns).unwrap_or(Duration::MAX);
    let gain = |gain: rto_gain| Gain::new(gain.num, gain.den);
    Ok(Config {
        initial_rto: time(config.initial_rto_ns),
        min_rto: time(config.min_rto_ns),
        max_rto: time(config.max_rto_ns),
        granularity: time(config.granularity_ns),
        alpha: gain(config.alpha),
        beta: gain(config.beta),
        k: config.k,
        max_sample: time(config.max_sample_ns),
        clear_after: NonZeroU32::new(config.clear_after),
        variance_floor: variance_floor(config.variance_floor)?,
        post_syn: post_syn(config.post_syn)?,
        collapse: collapse(config.collapse)?,
    })
}

fn variance_floor(number: u32) -> Result<VarianceFloor, Refusal> {
    const TERM: u32 = rto_variance_floor::Term as u32;
    const ZERO_RTTVAR: u32 = rto_variance_floor::ZeroRttvar as u32;
    match number {
        TERM => Ok(VarianceFloor::Term),
        ZERO_RTTVAR => Ok(VarianceFloor::ZeroRttvar),
        _ => Err(Refusal::Number(BadNumber {
            status: rto_status::VarianceFloor,
            field: "variance_floor",
            number,
            kind: "rto_variance_floor (4-2)",
        })),
    }
}

fn post_syn(number: u32) -> Result<PostSyn, Refusal> {
    const RAISE: u32 = rto_post_syn::Raise as u32;
    const REPLACE: u32 = rto_post_syn::Replace as u32;
    const KEEP: u32 = rto_post_syn::Keep as u32;
    match number {
        RAISE => Ok(PostSyn::Raise),
        REPLACE => Ok(PostSyn::Replace),
        KEEP => Ok(PostSyn::Keep),
        _ => Err(Refusal::Number(BadNumber {
            status: rto_status::PostSyn,
            field: "post_syn",
            number,
            kind: "rto_post_syn (5.7-1)",
        })),
    }
}

fn collapse(number: u32) -> Result<Collapse, Refusal> {
    const ON_SAMPLE: u32 = rto_collapse::OnSample as u32;
    const ON_ANY_ACK: u32 = rto_collapse::OnAnyAck as u32;
    match number {
        ON_SAMPLE => Ok(Collapse::OnSample),
        ON_ANY_ACK => Ok(Collapse::OnAnyAck),
        _ => Err(Refusal::Number(BadNumber {
            status: rto_status::Collapse,
            field: "collapse",
            number,
            kind: "rto_collapse (5-N1)",
        })),
    }
}
