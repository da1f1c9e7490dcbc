//! How a person writes a time, a rate, a size or a count; read exactly, never rounded.

use std::{
    fmt,
    num::NonZeroU128,
    ops::{Range, RangeInclusive},
    string::String,
    time::Duration,
};

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

/// Why a value cannot be read; carries it as it was given, and the rule that it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// It is no plain decimal number with one of the units, such as these.
    Malformed(String, &'static str),
    /// It is 0, where that means nothing.
    Zero(String),
    /// It is no whole number of the smallest unit, this one.
    TooFine(String, &'static str),
    /// It is 2^64 or more of the smallest unit, this one.
    TooLarge(String, &'static str),
    /// It is not `from..to`.
    NoRange(String),
    /// It is not a whole number within this range.
    NoCount(String, RangeInclusive<u64>),
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(text, examples) => {
                write!(
                    f,
                    "`{text}` is not a plain number with a unit, such as {examples}"
                )
            }
            Self::Zero(text) => write!(f, "`{text}` is not above 0"),
            Self::TooFine(text, unit) => write!(f, "`{text}` is finer than 1{unit}"),
            Self::TooLarge(text, unit) => write!(f, "`{text}` is above {}{unit}", u64::MAX),
            Self::NoRange(text) => {
                write!(f, "`{text}` is not a range of times, such as 10s..25s")
            }
            Self::NoCount(text, range) => {
                let (least, most) = (range.start(), range.end());
                write!(f, "`{text}` is not a whole number from {least} to {most}")
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
        Duration::ZERO => Err(UnitError::Zero(text.into())),
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
    usize::try_from(bytes).map_err(|_| UnitError::TooLarge(text.into(), "B"))
}

/// Reads whole numbers of a range.
///
/// # Errors
/// What it makes returns a [`UnitError`].
pub fn count<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, UnitError> + Clone {
    move |text| {
        // Rust reads "+5", which people do not write.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text
            .parse()
            .ok()
            .filter(|number| digits && range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| UnitError::NoCount(text.into(), range.clone()))
    }
}

/// Reads a decimal number with a unit as a whole number of the smallest unit.
fn quantity(text: &str, units: Units, examples: &'static str) -> Result<u64, UnitError> {
    let smallest = units.first().map_or("", |(unit, _)| unit);
    let malformed = || UnitError::Malformed(text.into(), examples);
    let too_fine = || UnitError::TooFine(text.into(), smallest);
    let too_large = || UnitError::TooLarge(text.into(), smallest);
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
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let fraction = fraction.trim_end_matches('0');
    // Only digits are left, so reading the fraction fails by its length alone; nothing is 0.
    let parts: u128 = match fraction {
        "" => 0,
        digits => digits.parse().map_err(|_| too_fine())?,
    };
    // No unit has a whole part in the 21st decimal place, so what does not fit is too fine.
    let places = u32::try_from(fraction.len()).map_err(|_| too_fine())?;
    let scale = (10_u128.checked_pow(places).and_then(NonZeroU128::new)).ok_or_else(too_fine)?;
    let parts = parts.checked_mul(unit.into()).ok_or_else(too_fine)?;
    if parts % scale != 0 {
        return Err(too_fine());
    }
    whole
        .checked_mul(unit)
        .and_then(|whole| whole.checked_add(u64::try_from(parts / scale).ok()?))
        .ok_or_else(too_large)
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
        assert_eq!(size("0.00000095367431640625MiB"), Ok(1));
        assert_eq!(time("1.9999999999min"), Ok(ns(119_999_999_994)));
    }

    #[test]
    fn no_time_at_all_is_not_a_positive_time() {
        assert_eq!(positive_time("1ns"), Ok(Duration::from_nanos(1)));
        assert_eq!(positive_time("0s"), Err(UnitError::Zero("0s".into())));
    }

    #[test]
    fn an_error_names_the_value_and_the_rule() {
        let says = |text: &str, error: UnitError, rule: &str| {
            assert_eq!(error.to_string(), format!("`{text}` is {rule}"));
        };
        for text in [
            "", "40", "ms", "40 ms", "-1s", "1e3ms", "1.s", ".5s", "1h", "1.2.3s",
        ] {
            let rule = "not a plain number with a unit, such as 40ms or 1.5s";
            says(text, time(text).expect_err(text), rule);
        }
        for text in [
            "0.5ns",
            "1.0000000001s",
            "0.000000000000000000000000000000000000000001s",
        ] {
            says(text, time(text).expect_err(text), "finer than 1ns");
        }
        for text in [
            "99999999999s",
            "18446744073709551616ns",
            "18446744073.709551616s",
        ] {
            let rule = "above 18446744073709551615ns";
            says(text, time(text).expect_err(text), rule);
        }
        says("0s", positive_time("0s").expect_err("0s"), "not above 0");
        says(
            "0.5bit",
            rate("0.5bit").expect_err("half"),
            "finer than 1bit",
        );
        says(
            "0.1KiB",
            size("0.1KiB").expect_err("a part"),
            "finer than 1B",
        );
        for text in ["10s", "10s-25s"] {
            let rule = "not a range of times, such as 10s..25s";
            says(text, times(text).expect_err(text), rule);
        }
        for text in ["10s..", "..25s"] {
            assert_eq!(
                times(text),
                Err(UnitError::Malformed("".into(), "40ms or 1.5s")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_count_is_a_whole_number_of_its_range() {
        let read = count::<u8>(1..=200);
        assert_eq!(
            (read("1"), read("200"), read("007")),
            (Ok(1), Ok(200), Ok(7))
        );
        for text in [
            "",
            "0",
            "201",
            "-1",
            "+1",
            "1.5",
            "x",
            "99999999999999999999",
        ] {
            let error = read(text).expect_err(text).to_string();
            let said = format!("`{text}` is not a whole number from 1 to 200");
            assert_eq!(error, said);
        }
        let beyond_the_type = count::<u8>(0..=300);
        assert!(beyond_the_type("255").is_ok() && beyond_the_type("256").is_err());
    }
}
