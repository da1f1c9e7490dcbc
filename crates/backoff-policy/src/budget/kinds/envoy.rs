use crate::{Budget, BudgetError, Class, Cost, Outcome, Ratio};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

/// Envoy's retry budget: so many retries at once as a share of the attempts in flight, and a few
/// in any case (B23).
///
/// A retry holds its permit from the decision to its end, its wait included. An attempt is in
/// flight from its start to its end: the one that has just failed is not, nor is a retry that
/// waits.
///
/// Source: Envoy's `ResourceManagerImpl::RetryBudgetImpl` and `CircuitBreakers.Thresholds.RetryBudget`.
#[derive(Debug)]
pub struct EnvoyBudget {
    share: Ratio,
    least: u32,
    /// Attempts in flight in the high half, retries in the low one: a single word, so that no
    /// thread sees one without the other.
    active: AtomicU64,
}

const LOW: u64 = u32::MAX as u64;

impl EnvoyBudget {
    /// Envoy's own values: 20 % of the attempts in flight, or 3 where that is more.
    #[must_use]
    pub const fn standard() -> Self {
        Self::checked(Ratio::new(1, 5), 3)
    }

    /// Makes a budget that allows `share` of the attempts in flight to be retries, rounded down,
    /// and `least` in any case.
    ///
    /// # Errors
    ///
    /// A share above 1 or over zero is refused (B23).
    pub const fn new(share: Ratio, least: u32) -> Result<Self, BudgetError> {
        if !share.is_valid() || share.num > share.den {
            return Err(BudgetError::ActiveRatio(share));
        }
        Ok(Self::checked(share, least))
    }

    const fn checked(share: Ratio, least: u32) -> Self {
        let active = AtomicU64::new(0);
        Self {
            share,
            least,
            active,
        }
    }

    /// The attempts in flight.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.active.load(Relaxed) >> 32
    }

    /// The retries that hold a permit.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.active.load(Relaxed) & LOW
    }

    fn change(&self, change: impl Fn(u64, u64) -> (u64, u64)) {
        let both = |word: u64| {
            let (attempts, retries) = change(word >> 32, word & LOW);
            attempts.min(LOW) << 32 | retries
        };
        self.active.update(Relaxed, Relaxed, both);
    }
}

impl Budget for EnvoyBudget {
    fn withdraw(&self, _now: Duration, _class: Class) -> Option<Cost> {
        let permit = |word: u64| {
            let most = self.share.of(word >> 32).max(self.least.into());
            (word & LOW < most.min(LOW)).then(|| word.saturating_add(1))
        };
        let taken = self.active.try_update(Relaxed, Relaxed, permit);
        taken.ok().map(|_| Cost::new(1))
    }

    fn refund(&self, _cost: Cost) {
        self.change(|attempts, retries| (attempts, retries.saturating_sub(1)));
    }

    fn start(&self, _now: Duration, _paid: Option<Cost>) {
        self.change(|attempts, retries| (attempts.saturating_add(1), retries));
    }

    fn end(&self, _now: Duration, _outcome: Outcome, paid: Option<Cost>) {
        let permits = u64::from(paid.is_some());
        self.change(|attempts, retries| {
            (attempts.saturating_sub(1), retries.saturating_sub(permits))
        });
    }
}
