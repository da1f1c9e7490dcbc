//! How a person writes a time, a rate or a size; read exactly, never rounded.

use std::{fmt, num::NonZeroU64, ops::Range, string::String, time::Duration};

/// Units and their size in the smallest one. The longest suffix that fits is taken.
type Units = &'static [(&'static str, u64)];

const TIMES: Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];
const RATES: Units = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
];
const SIZES: Units = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
];

/// Why a value cannot be read; carries it as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// It does not end in one of these units, or what precedes the unit is no plain decimal number.
    Malformed(String, &'static str),
    /// It is 0 where that means nothing, finer than the smallest unit, or too large.
    OutOfRange(String),
    /// A range of times that is not `from..to`.
    NoRange(String),
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(text, example) => {
                write!(f, "`{text}` is not a number with a unit, such as {example}")
            }
            Self::OutOfRange(text) => write!(f, "`{text}` is too small, too fine or too large"),
            Self::NoRange(text) => {
                write!(f, "`{text}` is not a range of times, such as 10s..25s")
            }
        }
    }
}

impl core::error::Error for UnitError {}

/// Reads a time: a decimal number and `ns`, `us`, `ms`, `s` or `min`.
///
/// # Errors
/// A [`UnitError`].
pub fn time(text: &str) -> Result<Duration, UnitError> {
    quantity(text, TIMES, "40ms or 1.5s").map(Duration::from_nanos)
}

/// Reads a time above 0.
///
/// # Errors
/// A [`UnitError`].
pub fn positive_time(text: &str) -> Result<Duration, UnitError> {
    match time(text)? {
        Duration::ZERO => Err(UnitError::OutOfRange(text.into())),
        time => Ok(time),
    }
}

/// Reads a range of times, `10s..25s`.
///
/// # Errors
/// A [`UnitError`].
pub fn times(text: &str) -> Result<Range<Duration>, UnitError> {
    let (from, to) = text
        .split_once("..")
        .ok_or_else(|| UnitError::NoRange(text.into()))?;
    Ok(time(from)?..time(to)?)
}

/// Reads a rate in bits per second: a decimal number and `bit`, `kbit`, `mbit` or `gbit`.
///
/// # Errors
/// A [`UnitError`].
pub fn rate(text: &str) -> Result<u64, UnitError> {
    quantity(text, RATES, "100mbit or 64kbit")
}

/// Reads a size in bytes: a decimal number and `B`, `kB`, `MB`, `KiB` or `MiB`.
///
/// # Errors
/// A [`UnitError`].
pub fn size(text: &str) -> Result<usize, UnitError> {
    let bytes = quantity(text, SIZES, "250kB or 64KiB")?;
    usize::try_from(bytes).map_err(|_| UnitError::OutOfRange(text.into()))
}

/// Reads a decimal number with a unit as a whole number of the smallest unit.
fn quantity(text: &str, units: Units, example: &'static str) -> Result<u64, UnitError> {
    let malformed = || UnitError::Malformed(text.into(), example);
    let out_of_range = || UnitError::OutOfRange(text.into());
    let (number, unit) = units
        .iter()
        .filter_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))
        .min_by_key(|(number, _)| number.len())
        .ok_or_else(malformed)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    for digits in [whole, fraction] {
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(malformed());
        }
    }
    let whole: u64 = whole.parse().map_err(|_| out_of_range())?;
    let fraction = fraction.trim_end_matches('0');
    let places = u32::try_from(fraction.len()).map_err(|_| out_of_range())?;
    // Only digits are left, so reading the fraction fails by its length alone; nothing is 0.
    let parts: u64 = match fraction {
        "" => 0,
        digits => digits.parse().map_err(|_| out_of_range())?,
    };
    let scale = (10_u64.checked_pow(places).and_then(NonZeroU64::new)).ok_or_else(out_of_range)?;
    let parts = parts.checked_mul(unit).ok_or_else(out_of_range)?;
    if parts % scale != 0 {
        return Err(out_of_range());
    }
    whole
        .checked_mul(unit)
        .and_then(|whole| whole.checked_add(parts / scale))
        .ok_or_else(out_of_range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{format, string::ToString};

    #[test]
    fn values_are_read_exactly() {
        let ns = Duration::from_nanos;
        assert_eq!(time("0s"), Ok(ns(0)));
        assert_eq!(time("40ms"), Ok(ns(40_000_000)));
        assert_eq!(time("1.5s"), Ok(ns(1_500_000_000)));
        assert_eq!(time("0.000000001s"), Ok(ns(1)));
        assert_eq!(time("1.50us"), Ok(ns(1_500)));
        assert_eq!(time("2min"), Ok(ns(120_000_000_000)));
        assert_eq!(
            times("10s..25.5s"),
            Ok(time("10s").expect("a time")..time("25.5s").expect("a time"))
        );
        assert_eq!(rate("100mbit"), Ok(100_000_000));
        assert_eq!(rate("1.5kbit"), Ok(1_500));
        assert_eq!(rate("9bit"), Ok(9));
        assert_eq!(size("250kB"), Ok(250_000));
        assert_eq!(size("0.5KiB"), Ok(512));
        assert_eq!(size("7B"), Ok(7));
    }

    #[test]
    fn no_time_at_all_is_not_a_positive_time() {
        assert_eq!(positive_time("1ns"), Ok(Duration::from_nanos(1)));
        let error = UnitError::OutOfRange("0s".into());
        assert_eq!(positive_time("0s"), Err(error));
    }

    #[test]
    fn an_error_names_the_value() {
        for text in [
            "", "40", "ms", "40 ms", "-1s", "1e3ms", "1.s", ".5s", "1h", "1.2.3s",
        ] {
            let error = time(text).expect_err(text);
            assert!(matches!(error, UnitError::Malformed(..)), "{text}");
            assert!(error.to_string().contains(&format!("`{text}`")), "{text}");
        }
        for text in [
            "0.5ns",
            "1.0000000001s",
            "99999999999s",
            "18446744073709551616ns",
        ] {
            assert_eq!(
                time(text),
                Err(UnitError::OutOfRange(text.into())),
                "{text}"
            );
        }
        for text in ["10s", "10s-25s", "10s..", "..25s"] {
            assert!(times(text).is_err(), "{text}");
        }
    }
}
