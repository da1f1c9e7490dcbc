use crate::jitter::within;
use crate::nanos::nanos;
use crate::{Jitter, Schedule};
use core::num::{NonZeroU32, NonZeroU64};
use core::time::Duration;

/// Where one client stands in a [`Schedule`]: what its next delay is drawn from.
///
/// Copy it before [`next`](Self::next) to be able to go back. It has no generator of its own:
/// the host draws (B4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Series {
    /// In ns: the next ceiling; for `Decorrelated` the previous delay.
    current: NonZeroU64,
}

impl Series {
    /// Starts at the first delay.
    #[must_use]
    pub const fn new(schedule: &Schedule) -> Self {
        Self {
            current: schedule.base,
        }
    }

    /// Goes on from a stored [`current`](Self::current). A value outside this schedule's base to
    /// cap, stored under another schedule, is brought to the nearer end.
    #[must_use]
    pub fn resume(schedule: &Schedule, current: Duration) -> Self {
        let current = NonZeroU64::new(nanos(current)).unwrap_or(schedule.base);
        Self { current }.within(schedule)
    }

    /// As it was stored, in ns: `next` brings it into its schedule.
    pub(crate) const fn stored(current: NonZeroU64) -> Self {
        Self { current }
    }

    #[inline]
    fn within(self, schedule: &Schedule) -> Self {
        Self {
            current: self.current.max(schedule.base).min(schedule.limit),
        }
    }

    /// The value that the next delay is drawn from: its ceiling, or for
    /// [`Jitter::Decorrelated`] the previous delay.
    #[must_use]
    pub const fn current(&self) -> Duration {
        Duration::from_nanos(self.current.get())
    }

    /// Gives the next delay by one draw, uniform over all of `u64` (B3), and moves on. Jitter
    /// never compounds: what grows is the value before it. Under another schedule than before it
    /// first does what [`resume`](Self::resume) does.
    #[inline(always)] // so that a caller that needs the delay or the move alone gets just that
    #[must_use]
    pub fn next(&mut self, schedule: &Schedule, draw: u64) -> Duration {
        let Self { current } = self.within(schedule);
        let (least, most) = schedule.interval(current);
        let delay = schedule.clip(within(least, most, draw));
        self.current = match schedule.jitter {
            Jitter::Decorrelated => NonZeroU64::new(delay).unwrap_or(current),
            _ => schedule.grow(current, schedule.multiplier),
        };
        Duration::from_nanos(delay)
    }

    /// As [`next`](Self::next), drawn around a ceiling that is `factor` times as high, up to the
    /// cap; what grows is the ceiling without it.
    #[must_use]
    pub(crate) fn next_scaled(
        &mut self,
        schedule: &Schedule,
        factor: NonZeroU32,
        draw: u64,
    ) -> Duration {
        let factor = NonZeroU64::from(factor);
        let mut scaled = Self {
            current: self.current.saturating_mul(factor),
        };
        let delay = scaled.next(schedule, draw);
        if factor.get() == 1 {
            *self = scaled;
        } else {
            _ = self.next(schedule, draw);
        }
        delay
    }
}
