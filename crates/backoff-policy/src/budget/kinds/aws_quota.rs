use crate::{Budget, Class, Cost, Outcome};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::time::Duration;

/// What a retry costs in an [`AwsQuota`], by how the attempt before it failed; in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaCosts {
    /// After [`Class::Throttled`].
    pub throttled: u32,
    /// After [`Class::Timeout`].
    pub timeout: u32,
    /// After any other failure.
    pub other: u32,
}

/// The retry quota of the AWS SDKs' standard mode: every retry costs tokens, and a success gives
/// some back (B20).
///
/// A success after a retry gives back what that retry cost, a success at once gives back 1, and a
/// call that fails in the end nothing: in an outage the tokens run out, and then calls fail at
/// their first failure.
///
/// Source: "Retry behavior" in the AWS SDKs and Tools reference guide; botocore's
/// `retries/quota.py` and `standard.py`.
#[derive(Debug)]
pub struct AwsQuota {
    costs: QuotaCosts,
    capacity: u32,
    available: AtomicU32,
}

impl AwsQuota {
    /// What a success at once gives back.
    const NO_RETRY_INCREMENT: u32 = 1;

    /// Standard mode 2.0: 500 tokens, a retry costs 5, after a timeout 10.
    #[must_use]
    pub const fn standard_2_0() -> Self {
        Self::new(
            500,
            QuotaCosts {
                throttled: 5,
                timeout: 10,
                other: 5,
            },
        )
    }

    /// Standard mode 2.1, the default since November 2026: 500 tokens, a retry costs 14, 5 after
    /// throttling.
    #[must_use]
    pub const fn standard_2_1() -> Self {
        Self::new(
            500,
            QuotaCosts {
                throttled: 5,
                timeout: 14,
                other: 14,
            },
        )
    }

    /// Makes a full quota of `capacity` tokens. A retry that costs more than that never takes place.
    #[must_use]
    pub const fn new(capacity: u32, costs: QuotaCosts) -> Self {
        Self {
            costs,
            capacity,
            available: AtomicU32::new(capacity),
        }
    }

    /// The tokens that are left.
    #[must_use]
    pub fn available(&self) -> u32 {
        self.available.load(Relaxed)
    }

    /// Gives tokens back, never above the capacity. A full quota, the common case, is only read.
    fn give(&self, tokens: u32) {
        let more = |available: u32| {
            let more = available.saturating_add(tokens).min(self.capacity);
            Some(more).filter(|&more| more != available)
        };
        _ = self.available.try_update(Relaxed, Relaxed, more);
    }
}

impl Budget for AwsQuota {
    fn withdraw(&self, _now: Duration, class: Class) -> Option<Cost> {
        let cost = match class {
            Class::Throttled => self.costs.throttled,
            Class::Timeout => self.costs.timeout,
            Class::Transient | Class::Unsent | Class::Permanent => self.costs.other,
        };
        let less = |available: u32| available.checked_sub(cost);
        let paid = self.available.try_update(Relaxed, Relaxed, less);
        paid.ok().map(|_| Cost::new(cost.into()))
    }

    fn refund(&self, cost: Cost) {
        self.give(u32::try_from(cost.get()).unwrap_or(u32::MAX));
    }

    fn end(&self, _now: Duration, outcome: Outcome, paid: Option<Cost>) {
        match (outcome, paid) {
            (Outcome::Succeeded, Some(cost)) => self.refund(cost),
            (Outcome::Succeeded, None) => self.give(Self::NO_RETRY_INCREMENT),
            (Outcome::Failed(_) | Outcome::Dropped, _) => {}
        }
    }
}
