//! What may be set, what is refused, and what a setting breaks.

use core::{fmt, num::NonZeroU32, time::Duration};

use crate::{
    clock::nanos,
    fixed::{Weight, from_nanos},
};

/// The parameters of the estimator and the timer.
///
/// [`Estimator::new`](crate::Estimator::new) checks them; [`deviations`](Self::deviations)
/// names the rules that a legal setting breaks.
///
/// ```
/// use {core::time::Duration, rto::*};
/// let lan = Config { min_rto: Duration::from_millis(200), ..Config::RFC6298 };
/// let broken: Vec<_> = lan.deviations().map(|deviation| deviation.rule()).collect();
/// assert_eq!(broken, ["2.4-1"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// RTO before the first sample; within `min_rto..=max_rto`. Default 1 s (2.1-1).
    pub initial_rto: Duration,
    /// Floor of every computed RTO; zero for none. Default 1 s (2.4-1).
    pub min_rto: Duration,
    /// Cap of every RTO, [`Duration::MAX`] for none. Default 60 s (2.5-1).
    pub max_rto: Duration,
    /// Tick of the clock that measures round trips, G: the least variance term. At most
    /// [`LIMIT`](Self::LIMIT). Default 0, since [`Duration`] is finer than any round trip
    /// (4-1), (4-2).
    pub granularity: Duration,
    /// Weight of a sample in SRTT, in (0, 1]. Default 1/8 (2.3-3).
    pub alpha: Gain,
    /// Weight of a deviation in RTTVAR, in (0, 1]. Default 1/4 (2.3-3).
    pub beta: Gain,
    /// How many RTTVAR the RTO lies above SRTT, K, 1 to 32. Default 4 (2.2-1).
    pub k: u32,
    /// Larger samples count as this much; positive, at most [`LIMIT`](Self::LIMIT).
    /// Default 1 h: far above any RTO cap in use, and forgotten after 80 good samples (D13).
    pub max_sample: Duration,
    /// After how many consecutive back-offs SRTT and RTTVAR are cleared, if ever.
    /// Default never (5-N2).
    pub clear_after: Option<NonZeroU32>,
    /// What G is the least value of. Default `Term` (4-2).
    pub variance_floor: VarianceFloor,
    /// What a handshake that timed out does to the data phase. Default `Raise` (5.7-1).
    pub post_syn: PostSyn,
    /// What ends a back-off. Default `OnSample` (5-N1).
    pub collapse: Collapse,
}

/// An exact ratio, such as 1/8; [`Estimator::new`](crate::Estimator::new) checks that it
/// lies in (0, 1].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    /// Numerator.
    pub num: u16,
    /// Denominator.
    pub den: u16,
}

/// Where the granularity G takes the place of a variance that is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarianceFloor {
    /// K x RTTVAR is at least G, as RFC 6298 has it (4-2).
    Term,
    /// An RTTVAR that computes to zero, within the error bound, becomes G, as RFC 9260 has it
    /// (P21). With a G above zero this breaks (4-2).
    ZeroRttvar,
}

/// What a handshake that timed out does to the RTO when data transmission begins (5.7-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostSyn {
    /// The RTO becomes 3 s unless it is larger already: never shortens a running
    /// back-off (D1).
    Raise,
    /// The RTO becomes exactly 3 s, within floor and cap.
    Replace,
    /// The RTO stays as it is: for protocols without this rule. Breaks (5.7-1).
    Keep,
}

/// What ends a back-off (D16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collapse {
    /// Only a valid sample, as RFC 6298 has it (5-N1).
    OnSample,
    /// Any ACK of new data, as RFC 9002 section 6.2.1 has it; but only a sample once the estimate
    /// was cleared (D9).
    OnAnyAck,
}

impl Config {
    /// RFC 6298 to the letter, for round trips up to 1 h: breaks none of its rules.
    pub const RFC6298: Self = Self {
        initial_rto: Duration::from_secs(1),
        min_rto: Duration::from_secs(1),
        max_rto: Duration::from_secs(60),
        granularity: Duration::ZERO,
        alpha: Gain::new(1, 8),
        beta: Gain::new(1, 4),
        k: 4,
        max_sample: Duration::from_secs(3600),
        clear_after: None,
        variance_floor: VarianceFloor::Term,
        post_syn: PostSyn::Raise,
        collapse: Collapse::OnSample,
    };

    /// Largest `max_sample` and `granularity`: 2^50 ns, about 13 days, so that no sum can
    /// overflow.
    pub const LIMIT: Duration = Duration::from_nanos(1 << 50);

    /// Largest [`k`](Self::k), for the same reason.
    pub const MAX_K: u32 = 32;
}

impl Default for Config {
    /// [`Config::RFC6298`].
    fn default() -> Self {
        Self::RFC6298
    }
}

impl Gain {
    /// `num / den`, unchecked.
    #[must_use]
    pub const fn new(num: u16, den: u16) -> Self {
        Self { num, den }
    }

    /// Whether both are the same number.
    pub(crate) fn equals(self, other: Self) -> bool {
        let cross = |a: Self, b: Self| u32::from(a.num).saturating_mul(u32::from(b.den));
        cross(self, other) == cross(other, self)
    }

    const fn weight(self) -> Option<Weight> {
        if self.num == 0 || self.num > self.den {
            return None;
        }
        Some(Weight::new(self.num, self.den))
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

/// Why a [`Config`] is refused; each variant carries the offending values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The floor is above the cap.
    MinAboveMax {
        /// [`Config::min_rto`].
        min: Duration,
        /// [`Config::max_rto`].
        max: Duration,
    },
    /// The initial RTO is zero, or not between floor and cap.
    InitialOutOfBounds {
        /// [`Config::initial_rto`].
        initial: Duration,
        /// [`Config::min_rto`].
        min: Duration,
        /// [`Config::max_rto`].
        max: Duration,
    },
    /// Floor and granularity are both zero: an RTO could be zero (D11).
    NoFloor,
    /// The granularity is above the cap or above [`Config::LIMIT`].
    Granularity(Duration),
    /// alpha is not in (0, 1].
    Alpha(Gain),
    /// beta is not in (0, 1].
    Beta(Gain),
    /// K is not in 1 to 32.
    K(u32),
    /// The largest sample is zero or above [`Config::LIMIT`].
    MaxSample(Duration),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinAboveMax { min, max } => {
                write!(f, "min_rto {min:?} is above max_rto {max:?} (2.4-1, 2.5-1)")
            }
            Self::InitialOutOfBounds { initial, min, max } => write!(
                f,
                "initial_rto {initial:?} must be positive and within {min:?} to {max:?} (2.1-1)"
            ),
            Self::NoFloor => {
                f.write_str("min_rto and granularity are both 0: one must be positive (D11)")
            }
            Self::Granularity(value) => write!(
                f,
                "granularity {value:?} is above max_rto or above {:?} (4-1)",
                Config::LIMIT
            ),
            Self::Alpha(gain) => write!(f, "alpha {gain} is not in (0, 1] (2.3-3)"),
            Self::Beta(gain) => write!(f, "beta {gain} is not in (0, 1] (2.3-3)"),
            Self::K(k) => write!(f, "k {k} is not in 1 to {} (2.2-1)", Config::MAX_K),
            Self::MaxSample(value) => write!(
                f,
                "max_sample {value:?} is not in 1 ns to {:?} (D13)",
                Config::LIMIT
            ),
        }
    }
}

impl core::error::Error for ConfigError {}

/// A checked [`Config`] in the units of the arithmetic, apart from the state it governs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    pub(crate) initial_ns: u64,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) max_sample_ns: u64,
    /// The least K x RTTVAR, and what an RTTVAR of zero becomes, in fixed point; one of them is G.
    pub(crate) least_term: u64,
    pub(crate) zero_rttvar: u64,
    /// How far RTTVAR can be from exact, in fixed point.
    pub(crate) rttvar_error: u64,
    /// How far SRTT + K x RTTVAR can be from exact, in fixed point (D14).
    pub(crate) guard: u64,
    /// Whether gains, K and variance floor are those of the RFC.
    pub(crate) usual: bool,
    pub(crate) alpha: Weight,
    pub(crate) beta: Weight,
    pub(crate) k: u32,
    pub(crate) clear_after: Option<NonZeroU32>,
    pub(crate) post_syn: PostSyn,
    pub(crate) collapse: Collapse,
}

impl Params {
    pub(crate) const fn new(config: Config) -> Result<Self, ConfigError> {
        let Config {
            initial_rto: initial,
            min_rto: min,
            max_rto: max,
            ..
        } = config;
        let limit_ns = nanos(Config::LIMIT);
        let (initial_ns, min_ns, max_ns) = (nanos(initial), nanos(min), nanos(max));
        if min.as_nanos() > max.as_nanos() {
            return Err(ConfigError::MinAboveMax { min, max });
        }
        if initial_ns == 0 || initial_ns < min_ns || initial.as_nanos() > max.as_nanos() {
            return Err(ConfigError::InitialOutOfBounds { initial, min, max });
        }
        let granularity_ns = nanos(config.granularity);
        if min_ns == 0 && granularity_ns == 0 {
            return Err(ConfigError::NoFloor);
        }
        if granularity_ns > max_ns || granularity_ns > limit_ns {
            return Err(ConfigError::Granularity(config.granularity));
        }
        let Some(alpha) = config.alpha.weight() else {
            return Err(ConfigError::Alpha(config.alpha));
        };
        let Some(beta) = config.beta.weight() else {
            return Err(ConfigError::Beta(config.beta));
        };
        let k = config.k;
        if k == 0 || k > Config::MAX_K {
            return Err(ConfigError::K(k));
        }
        let max_sample_ns = nanos(config.max_sample);
        if max_sample_ns == 0 || max_sample_ns > limit_ns {
            return Err(ConfigError::MaxSample(config.max_sample));
        }
        // SRTT is off by at most 1/(2 alpha); RTTVAR follows it and adds 1/(2 beta) of its
        // own; the RTO sums one of the first and K of the second.
        let srtt_error = alpha.error_bound();
        let rttvar_error = srtt_error.saturating_add(beta.error_bound());
        let granularity = from_nanos(granularity_ns);
        let (least_term, zero_rttvar) = match config.variance_floor {
            VarianceFloor::Term => (granularity, 0),
            VarianceFloor::ZeroRttvar => (0, granularity),
        };
        Ok(Self {
            initial_ns,
            min_ns,
            max_ns,
            max_sample_ns,
            least_term,
            zero_rttvar,
            rttvar_error,
            usual: alpha.is(1, 8) && beta.is(1, 4) && k == 4 && zero_rttvar == 0,
            guard: srtt_error.saturating_add(rttvar_error.saturating_mul(k as u64)),
            alpha,
            beta,
            k,
            clear_after: config.clear_after,
            post_syn: config.post_syn,
            collapse: config.collapse,
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_rfc_breaks_no_rule_and_has_the_published_guard() {
        assert_eq!(Config::RFC6298.deviations().count(), 0);
        assert_eq!(Params::new(Config::RFC6298).unwrap().guard, 28);
        assert_eq!(Config::default(), Config::RFC6298);
    }

    #[test]
    fn each_bad_value_has_its_error_and_the_error_names_value_and_rule() {
        let rfc = Config::RFC6298;
        let bad = [
            (
                Config {
                    min_rto: Duration::MAX,
                    max_rto: Duration::from_nanos(u64::MAX),
                    ..rfc
                },
                "is above max_rto",
            ),
            (
                Config {
                    min_rto: ms(61_000),
                    ..rfc
                },
                "min_rto 61s is above max_rto 60s",
            ),
            (
                Config {
                    initial_rto: ms(999),
                    ..rfc
                },
                "initial_rto 999ms",
            ),
            (
                Config {
                    initial_rto: ms(60_001),
                    ..rfc
                },
                "initial_rto 60.001s",
            ),
            (
                Config {
                    min_rto: ms(0),
                    ..rfc
                },
                "both 0",
            ),
            (
                Config {
                    min_rto: ms(0),
                    granularity: ms(1),
                    initial_rto: ms(0),
                    ..rfc
                },
                "initial_rto 0ns",
            ),
            (
                Config {
                    granularity: ms(60_001),
                    ..rfc
                },
                "granularity 60.001s",
            ),
            (
                Config {
                    granularity: Config::LIMIT + Duration::from_nanos(1),
                    max_rto: Duration::MAX,
                    ..rfc
                },
                "granularity 1125899.9",
            ),
            (
                Config {
                    alpha: Gain::new(0, 8),
                    ..rfc
                },
                "alpha 0/8",
            ),
            (
                Config {
                    alpha: Gain::new(9, 8),
                    ..rfc
                },
                "alpha 9/8",
            ),
            (
                Config {
                    beta: Gain::new(1, 0),
                    ..rfc
                },
                "beta 1/0",
            ),
            (Config { k: 0, ..rfc }, "k 0 "),
            (Config { k: 33, ..rfc }, "k 33 "),
            (
                Config {
                    max_sample: ms(0),
                    ..rfc
                },
                "max_sample 0ns",
            ),
            (
                Config {
                    max_sample: Config::LIMIT + Duration::from_nanos(1),
                    ..rfc
                },
                "max_sample 1125899.9",
            ),
        ];
        for (config, text) in bad {
            let message = Params::new(config).unwrap_err().to_string();
            assert!(message.contains(text), "{message:?} lacks {text:?}");
            assert!(
                message.contains("(2.") || message.contains("(4") || message.contains("(D"),
                "{message:?} names no rule"
            );
        }
    }

    #[test]
    fn the_edge_of_each_bound_is_legal() {
        let rfc = Config::RFC6298;
        for config in [
            Config {
                min_rto: ms(0),
                granularity: Duration::from_nanos(1),
                ..rfc
            },
            Config {
                min_rto: rfc.max_rto,
                initial_rto: rfc.max_rto,
                ..rfc
            },
            Config {
                granularity: rfc.max_rto,
                ..rfc
            },
            Config {
                alpha: Gain::new(8, 8),
                beta: Gain::new(1, u16::MAX),
                k: 32,
                ..rfc
            },
            Config {
                max_sample: Config::LIMIT,
                max_rto: Duration::MAX,
                ..rfc
            },
        ] {
            assert!(Params::new(config).is_ok(), "{config:?}");
        }
    }
}
