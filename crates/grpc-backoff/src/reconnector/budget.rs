use super::clock::Clock;
use crate::{BudgetError, TokenBucket};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// A budget of attempts that many reconnectors of one program share: a burst of `capacity`, then
/// one attempt per `refill` (D17). An attempt whose own wait is over waits for the budget as well,
/// so it only ever starts later.
///
/// A copy is the same budget.
#[derive(Clone, Debug)]
pub struct AttemptBudget {
    shared: Arc<(Clock, Mutex<TokenBucket>)>,
}

impl AttemptBudget {
    /// Makes a budget that is full.
    ///
    /// # Errors
    ///
    /// A capacity or a refill time of zero is refused, see [`BudgetError`] (D17).
    pub fn new(capacity: u32, refill: Duration) -> Result<Self, BudgetError> {
        let bucket = TokenBucket::new(capacity, refill)?;
        Ok(Self {
            shared: Arc::new((Clock::start(), Mutex::new(bucket))),
        })
    }

    /// Takes the next token; its attempt may start from this instant.
    pub(super) fn reserve(&self) -> Instant {
        let (clock, bucket) = &*self.shared;
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        clock.at_most(bucket.reserve(clock.now()))
    }
}
