use core::fmt;

/// An exact fraction: `Ratio::new(8, 5)` is 1.6, to the last bit and on every platform.
///
/// It is plain data. Whoever takes one (such as [`Schedule::new`](crate::Schedule::new)) refuses
/// a denominator of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    /// Above the line.
    pub num: u32,
    /// Below the line; zero is refused where the ratio is used.
    pub den: u32,
}

impl Ratio {
    /// Makes the ratio `num / den`.
    #[must_use]
    pub const fn new(num: u32, den: u32) -> Self {
        Self { num, den }
    }

    /// Says whether the denominator is not zero, so that the ratio has a value.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.den != 0
    }

    /// The same in lowest terms.
    #[must_use]
    pub(crate) const fn reduced(self) -> Self {
        let (mut common, mut rest) = (self.num, self.den);
        while let Some(next) = common.checked_rem(rest) {
            (common, rest) = (rest, next);
        }
        match (self.num.checked_div(common), self.den.checked_div(common)) {
            (Some(num), Some(den)) => Self { num, den },
            _ => self, // zero over zero
        }
    }

    /// Multiplies and rounds down (B1); saturates.
    #[inline]
    #[must_use]
    pub(crate) const fn of(self, nanos: u64) -> u64 {
        let (num, den) = (self.num as u64, self.den as u64);
        match nanos.checked_mul(num) {
            Some(product) => match product.checked_div(den) {
                Some(quotient) => quotient,
                None => u64::MAX, // a denominator of zero, which no schedule has
            },
            None => Self::of_large(nanos, num, den),
        }
    }

    /// The same where the product needs more than 64 bits: whole denominators first. What is left
    /// is below a denominator, so its product fits.
    #[cold]
    const fn of_large(nanos: u64, num: u64, den: u64) -> u64 {
        let (Some(whole), Some(rest)) = (nanos.checked_div(den), nanos.checked_rem(den)) else {
            return u64::MAX;
        };
        match rest.saturating_mul(num).checked_div(den) {
            Some(rest) => whole.saturating_mul(num).saturating_add(rest),
            None => u64::MAX,
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_same_in_lowest_terms(num in 0..4_000u32, den in 1..4_000u32, factor in 1..1_000_000u32) {
            let reduced = Ratio::new(num * factor, den * factor).reduced();
            prop_assert_eq!(reduced, Ratio::new(num, den).reduced());
            prop_assert_eq!(num * reduced.den, reduced.num * den);
            prop_assert!(reduced.den <= den);
        }

        /// Exact, however long the product gets.
        #[test]
        fn it_multiplies_as_in_128_bits(nanos: u64, num: u32, den in 1..=u32::MAX) {
            let exact = u128::from(nanos) * u128::from(num) / u128::from(den);
            let expected = u64::try_from(exact).unwrap_or(u64::MAX);
            prop_assert_eq!(Ratio::new(num, den).of(nanos), expected);
        }
    }
}
