use crate::Ratio;
use crate::nanos::nanos;
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
    /// It clips its draw, as published: in the long run about half of all
    /// delays are exactly the cap where it is ten times the base, and about a quarter where it is
    /// a thousand times the base.
    Decorrelated,
    /// Anywhere in `c - r c..=c + r c`, where `r` is at most 1 and `r c` is rounded down. The
    /// cap bounds `c`, not the delay: gRPC (r = 1/5, cap 120 s) waits up to 144 s.
    Proportional(Ratio),
    /// Anywhere in `c..=c + r c`: never sooner than without jitter. The cap bounds `c`, as above.
    Additive(Ratio),
    /// Anywhere from `c` to the next ceiling; from the cap on exactly the cap, which spreads
    /// nothing.
    BetweenCeilings,
    /// As `Proportional`, around a value that grows past the cap, and the draw is clipped to the
    /// cap: once `c - r c` is above it, everybody waits exactly the cap. As published by a library
    /// that many use; for nothing new.
    ProportionalClipped(Ratio),
}

impl Jitter {
    /// The share of the ceiling that is random, where one is given.
    #[inline]
    pub(crate) const fn ratio(self) -> Option<Ratio> {
        match self {
            Self::Proportional(ratio)
            | Self::Additive(ratio)
            | Self::ProportionalClipped(ratio) => Some(ratio),
            Self::None | Self::Full | Self::Equal | Self::Decorrelated | Self::BetweenCeilings => {
                None
            }
        }
    }
}

/// Maps one draw, uniform over all of `u64`, to a span of at most `most`, evenly and ends included
/// (B3): what [`Jitter::Full`] does for a ceiling of `most`.
///
/// ```
/// # use {backoff_policy::uniform, core::time::Duration};
/// let ms = Duration::from_millis;
/// assert_eq!([0, 1 << 63, u64::MAX].map(|draw| uniform(ms(10), draw)), [ms(0), ms(5), ms(10)]);
/// ```
#[must_use]
pub const fn uniform(most: Duration, draw: u64) -> Duration {
    Duration::from_nanos(within(0, nanos(most), draw))
}

/// Maps one draw to `least..=most`, evenly: the high half of `draw x count` (B3).
#[inline]
pub(crate) const fn within(least: u64, most: u64, draw: u64) -> u64 {
    let width = most.saturating_sub(least) as u128; // one less than the count
    let draw = draw as u128;
    // (2^64 - 1)^2 + 2^64 - 1 still fits.
    let product = draw.wrapping_mul(width).wrapping_add(draw);
    least.saturating_add((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_draw_stays_inside_and_reaches_both_ends(a: u64, b: u64, draw: u64) {
            let (least, most) = (a.min(b), a.max(b));
            prop_assert!((least..=most).contains(&within(least, most, draw)));
            prop_assert_eq!(within(least, most, 0), least);
            prop_assert_eq!(within(least, most, u64::MAX), most);
        }

        #[test]
        fn a_larger_draw_never_gives_a_smaller_delay(most: u64, a: u64, b: u64) {
            prop_assert!(within(0, most, a.min(b)) <= within(0, most, a.max(b)));
        }
    }

    #[test]
    fn over_all_64_bits_a_draw_is_its_own_result() {
        for draw in [0, 1, 1 << 63, u64::MAX] {
            assert_eq!(within(0, u64::MAX, draw), draw); // 2^64 values
        }
    }
}
