use crate::jitter::within;
use crate::nanos::nanos;
use crate::{Jitter, Ratio};
use core::fmt;
use core::num::NonZeroU64;
use core::ops::RangeInclusive;
use core::time::Duration;

/// The delays that a client may wait: a base, grown by an exact ratio up to a cap, with jitter.
///
/// All arithmetic is exact, in whole nanoseconds, each growth rounded down; a span of 2^64 ns (584
/// years) or more counts as 1 ns less than that (B1). Shared by any number of clients; each keeps its own [`Series`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    base: NonZeroU64, // in ns
    cap: NonZeroU64,
    multiplier: Ratio,
    jitter: Jitter,
}

impl Schedule {
    /// Makes a schedule whose ceilings are `base`, `base x multiplier`, ... up to `cap`.
    ///
    /// # Errors
    ///
    /// A base of zero, a cap below the base, a multiplier below 1, a proportional jitter above
    /// 1, and a ratio over zero are refused (B1).
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
        if let Jitter::Proportional(ratio) = jitter
            && (!ratio.is_valid() || ratio.num > ratio.den)
        {
            return Err(ScheduleError::JitterAboveOne(ratio));
        }
        Ok(Self {
            base: base_ns,
            cap: cap_ns,
            multiplier,
            jitter,
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
        Duration::from_nanos(self.grown(n, self.multiplier).get())
    }

    /// The least and the greatest delay that the `n`-th draw can give, counted from 0 (B2).
    #[must_use]
    pub fn bounds(&self, n: u32) -> RangeInclusive<Duration> {
        let growth = match self.jitter {
            Jitter::Decorrelated => Ratio::new(3, 1),
            _ => self.multiplier,
        };
        let (least, most) = self.interval(self.grown(n, growth));
        Duration::from_nanos(least)..=Duration::from_nanos(self.clip(most))
    }

    /// The greatest delay that any draw can give: that of the cap, which jitter may exceed.
    #[must_use]
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.clip(self.interval(self.cap).1))
    }

    #[inline]
    const fn interval(&self, current: NonZeroU64) -> (u64, u64) {
        self.jitter.interval(self.base.get(), current.get())
    }

    /// A draw is never clipped to the cap, which would give many clients the same delay (B2).
    /// `Decorrelated` is defined with that clip.
    #[inline]
    fn clip(&self, delay: u64) -> u64 {
        match self.jitter {
            Jitter::Decorrelated => delay.min(self.cap.get()),
            _ => delay,
        }
    }

    fn grown(&self, n: u32, multiplier: Ratio) -> NonZeroU64 {
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

    /// One growth: rounded down, at most the cap, and at least 1 ns more where the multiplier is
    /// above 1, so that no sequence gets stuck (B1).
    #[inline]
    fn grow(&self, current: NonZeroU64, multiplier: Ratio) -> NonZeroU64 {
        if current >= self.cap {
            return self.cap; // where a series spends its life: no division
        }
        let least = current.saturating_add(u64::from(multiplier.num > multiplier.den));
        let grown = NonZeroU64::new(multiplier.of(current.get()));
        grown.map_or(least, |grown| grown.max(least)).min(self.cap)
    }
}

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

    #[inline]
    fn within(self, schedule: &Schedule) -> Self {
        Self {
            current: self.current.max(schedule.base).min(schedule.cap),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [Jitter; 5] = [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::Proportional(Ratio::new(1, 5)),
    ];

    fn schedules() -> impl Strategy<Value = Schedule> {
        let nanos = prop_oneof![1..100u64, 1..u64::MAX];
        let ratio = (1..=u32::MAX, 1..=u32::MAX).prop_map(|(a, b)| Ratio::new(a.max(b), a.min(b)));
        (nanos, ratio, any::<u64>(), 0..KINDS.len()).prop_map(|(base, multiplier, room, kind)| {
            let base = Duration::from_nanos(base);
            let cap = base.saturating_add(Duration::from_nanos(room));
            Schedule::new(base, multiplier, cap, KINDS[kind]).expect("in range by construction")
        })
    }

    proptest! {
        #[test]
        fn every_delay_lies_within_its_bounds(schedule in schedules(), draws in prop::collection::vec(any::<u64>(), 1..40)) {
            let mut series = Series::new(&schedule);
            for (n, draw) in (0..).zip(draws) {
                let delay = series.next(&schedule, draw);
                prop_assert!(schedule.bounds(n).contains(&delay), "delay {n} {delay:?}");
            }
        }

        #[test]
        fn the_extreme_draws_give_the_bounds_themselves(schedule in schedules(), n in 0..40u32) {
            let (mut low, mut high) = (Series::new(&schedule), Series::new(&schedule));
            for _ in 0..n {
                _ = low.next(&schedule, 0);
                _ = high.next(&schedule, u64::MAX);
            }
            prop_assert_eq!(low.next(&schedule, 0), *schedule.bounds(n).start());
            prop_assert_eq!(high.next(&schedule, u64::MAX), *schedule.bounds(n).end());
        }

        #[test]
        fn ceilings_grow_until_the_cap(schedule in schedules(), n in 0..40u32) {
            let (this, next) = (schedule.ceiling(n), schedule.ceiling(n + 1));
            prop_assert!(this <= next && next <= schedule.cap());
            prop_assert!(*schedule.bounds(n).end() <= schedule.longest());
            let grows = schedule.multiplier.num > schedule.multiplier.den;
            prop_assert!(!grows || this < next || this == schedule.cap());
        }

        #[test]
        fn a_stored_position_resumes_where_it_was(schedule in schedules(), draws in prop::collection::vec(any::<u64>(), 0..10)) {
            let mut series = Series::new(&schedule);
            for draw in draws {
                _ = series.next(&schedule, draw);
            }
            prop_assert_eq!(Series::resume(&schedule, series.current()), series);
        }

        #[test]
        fn a_series_obeys_whatever_schedule_it_is_used_with(one in schedules(), other in schedules(), n in 0..10u32, draw: u64) {
            let mut series = Series::new(&one);
            for _ in 0..n {
                _ = series.next(&one, draw);
            }
            let delay = series.next(&other, draw);
            prop_assert!(delay <= other.longest(), "{delay:?}");
            prop_assert!(delay >= *other.bounds(0).start(), "{delay:?}");
            prop_assert!((other.base()..=other.cap()).contains(&series.current()) || other.jitter == Jitter::Full);
        }
    }

    #[test]
    fn nonsense_is_refused_and_named() {
        let s = Duration::from_secs;
        let make = |base, num, den, cap, jitter| {
            Schedule::new(base, Ratio::new(num, den), cap, jitter).map_err(|error| {
                use std::string::ToString;
                error.to_string()
            })
        };
        let over = Jitter::Proportional(Ratio::new(6, 5));
        let by_zero = Jitter::Proportional(Ratio::new(0, 0));
        for (result, message) in [
            (
                make(s(0), 2, 1, s(1), Jitter::Full),
                "the base is zero (B1)",
            ),
            (
                make(s(2), 2, 1, s(1), Jitter::Full),
                "the cap 1s is below the base 2s (B1)",
            ),
            (
                make(s(1), 4, 5, s(2), Jitter::Full),
                "the multiplier 4/5 is not 1 or more (B1)",
            ),
            (
                make(s(1), 4, 0, s(2), Jitter::Full),
                "the multiplier 4/0 is not 1 or more (B1)",
            ),
            (
                make(s(1), 2, 1, s(2), over),
                "the jitter 6/5 is not in 0..=1 (B1)",
            ),
            (
                make(s(1), 2, 1, s(2), by_zero),
                "the jitter 0/0 is not in 0..=1 (B1)",
            ),
        ] {
            assert_eq!(result.expect_err("refused"), message);
        }
        assert!(make(s(1), 1, 1, s(1), Jitter::None).is_ok());
    }

    #[test]
    fn the_state_of_a_client_is_eight_bytes() {
        assert_eq!(size_of::<Series>(), 8);
        assert_eq!(size_of::<Option<Series>>(), 8);
    }

    #[test]
    fn spans_end_at_64_bits() {
        let (long, most) = (Duration::MAX, Duration::from_nanos(u64::MAX));
        let forever = Schedule::new(long, Ratio::new(2, 1), long, Jitter::Equal).expect("valid");
        assert_eq!((forever.base(), forever.cap()), (most, most));
        let ends = Duration::from_nanos(u64::MAX >> 1)..=most;
        assert_eq!(forever.bounds(1), ends);
        let mut series = Series::resume(&forever, long);
        assert_eq!(series.next(&forever, u64::MAX), most);
        assert_eq!(series.current(), most);
    }

    extern crate std;
}
