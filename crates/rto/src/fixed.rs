//! Unsigned fixed point: nanoseconds with [`FRACTION_BITS`] fraction bits.

use core::time::Duration;

/// 2^-8 ns: with the RFC's gains the error bound is 28 units = 0.11 ns, and the largest
/// sum, (1 + 32) x 2^50 ns, still fits in 64 bits.
pub(crate) const FRACTION_BITS: u32 = 8;

/// The duration in whole nanoseconds; saturates after 584 years.
pub(crate) const fn nanos(duration: Duration) -> u64 {
    (duration.as_secs())
        .saturating_mul(1_000_000_000)
        .saturating_add(duration.subsec_nanos() as u64)
}

/// Whole nanoseconds as fixed point; they stay below `Config::LIMIT`, so no bit is lost.
pub(crate) const fn from_nanos(ns: u64) -> u64 {
    ns << FRACTION_BITS
}

/// Rounded to the nearest nanosecond, for reading.
pub(crate) const fn to_duration(value: u64) -> Duration {
    Duration::from_nanos(value.saturating_add(1 << (FRACTION_BITS - 1)) >> FRACTION_BITS)
}

/// Rounded up to whole nanoseconds, so that a delay is never too short.
pub(crate) const fn ceil_nanos(value: u64) -> u64 {
    value.saturating_add((1 << FRACTION_BITS) - 1) >> FRACTION_BITS
}

/// The weight of a new measurement in a smoothed value, checked to lie in (0, 1].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    num: u16,
    den: u16,
    /// log2(den) where the weight is 1/2^n: a shift instead of a division.
    shift: Option<u8>,
}

impl Weight {
    pub(crate) const fn new(num: u16, den: u16) -> Self {
        let shift = if num == 1 && den.is_power_of_two() {
            Some(den.trailing_zeros().to_le_bytes()[0])
        } else {
            None
        };
        Self { num, den, shift }
    }

    /// Moves `value` towards `target` by this share of their distance, rounded to
    /// nearest (half a unit rounds up); the flag says whether nothing was lost in rounding.
    ///
    /// Both are below 2^63, which the limits of `Config` see to: wrapping never happens.
    #[inline]
    pub(crate) fn blend(self, value: u64, target: u64) -> (u64, bool) {
        let distance = target.wrapping_sub(value).cast_signed();
        let Some(shift) = self.shift else {
            return self.divide(value, distance);
        };
        let unit = 1_i64 << (shift & 15); // den is a u16, so shift <= 15
        let step = distance.wrapping_add(unit >> 1) >> (shift & 15);
        let exact = distance & unit.wrapping_sub(1) == 0;
        (value.wrapping_add_signed(step), exact)
    }

    /// [`blend`](Self::blend) for weights that are no power of two; apart, so that the
    /// registers it needs cost the others nothing.
    #[cold]
    #[inline(never)]
    fn divide(self, value: u64, distance: i64) -> (u64, bool) {
        let (num, den) = (i128::from(self.num), i128::from(self.den.max(1)));
        let product = i128::from(distance).wrapping_mul(num);
        let step = product.wrapping_add(den >> 1).div_euclid(den);
        let exact = product.rem_euclid(den) == 0;
        let step = i64::try_from(step).unwrap_or(distance); // num <= den: never farther
        (value.wrapping_add_signed(step), exact)
    }

    /// An upper bound on the rounding error that a chain of blends accumulates, in units:
    /// half a unit each time, shrunk by (1 - weight) ever after, sums to 1 / (2 weight).
    pub(crate) const fn error_bound(self) -> u64 {
        // num >= 1 by construction of `Config`; rounded up.
        let double = (self.num as u64).saturating_mul(2);
        (self.den as u64).div_ceil(if double == 0 { 1 } else { double })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_and_the_division_agree() {
        for (den, shift) in [(1, 0), (2, 1), (4, 2), (8, 3), (32_768, 15)] {
            let fast = Weight::new(1, den);
            assert_eq!(fast.shift, Some(shift));
            let slow = Weight {
                shift: None,
                ..fast
            };
            for value in [0, 1, 3, 4, 5, 255, 256, 1 << 40, (1 << 58) - 1] {
                for target in [0, 1, 2, 3, 7, 1 << 20, (1 << 58) - 1] {
                    assert_eq!(fast.blend(value, target), slow.blend(value, target));
                }
            }
        }
    }

    #[test]
    fn steps_round_to_nearest_in_both_directions() {
        let eighth = Weight::new(1, 8);
        assert_eq!(eighth.blend(100, 103), (100, false)); // 3/8
        assert_eq!(eighth.blend(100, 104), (101, false)); // 4/8 rounds up
        assert_eq!(eighth.blend(104, 100), (104, false)); // -4/8 rounds up too
        assert_eq!(eighth.blend(105, 100), (104, false)); // -5/8
        assert_eq!(eighth.blend(100, 108), (101, true));
        assert_eq!(Weight::new(3, 10).blend(0, 10), (3, true));
        assert_eq!(Weight::new(3, 10).blend(10, 5), (9, false)); // -1.5 rounds up to -1
    }

    #[test]
    fn error_bounds_of_the_rfc_gains() {
        assert_eq!(Weight::new(1, 8).error_bound(), 4);
        assert_eq!(Weight::new(1, 4).error_bound(), 2);
        assert_eq!(Weight::new(3, 10).error_bound(), 2); // 10/6, rounded up
    }

    #[test]
    fn nanoseconds_saturate() {
        assert_eq!(nanos(Duration::MAX), u64::MAX);
        assert_eq!(nanos(Duration::new(2, 3)), 2_000_000_003);
        assert_eq!(ceil_nanos(257), 2);
        assert_eq!(ceil_nanos(256), 1);
        assert_eq!(to_duration(127), Duration::ZERO);
        assert_eq!(to_duration(128), Duration::from_nanos(1));
    }
}
