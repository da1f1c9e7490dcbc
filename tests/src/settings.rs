//! The configuration of an RTO estimator as vectors state it, and as `rto` takes it.

use std::{num::NonZeroU32, time::Duration};

use rto::{Collapse, Config, Gain, PostSyn, VarianceFloor};
use serde::Deserialize;

/// A configuration in plain numbers; by default RFC 6298.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// RTO before the first sample.
    pub initial_rto_ns: u64,
    /// Floor of a computed RTO.
    pub min_rto_ns: u64,
    /// Cap of every RTO, if there is one.
    pub max_rto_ns: Option<u64>,
    /// G.
    pub granularity_ns: u64,
    /// Weight of a sample in SRTT: numerator, denominator.
    pub alpha: (u16, u16),
    /// Weight of a deviation in RTTVAR: numerator, denominator.
    pub beta: (u16, u16),
    /// K.
    pub k: u32,
    /// What larger samples count as.
    pub max_sample_ns: u64,
    /// At which back-off in a row the estimate is cleared.
    pub clear_after: Option<NonZeroU32>,
    /// What G is the least value of.
    pub variance_floor: FloorOf,
    /// What a lost handshake does to the RTO.
    pub post_syn: AfterHandshake,
    /// What ends a back-off.
    pub collapse: CollapseOn,
    /// When to stop trying.
    pub limits: Limits,
}

/// When to stop trying; by default never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// When to tell that the route may be stale.
    pub r1: Option<Threshold>,
    /// When to give up.
    pub r2: Option<Threshold>,
    /// When to give a handshake up.
    pub handshake_r2: Option<Threshold>,
    /// How long data may stay unacknowledged.
    pub user_timeout_ns: Option<u64>,
}

/// A limit by count or by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// So many retransmissions.
    Retransmissions(u32),
    /// So much time since the first transmission.
    AfterNs(u64),
}

/// What G is the least value of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloorOf {
    /// K x RTTVAR.
    Term,
    /// An RTTVAR of zero.
    ZeroRttvar,
}

/// What a handshake that timed out does to the RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterHandshake {
    /// At least 3 s.
    Raise,
    /// Exactly 3 s.
    Replace,
    /// Nothing.
    Keep,
}

/// What ends a back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollapseOn {
    /// A valid sample.
    OnSample,
    /// An ACK of new data as well.
    OnAnyAck,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            initial_rto_ns: 1_000_000_000,
            min_rto_ns: 1_000_000_000,
            max_rto_ns: Some(60_000_000_000),
            granularity_ns: 0,
            alpha: (1, 8),
            beta: (1, 4),
            k: 4,
            max_sample_ns: 3_600_000_000_000,
            clear_after: None,
            variance_floor: FloorOf::Term,
            post_syn: AfterHandshake::Raise,
            collapse: CollapseOn::OnSample,
            limits: Limits::default(),
        }
    }
}

impl Settings {
    /// The RFC's formula bare: a floor and a granularity of 1 ns, no cap.
    #[must_use]
    pub fn bare() -> Self {
        Self {
            min_rto_ns: 1,
            max_rto_ns: None,
            ..Self::default()
        }
    }
}

impl From<&Settings> for Config {
    fn from(settings: &Settings) -> Self {
        let gain = |(num, den)| Gain::new(num, den);
        Self {
            initial_rto: Duration::from_nanos(settings.initial_rto_ns),
            min_rto: Duration::from_nanos(settings.min_rto_ns),
            max_rto: (settings.max_rto_ns).map_or(Duration::MAX, Duration::from_nanos),
            granularity: Duration::from_nanos(settings.granularity_ns),
            alpha: gain(settings.alpha),
            beta: gain(settings.beta),
            k: settings.k,
            max_sample: Duration::from_nanos(settings.max_sample_ns),
            clear_after: settings.clear_after,
            variance_floor: match settings.variance_floor {
                FloorOf::Term => VarianceFloor::Term,
                FloorOf::ZeroRttvar => VarianceFloor::ZeroRttvar,
            },
            post_syn: match settings.post_syn {
                AfterHandshake::Raise => PostSyn::Raise,
                AfterHandshake::Replace => PostSyn::Replace,
                AfterHandshake::Keep => PostSyn::Keep,
            },
            collapse: match settings.collapse {
                CollapseOn::OnSample => Collapse::OnSample,
                CollapseOn::OnAnyAck => Collapse::OnAnyAck,
            },
        }
    }
}

impl From<Limits> for rto::Limits {
    fn from(limits: Limits) -> Self {
        let threshold = |limit: Option<Threshold>| match limit {
            None => rto::Threshold::Never,
            Some(Threshold::Retransmissions(count)) => rto::Threshold::Retransmissions(count),
            Some(Threshold::AfterNs(ns)) => rto::Threshold::After(Duration::from_nanos(ns)),
        };
        Self {
            r1: threshold(limits.r1),
            r2: threshold(limits.r2),
            handshake_r2: threshold(limits.handshake_r2),
            user_timeout: limits.user_timeout_ns.map(Duration::from_nanos),
        }
    }
}
