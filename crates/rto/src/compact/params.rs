//! Which settings the compact estimator has room for.

use core::{fmt, num::NonZeroU16, num::NonZeroU32, time::Duration};

use super::Estimator;
use crate::{Collapse, Config, ConfigError, Gain, PostSyn, VarianceFloor, config};

/// A checked [`Config`] in microseconds, apart from the state it governs: one serves every
/// connection, from flash (P75).
///
/// Hand every method of one estimator the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    pub(super) initial_us: u32,
    pub(super) min_us: u32,
    pub(super) max_us: u32,
    pub(super) granularity_us: u32,
    pub(super) max_sample_us: u32,
    pub(super) clear_after: Option<NonZeroU16>,
    pub(super) post_syn: PostSyn,
    pub(super) collapse: Collapse,
}

impl Params {
    /// Checks the settings. In a `const` or `static`, an illegal one is an error of the build.
    ///
    /// What is no whole number of microseconds is rounded up, so that nothing comes earlier
    /// (P74).
    ///
    /// # Errors
    ///
    /// The first value that is illegal in itself, or that 32 bits have no room for.
    pub const fn new(config: Config) -> Result<Self, Unsupported> {
        if let Err(error) = config::Params::new(config) {
            return Err(Unsupported::Config(error));
        }
        // Every field by its name: one that is new must be thought of here.
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
        } = config;
        let max_us = micros(max_rto);
        if max_us >> 31 != 0 {
            return Err(Unsupported::MaxRto(max_rto));
        }
        if !is_one_in(alpha, 8) || !is_one_in(beta, 4) || k != 4 {
            return Err(Unsupported::Gains { alpha, beta, k });
        }
        if let VarianceFloor::ZeroRttvar = variance_floor
            && !granularity.is_zero()
        {
            return Err(Unsupported::VarianceFloor(granularity));
        }
        let clear_after = match narrow(clear_after) {
            Ok(clear_after) => clear_after,
            Err(times) => return Err(Unsupported::ClearAfter(times)),
        };
        let max_sample_us = micros(max_sample);
        Ok(Self {
            initial_us: micros(initial_rto),
            min_us: micros(min_rto),
            max_us,
            granularity_us: micros(granularity),
            max_sample_us: if max_sample_us < Estimator::MAX_SAMPLE_US {
                max_sample_us
            } else {
                Estimator::MAX_SAMPLE_US // (P77)
            },
            clear_after,
            post_syn,
            collapse,
        })
    }
}

/// Why a [`Config`] is refused; each variant carries the offending value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// It is illegal for the full estimator, too.
    Config(ConfigError),
    /// The cap is not below half the range of the clock: a deadline so far ahead would look
    /// like one that has passed (P73).
    MaxRto(Duration),
    /// The gains are not the RFC's (P73).
    Gains {
        /// [`Config::alpha`].
        alpha: Gain,
        /// [`Config::beta`].
        beta: Gain,
        /// [`Config::k`].
        k: u32,
    },
    /// An RTTVAR of zero shall become this G (P73).
    VarianceFloor(Duration),
    /// Back-offs are counted up to 65535 only (P75).
    ClearAfter(NonZeroU32),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::MaxRto(value) => {
                write!(
                    f,
                    "max_rto {value:?} is not below 2147.483648s, 2^31 µs (P73)"
                )
            }
            Self::Gains { alpha, beta, k } => write!(
                f,
                "alpha {alpha}, beta {beta}, k {k} are not 1/8, 1/4 and 4 (P73)"
            ),
            Self::VarianceFloor(granularity) => {
                write!(f, "an RTTVAR of zero cannot become G {granularity:?} (P73)")
            }
            Self::ClearAfter(times) => write!(f, "clear_after {times} is above 65535 (P75)"),
        }
    }
}

impl core::error::Error for Unsupported {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            _ => None,
        }
    }
}

/// In whole microseconds, rounded up (P74); 2^32 of them and more saturate.
const fn micros(duration: Duration) -> u32 {
    let whole = (duration.as_secs().saturating_mul(1_000_000))
        .saturating_add(duration.subsec_nanos().div_ceil(1_000) as u64);
    if whole >> 32 == 0 {
        low_half(whole)
    } else {
        u32::MAX
    }
}

const fn low_half(value: u64) -> u32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

const fn is_one_in(gain: Gain, count: u32) -> bool {
    (gain.num as u32).saturating_mul(count) == gain.den as u32
}

/// The count in 16 bits, or the count that does not fit.
const fn narrow(times: Option<NonZeroU32>) -> Result<Option<NonZeroU16>, NonZeroU32> {
    let Some(times) = times else {
        return Ok(None);
    };
    let [low, high, 0, 0] = times.get().to_le_bytes() else {
        return Err(times);
    };
    Ok(NonZeroU16::new(u16::from_le_bytes([low, high])))
}
