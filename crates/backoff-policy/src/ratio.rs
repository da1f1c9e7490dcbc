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

    /// Multiplies and rounds down (B1). A [`core::time::Duration`] has under 2^94 ns and a
    /// numerator under 2^32, so their product fits; a larger value saturates.
    #[must_use]
    pub(crate) const fn of(self, nanos: u128) -> u128 {
        match nanos
            .saturating_mul(self.num as u128)
            .checked_div(self.den as u128)
        {
            Some(quotient) => quotient,
            None => u128::MAX, // a denominator of zero, which no schedule has
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}
