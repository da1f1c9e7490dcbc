//! What can be set about the kernel's estimator, and what is refused.

use core::{fmt, time::Duration};

use crate::clock::nanos;

/// The settings of the kernel that the estimator depends on.
///
/// [`Estimator::new`](super::Estimator::new) checks them. A span that is no whole number of
/// jiffies counts as the next one (P65).
///
/// ```
/// use {core::time::Duration, rto::linux::Config};
/// let ms = Duration::from_millis;
/// // A kernel built with CONFIG_HZ=1000 whose sysctl tcp_rto_min_us is 50000.
/// let config = Config { jiffy: ms(1), rto_min: ms(50), ..Config::LINUX };
/// # assert!(rto::linux::Estimator::new(config).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// RTO before the first sample; positive, at most `rto_max`. Fixed in the kernel: 1 s (P60).
    pub initial_rto: Duration,
    /// Floor of the variance term 4 x RTTVAR, not of the RTO; positive, at most `rto_max`.
    /// Sysctl `tcp_rto_min_us`, route attribute `rto_min`: 200 ms (P57).
    pub rto_min: Duration,
    /// Cap of every RTO, 1 s to 120 s. Sysctl `tcp_rto_max_ms`: 120 s (P59).
    pub rto_max: Duration,
    /// The kernel's tick, in whole microseconds and a whole part of a second: 1, 4 or 10 ms
    /// for a `CONFIG_HZ` of 1000, 250 or 100. Default 4 ms (P58).
    pub jiffy: Duration,
    /// After how many timeouts of a SYN the RTO starts to double. Sysctl
    /// `tcp_syn_linear_timeouts`: 4; kernels before 6.5 behave as with 0 (P62).
    pub syn_linear_timeouts: u8,
}

impl Config {
    /// A kernel as it comes, with a jiffy of 4 ms.
    pub const LINUX: Self = Self {
        initial_rto: Duration::from_secs(1),
        rto_min: Duration::from_millis(200),
        rto_max: Duration::from_secs(120),
        jiffy: Duration::from_millis(4),
        syn_linear_timeouts: 4,
    };
}

impl Default for Config {
    /// [`Config::LINUX`].
    fn default() -> Self {
        Self::LINUX
    }
}

/// Why a [`Config`] is refused (P67); each variant carries the offending values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The jiffy is no whole number of microseconds, or no whole part of a second.
    Jiffy(Duration),
    /// The cap is not within 1 s to 120 s.
    RtoMax(Duration),
    /// The floor of the variance term is zero or above the cap.
    RtoMin {
        /// [`Config::rto_min`].
        min: Duration,
        /// [`Config::rto_max`].
        max: Duration,
    },
    /// The initial RTO is zero or above the cap.
    InitialRto {
        /// [`Config::initial_rto`].
        initial: Duration,
        /// [`Config::rto_max`].
        max: Duration,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jiffy(jiffy) => write!(
                f,
                "jiffy {jiffy:?} must be whole microseconds and a whole part of 1s (P67)"
            ),
            Self::RtoMax(max) => write!(f, "rto_max {max:?} is not in 1s to 120s (P67)"),
            Self::RtoMin { min, max } => write!(
                f,
                "rto_min {min:?} must be positive and at most rto_max {max:?} (P67)"
            ),
            Self::InitialRto { initial, max } => write!(
                f,
                "initial_rto {initial:?} must be positive and at most rto_max {max:?} (P67)"
            ),
        }
    }
}

impl core::error::Error for ConfigError {}

/// A checked [`Config`] in whole jiffies, each in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) initial_us: u32,
    pub(super) min_us: u32,
    pub(super) max_us: u32,
    pub(super) jiffy_us: u32,
    pub(super) syn_linear_timeouts: u8,
}

impl Params {
    pub(super) fn new(config: Config) -> Result<Self, ConfigError> {
        const SECOND_NS: u64 = 1_000_000_000;
        let Config {
            initial_rto: initial,
            rto_min: min,
            rto_max: max,
            jiffy,
            syn_linear_timeouts,
        } = config;
        let jiffy_ns = nanos(jiffy);
        let whole = SECOND_NS.is_multiple_of(jiffy_ns) && jiffy_ns.is_multiple_of(1_000);
        if !whole {
            return Err(ConfigError::Jiffy(jiffy));
        }
        if !(Duration::from_secs(1)..=Duration::from_secs(120)).contains(&max) {
            return Err(ConfigError::RtoMax(max));
        }
        if min.is_zero() || min > max {
            return Err(ConfigError::RtoMin { min, max });
        }
        if initial.is_zero() || initial > max {
            return Err(ConfigError::InitialRto { initial, max });
        }
        // At most 121 s each: nothing is cut off.
        let us =
            |span: Duration| u32::try_from(span.as_nanos().div_ceil(1_000)).unwrap_or(u32::MAX);
        let jiffy_us = us(jiffy);
        let jiffies = |span| round_up(us(span), jiffy_us); // (P65)
        Ok(Self {
            initial_us: jiffies(initial),
            min_us: jiffies(min),
            max_us: jiffies(max),
            jiffy_us,
            syn_linear_timeouts,
        })
    }
}

/// The next whole number of jiffies, in microseconds (P58).
pub(super) fn round_up(us: u32, jiffy_us: u32) -> u32 {
    us.checked_next_multiple_of(jiffy_us).unwrap_or(u32::MAX)
}
