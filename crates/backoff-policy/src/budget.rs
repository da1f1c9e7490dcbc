use crate::{Class, Ratio};
use core::fmt;
use core::time::Duration;

mod call;
#[cfg(target_has_atomic = "64")]
mod kinds;

pub use call::Call;
#[cfg(target_has_atomic = "64")]
pub use kinds::{
    AwsAdaptive, AwsQuota, EnvoyBudget, FinagleBudget, GrpcThrottle, QuotaCosts, SreThrottle,
};

/// What the calls of a program may spend on retries together, so that a server in trouble is not
/// brought down by those who try again.
///
/// Make one [`Call`] per call and let it tell the budget what happens; it gives back what a
/// dropped call still holds (B26). A budget is shared by reference or in an `Arc`, in a `static`
/// too: no method waits for another thread (B27). `now` is the time since an instant of your
/// choice, by a monotonic clock, and the same clock for every caller.
///
/// | kind | a retry is allowed while | an attempt |
/// |---|---|---|
/// | [`AwsQuota`] | tokens are left | always |
/// | [`GrpcThrottle`] | more than half of the tokens are left | always |
/// | [`FinagleBudget`] | retries are below a share of recent calls, and some each second | always |
/// | [`EnvoyBudget`] | retries are below a share of the attempts in flight | always |
/// | [`SreThrottle`] | always | is refused at random, the more the fewer are accepted |
/// | [`AwsAdaptive`] | tokens are left | waits for its turn, once the server throttled |
///
/// All need 64-bit atomics. To do without a budget, have no [`Call`].
pub trait Budget {
    /// Before each attempt, the first included: whether it may start, and when. It counts as
    /// admitted unless it is rejected. `draw` is uniform over all of `u64`.
    fn admit(&self, now: Duration, draw: u64) -> Admission {
        _ = (now, draw);
        Admission::Now
    }

    /// An admitted attempt does not start after all.
    fn release(&self) {}

    /// Whether an attempt that failed in this way may be followed by another: takes what that
    /// costs, or refuses. Not asked for [`Class::Permanent`].
    #[must_use]
    fn withdraw(&self, now: Duration, class: Class) -> Option<Cost>;

    /// A retry that was paid for does not start after all.
    fn refund(&self, cost: Cost) {
        _ = cost;
    }

    /// An attempt starts: the first of its call, which is free, or a retry and what it cost.
    fn start(&self, now: Duration, paid: Option<Cost>) {
        _ = (now, paid);
    }

    /// An attempt ends. `now` is the time of its start if it was dropped.
    fn end(&self, now: Duration, outcome: Outcome, paid: Option<Cost>) {
        _ = (now, outcome, paid);
    }
}

/// Whether an attempt may start, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// It may start now.
    Now,
    /// It may start at this instant. Its place is taken.
    At(Duration),
    /// It may not: fail the call without asking the server.
    Rejected,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With the answer that was wanted.
    Succeeded,
    /// In this way.
    Failed(Class),
    /// Nobody waits for its end any more.
    Dropped,
}

/// What a retry cost: a number that means something to the budget that took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost(u64);

impl Cost {
    /// Makes a cost, in an own implementation of [`Budget`].
    #[must_use]
    pub const fn new(amount: u64) -> Self {
        Self(amount)
    }

    /// The number it was made of.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Why a budget was refused where it was made, with the offending value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetError {
    /// The most tokens of gRPC are not in (0, 1000]; in thousandths of a token.
    MaxTokens(u32),
    /// The tokens that a success gives back in gRPC are zero: once spent they would stay so.
    TokenRatioZero,
    /// The time that a deposit lasts is not in 1 s to 60 s.
    Ttl(Duration),
    /// The share of calls that may be retried is over zero, or above 1000.
    RetryRatio(Ratio),
    /// The share of attempts in flight that may be retries is over zero, or above 1.
    ActiveRatio(Ratio),
    /// The multiple of accepted requests that may be sent is over zero, or below 1: some would be
    /// rejected where all are accepted.
    AcceptsRatio(Ratio),
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxTokens(milli) => {
                write!(
                    f,
                    "{milli} thousandths of a token are not in 1..=1000000 (B21)"
                )
            }
            Self::TokenRatioZero => write!(f, "the token ratio is zero (B21)"),
            Self::Ttl(ttl) => write!(f, "the lifetime {ttl:?} is not in 1 s..=60 s (B22)"),
            Self::RetryRatio(ratio) => write!(f, "the share {ratio} is not in 0..=1000 (B22)"),
            Self::ActiveRatio(ratio) => write!(f, "the share {ratio} is not in 0..=1 (B23)"),
            Self::AcceptsRatio(ratio) => write!(f, "the multiple {ratio} is not 1 or more (B24)"),
        }
    }
}

impl core::error::Error for BudgetError {}
