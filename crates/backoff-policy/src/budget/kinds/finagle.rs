use super::window::{Stamp, Window};
use crate::nanos::nanos;
use crate::{Budget, BudgetError, Class, Cost, Ratio};
use core::time::Duration;

/// The ring of Finagle's `WindowedAdder`.
const SLICES: usize = 10;

/// Finagle's retry budget: a share of the calls of the last seconds may be retried, and some
/// retries each second in any case (B22).
///
/// Every call deposits, every retry withdraws, both expire after a time; a reserve of `per_second`
/// retries for each second of it is for programs that have just started or call rarely. Tower and
/// Linkerd have the same.
///
/// Exact: a call deposits the numerator of the ratio in lowest terms, and a retry costs its
/// denominator. A step keeps sums up to 5 x 10^11, and ignores deposits and refuses retries beyond: of
/// 1/5 that is 10^11 retries, of 1/1000000 still 500,000.
///
/// Source: Finagle's `RetryBudget` and `TokenBucket.newLeakyBucket`.
#[derive(Debug)]
pub struct FinagleBudget {
    window: Window<SLICES>,
    ratio: Ratio,
    reserve: i64,
}

impl FinagleBudget {
    /// Finagle's own values: deposits last 10 s, 10 retries per second, and 20 % of the calls.
    #[must_use]
    pub const fn standard() -> Self {
        Self::checked(Duration::from_secs(10), 10, Ratio::new(1, 5))
    }

    /// Makes a budget whose deposits last `ttl`, in steps of a tenth of it, which allows
    /// `per_second` retries each second and `ratio` retries more per call.
    ///
    /// # Errors
    ///
    /// A `ttl` outside 1 s to 60 s and a ratio above 1000 or over zero are refused (B22).
    pub const fn new(ttl: Duration, per_second: u32, ratio: Ratio) -> Result<Self, BudgetError> {
        if ttl.as_secs() < 1 || nanos(ttl) > nanos(Duration::from_secs(60)) {
            return Err(BudgetError::Ttl(ttl));
        }
        if !ratio.is_valid() || ratio.num as u64 > (ratio.den as u64).saturating_mul(1_000) {
            return Err(BudgetError::RetryRatio(ratio));
        }
        Ok(Self::checked(ttl, per_second, ratio))
    }

    const fn checked(ttl: Duration, per_second: u32, ratio: Ratio) -> Self {
        let ratio = ratio.reduced();
        let retries = (per_second as i64).saturating_mul(ttl.as_secs().cast_signed());
        Self {
            window: Window::new(nanos(ttl)),
            ratio,
            reserve: retries.saturating_mul(ratio.den as i64),
        }
    }

    /// The retries that could be made now.
    #[must_use]
    pub fn balance(&self, now: Duration) -> u64 {
        let sum = self.window.total(nanos(now)).saturating_add(self.reserve);
        let retries = sum.checked_div(self.ratio.den.into()).unwrap_or(0);
        u64::try_from(retries).unwrap_or(0)
    }
}

impl Budget for FinagleBudget {
    fn start(&self, now: Duration, paid: Option<Cost>) {
        if paid.is_none() {
            self.window.add(nanos(now), self.ratio.num.into());
        }
    }

    fn withdraw(&self, now: Duration, _class: Class) -> Option<Cost> {
        let least = self.reserve.saturating_neg();
        let stamp = self.window.take(nanos(now), self.ratio.den.into(), least)?;
        Some(Cost::new(stamp.bits()))
    }

    fn refund(&self, cost: Cost) {
        let stamp = Stamp::from_bits(cost.get());
        self.window.give_back(stamp, self.ratio.den.into());
    }
}
