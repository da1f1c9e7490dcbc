use crate::{Budget, BudgetError, Class, Cost, Outcome};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::time::Duration;

/// A whole token, in the unit of this file.
const TOKEN: u32 = 1_000;

/// The retry throttling of gRPC: a failure costs one token, a success gives back a part of one,
/// and retries stop while at most half of them are left (B21).
///
/// Counts are exact, in thousandths of a token: the service config allows three decimals. Every
/// failure that could be retried counts, whether it is or not. One per server name.
///
/// ```
/// # use backoff_policy::GrpcThrottle;
/// // "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
/// let throttle = GrpcThrottle::new(10_000, 100)?;
/// assert_eq!(throttle.tokens(), 10_000);
/// # Ok::<(), backoff_policy::BudgetError>(())
/// ```
///
/// Source: gRFC A6, "Throttling Retry Attempts and Hedged RPCs".
#[derive(Debug)]
pub struct GrpcThrottle {
    most: u32,
    ratio: u32,
    tokens: AtomicU32,
}

impl GrpcThrottle {
    /// Makes a throttle with all of its tokens, from the `maxTokens` and the `tokenRatio` of a
    /// service config in thousandths.
    ///
    /// # Errors
    ///
    /// A maximum outside (0, 1000] tokens and a ratio of zero are refused (B21).
    pub const fn new(max_milli: u32, ratio_milli: u32) -> Result<Self, BudgetError> {
        if max_milli == 0 || max_milli > 1_000 * TOKEN {
            return Err(BudgetError::MaxTokens(max_milli));
        }
        if ratio_milli == 0 {
            return Err(BudgetError::TokenRatioZero);
        }
        Ok(Self {
            most: max_milli,
            ratio: ratio_milli,
            tokens: AtomicU32::new(max_milli),
        })
    }

    /// The tokens that are left, in thousandths.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.tokens.load(Relaxed)
    }
}

impl Budget for GrpcThrottle {
    /// Free: what the failure cost was taken when it ended.
    fn withdraw(&self, _now: Duration, _class: Class) -> Option<Cost> {
        (self.tokens() > self.most >> 1).then_some(Cost::new(0))
    }

    fn end(&self, _now: Duration, outcome: Outcome, _paid: Option<Cost>) {
        let change = |tokens: u32| {
            let next = match outcome {
                Outcome::Succeeded => tokens.saturating_add(self.ratio).min(self.most),
                Outcome::Failed(Class::Permanent) | Outcome::Dropped => tokens,
                Outcome::Failed(_) => tokens.saturating_sub(TOKEN),
            };
            Some(next).filter(|&next| next != tokens) // a full throttle is only read
        };
        _ = self.tokens.try_update(Relaxed, Relaxed, change);
    }
}
