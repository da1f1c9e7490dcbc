use crate::nanos::nanos;
use crate::{Jitter, Ratio};
use core::fmt;
use core::num::NonZeroU64;
use core::ops::RangeInclusive;
use core::time::Duration;

/// The delays that a client may wait: a base, grown by an exact ratio up to a cap, with jitter.
///
/// All arithmetic is exact, in whole nanoseconds, each growth rounded down; a span of 2^64 ns (584
/// years) or more counts as 1 ns less than that (B1). Shared by any number of clients; each keeps its own [`Series`](crate::Series).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) base: NonZeroU64, // in ns
    pub(crate) cap: NonZeroU64,
    pub(crate) multiplier: Ratio,
    pub(crate) jitter: Jitter,
    /// Where growth ends: at the cap, or past it where the draw is clipped instead.
    pub(crate) limit: NonZeroU64,
    /// What a draw is clipped to, by the kinds that are defined so: no other draw is, since that
    /// would give many clients the same delay (B2).
    pub(crate) clip: u64,
}

impl Schedule {
    /// Makes a schedule whose ceilings are `base`, `base x multiplier`, ... up to `cap`.
    ///
    /// # Errors
    ///
    /// A base of zero, a cap below the base, a multiplier below 1, a ratio of jitter above 1, and
    /// a ratio over zero are refused (B1).
    pub const fn new(
        base: Duration,
        multiplier: Ratio,
        cap: Duration,
        jitter: Jitter,
    ) -> Result<Self, ScheduleError> {
        let Some(base_ns) = NonZeroU64::new(nanos(base)) else {
            return Err(ScheduleError::BaseZero);
        };
        let cap_ns = match NonZeroU64::new(nanos(cap)) {
            Some(cap) if cap.get() >= base_ns.get() => cap,
            _ => return Err(ScheduleError::CapBelowBase { base, cap }),
        };
        if !multiplier.is_valid() || multiplier.num < multiplier.den {
            return Err(ScheduleError::MultiplierBelowOne(multiplier));
        }
        if let Some(ratio) = jitter.ratio()
            && (!ratio.is_valid() || ratio.num > ratio.den)
        {
            return Err(ScheduleError::JitterAboveOne(ratio));
        }
        let (limit, clip) = match jitter {
            Jitter::Decorrelated => (cap_ns, cap_ns.get()),
            Jitter::ProportionalClipped(_) => (NonZeroU64::MAX, cap_ns.get()),
            _ => (cap_ns, u64::MAX),
        };
        Ok(Self {
            base: base_ns,
            cap: cap_ns,
            multiplier,
            jitter,
            limit,
            clip,
        })
    }

    /// The first ceiling.
    #[must_use]
    pub const fn base(&self) -> Duration {
        Duration::from_nanos(self.base.get())
    }

    /// The greatest ceiling.
    #[must_use]
    pub const fn cap(&self) -> Duration {
        Duration::from_nanos(self.cap.get())
    }

    /// What a ceiling is multiplied by to give the next.
    #[must_use]
    pub const fn multiplier(&self) -> Ratio {
        self.multiplier
    }

    /// How a delay is drawn around its ceiling.
    #[must_use]
    pub const fn jitter(&self) -> Jitter {
        self.jitter
    }

    /// The `n`-th ceiling, counted from 0: the value before jitter. It takes `n` steps, or fewer
    /// where the cap ends the growth.
    #[must_use]
    pub fn ceiling(&self, n: u32) -> Duration {
        Duration::from_nanos(self.grown(n, self.multiplier).min(self.cap).get())
    }

    /// The least and the greatest delay that the `n`-th draw can give, counted from 0 (B2).
    #[must_use]
    pub fn bounds(&self, n: u32) -> RangeInclusive<Duration> {
        let growth = match self.jitter {
            Jitter::Decorrelated => Ratio::new(3, 1),
            _ => self.multiplier,
        };
        let (least, most) = self.interval(self.grown(n, growth));
        Duration::from_nanos(self.clip(least))..=Duration::from_nanos(self.clip(most))
    }

    /// The greatest delay that any draw can give: that of the cap, which jitter may exceed.
    #[must_use]
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.clip(self.interval(self.cap).1))
    }

    /// The same schedule with a smaller cap, so that no delay exceeds this one's: the window of a
    /// jitter of 1/5 becomes 2/3 of the cap to the cap, where clipping would pile up draws (B2).
    ///
    /// # Errors
    ///
    /// A base that has no room below the smaller cap is refused.
    ///
    /// ```
    /// # use {backoff_policy::*, core::time::Duration};
    /// let s = Duration::from_secs;
    /// let jitter = Jitter::Proportional(Ratio::new(1, 5));
    /// let within = Schedule::new(s(1), Ratio::new(8, 5), s(120), jitter)?.within_cap()?;
    /// assert_eq!((within.cap(), within.longest()), (s(100), s(120)));
    /// # Ok::<(), ScheduleError>(())
    /// ```
    pub fn within_cap(&self) -> Result<Self, ScheduleError> {
        let Self { base, cap, .. } = *self;
        let cap = match self.jitter {
            Jitter::Proportional(ratio) | Jitter::Additive(ratio) => {
                let (num, den) = (u64::from(ratio.num), u64::from(ratio.den));
                let whole = u128::from(den.saturating_add(num));
                let product = u128::from(cap.get()).saturating_mul(den.into());
                let scaled = product.checked_div(whole).unwrap_or(0);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
            _ => cap.get(),
        };
        let (base, cap) = (Duration::from_nanos(base.get()), Duration::from_nanos(cap));
        Self::new(base, self.multiplier, cap, self.jitter)
    }

    /// The interval that a delay is drawn from, in ns, ends included (B2). `current` is the
    /// ceiling, or the previous delay for `Decorrelated`.
    #[inline]
    pub(crate) fn interval(&self, current: NonZeroU64) -> (u64, u64) {
        let c = current.get();
        match self.jitter {
            Jitter::None => (c, c),
            Jitter::Full => (0, c),
            Jitter::Equal => (c >> 1, c),
            Jitter::Decorrelated => (self.base.get(), c.saturating_mul(3)),
            Jitter::Proportional(ratio) => {
                let half_width = ratio.of(c);
                (c.saturating_sub(half_width), c.saturating_add(half_width))
            }
            _ => self.rare_interval(current),
        }
    }

    /// Apart, so that the usual kinds stay small where they are inlined.
    #[cold]
    fn rare_interval(&self, current: NonZeroU64) -> (u64, u64) {
        let c = current.get();
        let width = self.jitter.ratio().map_or(0, |ratio| ratio.of(c));
        match self.jitter {
            Jitter::BetweenCeilings => (c, self.grow(current, self.multiplier).get()),
            Jitter::ProportionalClipped(_) => (c.saturating_sub(width), c.saturating_add(width)),
            _ => (c, c.saturating_add(width)), // `Additive`
        }
    }

    #[inline]
    pub(crate) fn clip(&self, delay: u64) -> u64 {
        delay.min(self.clip)
    }

    pub(crate) fn grown(&self, n: u32, multiplier: Ratio) -> NonZeroU64 {
        let mut current = self.base;
        for _ in 0..n {
            let next = self.grow(current, multiplier);
            if next == current {
                break;
            }
            current = next;
        }
        current
    }

    /// One growth: rounded down, at most the limit, and at least 1 ns more where the multiplier is
    /// above 1, so that no sequence gets stuck (B1).
    #[inline]
    pub(crate) fn grow(&self, current: NonZeroU64, multiplier: Ratio) -> NonZeroU64 {
        let limit = self.limit;
        if current >= limit {
            return limit; // where a series spends its life: no division
        }
        let least = current.saturating_add(u64::from(multiplier.num > multiplier.den));
        let grown = NonZeroU64::new(multiplier.of(current.get()));
        grown.map_or(least, |grown| grown.max(least)).min(limit)
    }
}

/// Why [`Schedule::new`] refused, with the offending value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The base is zero: the client would try again at once, for ever.
    BaseZero,
    /// The cap is below the base.
    CapBelowBase {
        /// The base that was given.
        base: Duration,
        /// The cap that was given.
        cap: Duration,
    },
    /// The multiplier is below 1, or over zero.
    MultiplierBelowOne(Ratio),
    /// The proportional jitter is above 1, or over zero.
    JitterAboveOne(Ratio),
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BaseZero => write!(f, "the base is zero (B1)"),
            Self::CapBelowBase { base, cap } => {
                write!(f, "the cap {cap:?} is below the base {base:?} (B1)")
            }
            Self::MultiplierBelowOne(ratio) => {
                write!(f, "the multiplier {ratio} is not 1 or more (B1)")
            }
            Self::JitterAboveOne(ratio) => write!(f, "the jitter {ratio} is not in 0..=1 (B1)"),
        }
    }
}

impl core::error::Error for ScheduleError {}
