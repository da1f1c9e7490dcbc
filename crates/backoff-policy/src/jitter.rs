use crate::Ratio;
use crate::schedule::duration;
use core::time::Duration;

/// How a delay is drawn around its ceiling `c`, so that clients that failed together do not
/// return together.
///
/// Every kind takes exactly one draw per delay, [`None`](Self::None) included, so that changing
/// the kind never shifts a replayed stream (B3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Jitter {
    /// Exactly `c`: spreads nothing.
    None,
    /// Anywhere in `0..=c`.
    Full,
    /// Half of it fixed: anywhere in `c/2..=c`.
    Equal,
    /// Anywhere from the base to three times the previous delay (the base before the first),
    /// but never above the cap. The multiplier plays no part.
    ///
    /// This is the one kind that clips its draw, as published: in the long run about half of all
    /// delays are exactly the cap where it is ten times the base, and about a quarter where it is
    /// a thousand times the base.
    Decorrelated,
    /// Anywhere in `c - r c..=c + r c`, where `r` is at most 1 and `r c` is rounded down. The
    /// cap bounds `c`, not the delay: gRPC (r = 1/5, cap 120 s) waits up to 144 s.
    Proportional(Ratio),
}

impl Jitter {
    /// The interval that a delay is drawn from, in ns, ends included (B2). `current` is the
    /// ceiling, or the previous delay for `Decorrelated`.
    pub(crate) const fn interval(self, base: u128, current: u128) -> (u128, u128) {
        match self {
            Self::None => (current, current),
            Self::Full => (0, current),
            Self::Equal => (current >> 1, current),
            Self::Decorrelated => (base, current.saturating_mul(3)),
            Self::Proportional(ratio) => {
                let half_width = ratio.of(current);
                (
                    current.saturating_sub(half_width),
                    current.saturating_add(half_width),
                )
            }
        }
    }
}

/// Maps one draw, uniform over all of `u64`, to a span of at most `most`, evenly and ends included
/// (B3): what [`Jitter::Full`] does for a ceiling of `most`.
#[must_use]
pub fn uniform(most: Duration, draw: u64) -> Duration {
    duration(within(0, most.as_nanos(), draw))
}

/// Maps one draw to `least..=most`, evenly: the high half of `draw x count` (B3).
///
/// The count of values may need more than 64 bits (584 years of nanoseconds), so the product is
/// taken in two parts; the result is still its exact floor.
pub(crate) fn within(least: u128, most: u128, draw: u64) -> u128 {
    let count = most.saturating_sub(least).saturating_add(1);
    let draw = u128::from(draw);
    let low = count & u128::from(u64::MAX);
    let offset = draw
        .saturating_mul(count >> 64)
        .saturating_add(draw.saturating_mul(low) >> 64);
    least.saturating_add(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_draw_stays_inside_and_reaches_both_ends(least in 0..1u128 << 96, width in 0..1u128 << 64, draw: u64) {
            let most = least + width;
            prop_assert!((least..=most).contains(&within(least, most, draw)));
            prop_assert_eq!(within(least, most, 0), least);
            prop_assert_eq!(within(least, most.min(least + (1 << 63)), u64::MAX), most.min(least + (1 << 63)));
        }

        #[test]
        fn a_larger_draw_never_gives_a_smaller_delay(most in 0..1u128 << 96, a: u64, b: u64) {
            prop_assert!(within(0, most, a.min(b)) <= within(0, most, a.max(b)));
        }
    }

    #[test]
    fn a_wide_interval_uses_the_exact_high_product() {
        // (2^64 - 1) x 2^65 / 2^64 = 2^65 - 2: the part of the count above 64 bits is not lost.
        assert_eq!(within(0, (1 << 65) - 1, u64::MAX), (1 << 65) - 2);
    }
}
