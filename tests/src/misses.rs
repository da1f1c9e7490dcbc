//! How the answers of a machine are held to what a vector states.

use std::fmt::Debug;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

/// What is not as stated, a line each. What a vector leaves out is not compared.
#[derive(Default)]
pub(crate) struct Misses(Vec<String>);

impl Misses {
    pub(crate) fn equal<T: PartialEq + Debug>(&mut self, what: &str, expected: Option<T>, got: T) {
        if expected.is_some_and(|expected| expected != got) {
            self.0.push(format!("{what} is {got:?}"));
        }
    }

    /// Where another relation than equality decides.
    pub(crate) fn fits<E, T: Copy + Debug>(
        &mut self,
        what: &str,
        expected: Option<E>,
        got: T,
        fits: impl FnOnce(E, T) -> bool,
    ) {
        if expected.is_some_and(|expected| !fits(expected, got)) {
            self.0.push(format!("{what} is {got:?}"));
        }
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.0
    }
}

/// An average is the stated one, but for a tolerance either way.
pub(crate) fn near(tolerance_ns: u64) -> impl Fn(u64, &BigRational) -> bool {
    move |expected, got| rounded(got).is_some_and(|got| got.abs_diff(expected) <= tolerance_ns)
}

/// A span or an instant is never below the stated one, and above it within a tolerance.
pub(crate) fn not_early<T: Into<u128>>(tolerance_ns: u64) -> impl Fn(u64, T) -> bool {
    move |expected, got| {
        let late = got.into().checked_sub(expected.into());
        late.is_some_and(|late| late <= tolerance_ns.into())
    }
}

/// There are both and they fit, or there is neither.
pub(crate) fn both<E, T>(fits: impl Fn(E, T) -> bool) -> impl Fn(Option<E>, Option<T>) -> bool {
    move |expected, got| match (expected, got) {
        (Some(expected), Some(got)) => fits(expected, got),
        (expected, got) => expected.is_none() && got.is_none(),
    }
}

/// To the nearest integer, halves up.
fn rounded(value: &BigRational) -> Option<u64> {
    debug_assert!(!value.is_negative());
    let half = BigRational::new(BigInt::from(1), BigInt::from(2));
    (value + half).floor().to_integer().try_into().ok()
}
