//! What a function says of how it went, and why settings are refused.
#![allow(unsafe_code, reason = "exports a function; no block of it is unsafe")]

use core::{
    ffi::{CStr, c_char},
    fmt,
};

use rto::{ConfigError, compact::Unsupported};

/// How a call went. `rto_strerror` has it in words; `rto_config_check` and
/// `rto_compact_check` say what is wrong with which value.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rto_status {
    /// Done.
    Ok = 0,
    /// A pointer that must not be null is.
    NullPointer = 1,
    /// An opaque struct was never initialised, or its initialisation failed.
    Uninitialised = 2,
    /// `progress` is no `rto_progress`.
    Progress = 3,
    /// `expected` is not in 1 to 65535.
    Expected = 4,
    /// `min_rto_ns` is above `max_rto_ns`.
    MinAboveMax = 10,
    /// `initial_rto_ns` is 0, or not between `min_rto_ns` and `max_rto_ns`.
    InitialOutOfBounds = 11,
    /// `min_rto_ns` and `granularity_ns` are both 0.
    NoFloor = 12,
    /// `granularity_ns` is above `max_rto_ns` or above 2^50.
    Granularity = 13,
    /// `alpha` is not in (0, 1].
    Alpha = 14,
    /// `beta` is not in (0, 1].
    Beta = 15,
    /// `k` is not in 1 to 32.
    K = 16,
    /// `max_sample_ns` is not in 1 to 2^50.
    MaxSample = 17,
    /// `variance_floor` is no `rto_variance_floor`.
    VarianceFloor = 18,
    /// `post_syn` is no `rto_post_syn`.
    PostSyn = 19,
    /// `collapse` is no `rto_collapse`.
    Collapse = 20,
    /// The configuration is refused for another reason.
    Config = 21,
    /// The `kind` of a threshold is no `rto_threshold_kind`.
    ThresholdKind = 30,
    /// `user_timeout_ns` is 0.
    UserTimeout = 31,
    /// The compact timer has no room for this `max_rto_ns`.
    CompactMaxRto = 40,
    /// The compact timer has the gains 1/8 and 1/4 and a `k` of 4 only.
    CompactGains = 41,
    /// The compact timer has no such `variance_floor`.
    CompactVarianceFloor = 42,
    /// The compact timer counts back-offs up to 65535 only.
    CompactClearAfter = 43,
    /// The compact timer refuses the configuration for another reason.
    CompactConfig = 44,
}

use rto_status as S;

const WORDS: [(S, &CStr); 24] = [
    (S::Ok, c"done"),
    (S::NullPointer, c"a pointer that must not be null is"),
    (S::Uninitialised, c"an opaque struct is not initialised"),
    (S::Progress, c"progress is no rto_progress (5.3-1)"),
    (S::Expected, c"expected is not in 1 to 65535 (T1)"),
    (S::MinAboveMax, c"min_rto is above max_rto (2.4-1, 2.5-1)"),
    (
        S::InitialOutOfBounds,
        c"initial_rto must be positive and within min_rto to max_rto (2.1-1)",
    ),
    (
        S::NoFloor,
        c"min_rto and granularity are both 0: one must be positive (2.4-1)",
    ),
    (
        S::Granularity,
        c"granularity is above max_rto or above 2^50 ns (4-1)",
    ),
    (S::Alpha, c"alpha is not in (0, 1] (2.3-3)"),
    (S::Beta, c"beta is not in (0, 1] (2.3-3)"),
    (S::K, c"k is not in 1 to 32 (2.2-1)"),
    (S::MaxSample, c"max_sample is not in 1 to 2^50 ns (2.3-1)"),
    (
        S::VarianceFloor,
        c"variance_floor is no rto_variance_floor (4-2)",
    ),
    (S::PostSyn, c"post_syn is no rto_post_syn (5.7-1)"),
    (S::Collapse, c"collapse is no rto_collapse (5-N1)"),
    (S::Config, c"the configuration is refused"),
    (
        S::ThresholdKind,
        c"the kind of a threshold is no rto_threshold_kind (T7, T8)",
    ),
    (
        S::UserTimeout,
        c"user_timeout is 0; RTO_NONE is for none (T9)",
    ),
    (S::CompactMaxRto, c"max_rto is not below 2^31 us (P73)"),
    (
        S::CompactGains,
        c"alpha, beta and k are not 1/8, 1/4 and 4 (P73)",
    ),
    (
        S::CompactVarianceFloor,
        c"an RTTVAR of zero cannot become G (P73)",
    ),
    (S::CompactClearAfter, c"clear_after is above 65535 (P75)"),
    (S::CompactConfig, c"the compact timer refuses this"),
];

/// A status in words, with the rule it is about: text that is always there. A number that is no
/// status has words, too.
#[unsafe(no_mangle)]
pub extern "C" fn rto_strerror(status: u32) -> *const c_char {
    words(status).as_ptr()
}

fn words(status: u32) -> &'static CStr {
    let found = WORDS.iter().find(|(known, _)| *known as u32 == status);
    found.map_or(c"no such status", |(_, words)| words)
}

impl fmt::Display for rto_status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words(*self as u32).to_str().unwrap_or_default())
    }
}

impl From<Result<(), Self>> for rto_status {
    fn from(result: Result<(), Self>) -> Self {
        result.err().unwrap_or(Self::Ok)
    }
}

/// Why settings are refused, with the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Null,
    Config(ConfigError),
    Compact(Unsupported),
    Number(BadNumber),
    UserTimeout,
}

/// A number that is none of an enum's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadNumber {
    pub(crate) status: S,
    pub(crate) field: &'static str,
    pub(crate) number: u32,
    /// What it should be, and the rule that has it.
    pub(crate) kind: &'static str,
}

impl Refusal {
    pub(crate) const fn status(&self) -> S {
        match self {
            Self::Null => S::NullPointer,
            Self::Config(error) => of_config(error),
            Self::Compact(Unsupported::Config(error)) => of_config(error),
            Self::Compact(Unsupported::MaxRto(_)) => S::CompactMaxRto,
            Self::Compact(Unsupported::Gains { .. }) => S::CompactGains,
            Self::Compact(Unsupported::VarianceFloor(_)) => S::CompactVarianceFloor,
            Self::Compact(Unsupported::ClearAfter(_)) => S::CompactClearAfter,
            Self::Compact(_) => S::CompactConfig,
            Self::Number(bad) => bad.status,
            Self::UserTimeout => S::UserTimeout,
        }
    }
}

const fn of_config(error: &ConfigError) -> S {
    match error {
        ConfigError::MinAboveMax { .. } => S::MinAboveMax,
        ConfigError::InitialOutOfBounds { .. } => S::InitialOutOfBounds,
        ConfigError::NoFloor => S::NoFloor,
        ConfigError::Granularity(_) => S::Granularity,
        ConfigError::Alpha(_) => S::Alpha,
        ConfigError::Beta(_) => S::Beta,
        ConfigError::K(_) => S::K,
        ConfigError::MaxSample(_) => S::MaxSample,
        _ => S::Config,
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Compact(error) => error.fmt(f),
            Self::Number(BadNumber {
                field,
                number,
                kind,
                ..
            }) => write!(f, "{field} {number} is no {kind}"),
            Self::Null | Self::UserTimeout => self.status().fmt(f),
        }
    }
}
