//! Unsigned fixed point: nanoseconds with [`FRACTION_BITS`] fraction bits.

use core::{num::NonZeroU16, time::Duration};

/// 2^-8 ns: with the RFC's gains the error bound is 28 units = 0.11 ns, and the largest
/// sum, (1 + 32) x 2^50 ns, still fits in 64 bits.
pub(crate) const FRACTION_BITS: u32 = 8;

/// Whole nanoseconds as fixed point; they stay below `Config::LIMIT`, so no bit is lost.
pub(crate) const fn from_nanos(ns: u64) -> u64 {
    ns << FRACTION_BITS
}

/// Rounded to the nearest nanosecond, for reading.
pub(crate) const fn to_duration(value: u64) -> Duration {
    Duration::from_nanos(value.saturating_add(1 << (FRACTION_BITS - 1)) >> FRACTION_BITS)
}

/// Rounded up to whole nanoseconds, so that a delay is never too short.
#[inline]
pub(crate) const fn ceil_nanos(value: u64) -> u64 {
    value.wrapping_add((1 << FRACTION_BITS) - 1) >> FRACTION_BITS
}

/// The weight of a new measurement in a smoothed value, checked to lie in (0, 1].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    num: u16,
    den: u32,
}

impl Weight {
    pub(crate) const fn new(num: u16, den: u16) -> Self {
        let den = den as u32;
        Self { num, den }
    }

    pub(crate) const fn is(self, num: u16, den: u32) -> bool {
        self.num == num && self.den == den
    }

    /// The weight that one of `parts` measurements has.
    pub(crate) const fn part(self, parts: NonZeroU16) -> Self {
        let den = self.den.saturating_mul(parts.get() as u32); // 2^16 x 2^16 fits but for 1
        Self { den, ..self }
    }

    /// This share of `distance`, rounded to nearest (half a unit rounds up); the flag says whether
    /// nothing was lost in rounding.
    pub(crate) fn of(self, distance: i64) -> (i64, bool) {
        let den = i64::from(self.den.max(1)); // den >= 1 by construction of `Config`
        let half = den >> 1;
        if self.num == 1 {
            let step = distance.saturating_add(half).div_euclid(den);
            return (step, distance.rem_euclid(den) == 0);
        }
        let (den, half) = (i128::from(den), i128::from(half));
        let product = i128::from(distance).wrapping_mul(i128::from(self.num));
        let step = product.wrapping_add(half).div_euclid(den);
        let step = i64::try_from(step).unwrap_or(distance); // num <= den: never farther
        (step, product.rem_euclid(den) == 0)
    }

    /// An upper bound on the rounding error that a chain of updates accumulates, in units:
    /// half a unit each time, shrunk by (1 - weight) ever after, sums to 1 / (2 weight).
    pub(crate) const fn error_bound(self) -> u64 {
        // num >= 1 by construction of `Config`; rounded up.
        let double = (self.num as u64).saturating_mul(2);
        (self.den as u64).div_ceil(if double == 0 { 1 } else { double })
    }
}

/// An eighth of `distance`, rounded as [`Weight::of`] rounds it: alpha of the RFC.
#[inline]
pub(crate) const fn eighth(distance: i64) -> i64 {
    distance.wrapping_add(4) >> 3
}

/// A quarter of `distance`, rounded as [`Weight::of`] rounds it: beta of the RFC.
#[inline]
pub(crate) const fn quarter(distance: i64) -> i64 {
    distance.wrapping_add(2) >> 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shifts_and_the_division_agree() {
        let distances = [0, 1, 3, 4, 5, 255, 256, 1 << 40, (1 << 58) - 1];
        for distance in distances
            .into_iter()
            .flat_map(|distance| [distance, -distance])
        {
            let exact = |mask| distance & mask == 0;
            assert_eq!((eighth(distance), exact(7)), Weight::new(1, 8).of(distance));
            assert_eq!(
                (quarter(distance), exact(3)),
                Weight::new(1, 4).of(distance)
            );
            assert_eq!(
                Weight::new(2, 16).of(distance),
                Weight::new(1, 8).of(distance)
            );
        }
    }

    #[test]
    fn steps_round_to_nearest_in_both_directions() {
        let eighth = Weight::new(1, 8);
        assert_eq!(eighth.of(3), (0, false));
        assert_eq!(eighth.of(4), (1, false)); // 4/8 rounds up
        assert_eq!(eighth.of(-4), (0, false)); // -4/8 rounds up too
        assert_eq!(eighth.of(-5), (-1, false));
        assert_eq!(eighth.of(8), (1, true));
        assert_eq!(Weight::new(3, 10).of(10), (3, true));
        assert_eq!(Weight::new(3, 10).of(-5), (-1, false)); // -1.5 rounds up to -1
    }

    #[test]
    fn a_part_of_a_weight_is_that_much_smaller() {
        let half = NonZeroU16::new(2).unwrap();
        assert_eq!(Weight::new(1, 8).part(half), Weight::new(1, 16));
        let most = Weight::new(u16::MAX, u16::MAX).part(NonZeroU16::MAX);
        assert_eq!(most.of(i64::from(u16::MAX)), (1, true));
    }

    #[test]
    fn error_bounds_of_the_rfc_gains() {
        assert_eq!(Weight::new(1, 8).error_bound(), 4);
        assert_eq!(Weight::new(1, 4).error_bound(), 2);
        assert_eq!(Weight::new(3, 10).error_bound(), 2); // 10/6, rounded up
    }

    #[test]
    fn whole_nanoseconds_round_up_for_delays_and_to_nearest_for_reading() {
        assert_eq!(ceil_nanos(257), 2);
        assert_eq!(ceil_nanos(256), 1);
        assert_eq!(to_duration(127), Duration::ZERO);
        assert_eq!(to_duration(128), Duration::from_nanos(1));
    }
}
