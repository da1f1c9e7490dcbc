use core::fmt;
use core::time::Duration;

/// A budget for the attempts of many connections together: so many at once, then one per refill
/// time (D17).
///
/// It is asked when a machine's own wait is over, so it only ever makes an attempt later. Whoever
/// asks gets an instant of its own, in the order of asking: nobody has to ask again, and however
/// many wait, no two of them wake together for one token.
///
/// ```
/// # use {core::time::Duration, grpc_backoff::TokenBucket};
/// let s = Duration::from_secs;
/// let mut budget = TokenBucket::new(2, s(5))?;
/// let starts = [(); 4].map(|()| budget.reserve(s(60)));
/// assert_eq!(starts, [s(60), s(60), s(65), s(70)]);
/// # Ok::<(), grpc_backoff::BudgetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    capacity: u32,
    refill: Duration,
    /// When every token will be back, in ns: the whole state. A token that is owed to somebody
    /// who waits puts it further off.
    full_at: u128,
}

impl TokenBucket {
    /// Makes a full bucket of `capacity` tokens, which gets one back per `refill`.
    ///
    /// # Errors
    ///
    /// A capacity of zero, with which nothing would ever start, and a refill time of zero, which
    /// limits nothing, are refused (D17).
    pub const fn new(capacity: u32, refill: Duration) -> Result<Self, BudgetError> {
        if capacity == 0 {
            return Err(BudgetError::CapacityZero);
        }
        if refill.is_zero() {
            return Err(BudgetError::RefillZero);
        }
        Ok(Self {
            capacity,
            refill,
            full_at: 0,
        })
    }

    /// Takes a token, and gives the instant from which its attempt may start: `now` if there is
    /// one, else when the next one that nobody waits for is back. It is taken either way; one that
    /// is not used is lost, which is slower and hence legal (S13).
    ///
    /// An instant that saturates to [`Duration::MAX`] never comes (D7).
    #[must_use]
    pub fn reserve(&mut self, now: Duration) -> Duration {
        let refill = self.refill.as_nanos();
        let full = refill.saturating_mul(self.capacity.into());
        self.full_at = self.full_at.max(now.as_nanos()).saturating_add(refill);
        let back_at = self.full_at.saturating_sub(full);
        Duration::from_nanos_u128(back_at.min(Duration::MAX.as_nanos())).max(now)
    }
}

/// Why [`TokenBucket::new`] refused (D17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetError {
    /// The capacity is zero: no attempt could ever start.
    CapacityZero,
    /// The refill time is zero: nothing would be limited.
    RefillZero,
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CapacityZero => "the budget's capacity is 0: no attempt could start (D17)",
            Self::RefillZero => "the budget's refill time is 0 s: it would limit nothing (D17)",
        })
    }
}

impl core::error::Error for BudgetError {}
