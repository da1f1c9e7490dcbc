use super::window::Window;
use crate::nanos::nanos;
use crate::{Admission, Budget, BudgetError, Class, Cost, Outcome, Ratio};
use core::time::Duration;

/// The ring: two minutes in steps of 5 s.
const SLICES: usize = 24;
const WINDOW: Duration = Duration::from_secs(120);

/// Adaptive throttling, by the book on site reliability engineering: a client whose requests are
/// not accepted stops sending most of them (B24).
///
/// Over the last two minutes, in steps of 5 s, it counts the attempts that wanted to start and those
/// that the server accepted, and rejects the next with the probability
/// max(0, (requests - K x accepts) / (requests + 1)), exact to the last of 64 bits. What is rejected
/// counts as a request too. A failure with [`Class::Permanent`] is an answer, and so accepted.
///
/// Source: "Site Reliability Engineering", chapter 21, "Client-Side Throttling".
#[derive(Debug)]
pub struct SreThrottle {
    k: Ratio,
    requests: Window<SLICES>,
    accepts: Window<SLICES>,
}

impl SreThrottle {
    /// The book's own value: K = 2, so that a server that is back is noticed soon, at the price of
    /// one request sent in vain per request accepted.
    #[must_use]
    pub const fn standard() -> Self {
        Self::checked(Ratio::new(2, 1))
    }

    /// Makes a throttle that sends `k` times as many requests as are accepted.
    ///
    /// # Errors
    ///
    /// A `k` below 1 or over zero is refused (B24).
    pub const fn new(k: Ratio) -> Result<Self, BudgetError> {
        if !k.is_valid() || k.num < k.den {
            return Err(BudgetError::AcceptsRatio(k));
        }
        Ok(Self::checked(k))
    }

    const fn checked(k: Ratio) -> Self {
        Self {
            k,
            requests: Window::new(nanos(WINDOW)),
            accepts: Window::new(nanos(WINDOW)),
        }
    }

    /// The requests and the accepts of the last two minutes.
    #[must_use]
    pub fn counts(&self, now: Duration) -> (u32, u32) {
        let of = |window: &Window<SLICES>| {
            let total = window.total(nanos(now)).max(0);
            u32::try_from(total).unwrap_or(u32::MAX)
        };
        (of(&self.requests), of(&self.accepts))
    }
}

/// Whether a draw rejects: draw / 2^64 < (requests - k accepts) / (requests + 1), multiplied out.
/// Nothing overflows 128 bits: each side is below 2^64 x 2^32 x 2^32.
fn rejects(k: Ratio, requests: u32, accepts: u32, draw: u64) -> bool {
    let [num, den, requests, accepts] = [k.num, k.den, requests, accepts].map(u128::from);
    let allowed = num.saturating_mul(accepts);
    let excess = requests.saturating_mul(den).saturating_sub(allowed);
    let whole = requests.saturating_add(1).saturating_mul(den);
    u128::from(draw).saturating_mul(whole) < excess << u64::BITS
}

impl Budget for SreThrottle {
    fn admit(&self, now: Duration, draw: u64) -> Admission {
        let (requests, accepts) = self.counts(now);
        self.requests.add(nanos(now), 1);
        if rejects(self.k, requests, accepts, draw) {
            Admission::Rejected
        } else {
            Admission::Now
        }
    }

    /// Free: what is too much is not admitted.
    fn withdraw(&self, _now: Duration, _class: Class) -> Option<Cost> {
        Some(Cost::new(0))
    }

    fn end(&self, now: Duration, outcome: Outcome, _paid: Option<Cost>) {
        if let Outcome::Succeeded | Outcome::Failed(Class::Permanent) = outcome {
            self.accepts.add(nanos(now), 1);
        }
    }
}
