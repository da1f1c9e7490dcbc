//! An exact probability, and how a person writes one.

use alloc::{format, string::String};
use core::{fmt, str::FromStr};

/// A probability from 0 to 1, in exact parts per billion.
///
/// It reads what people write, as a percentage or as a fraction:
///
/// ```
/// # use netsim::Probability;
/// assert_eq!("5%".parse(), Probability::from_percent(5));
/// assert_eq!("0.1%".parse(), Probability::from_ppm(1_000));
/// assert_eq!("0.05".parse(), Probability::from_percent(5));
/// assert_eq!(
///     "5".parse::<Probability>().unwrap_err().to_string(),
///     "probability `5` is above 100%, which is 1 (a percentage ends in %)",
/// );
/// # Ok::<(), netsim::ProbabilityError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(u32); // parts per billion, at most `ONE`

const ONE: u32 = 1_000_000_000;
/// Decimal places of one part per billion, as a fraction of 1.
const PLACES: usize = 9;

impl Probability {
    /// What never happens: 0 %, the default.
    pub const NEVER: Self = Self(0);
    /// What always happens: 100 %.
    pub const ALWAYS: Self = Self(ONE);

    /// Takes whole hundredths.
    ///
    /// # Errors
    /// [`ProbabilityError::AboveOne`] above 100.
    pub fn from_percent(percent: u32) -> Result<Self, ProbabilityError> {
        Self::from_parts(percent, 10_000_000, "%")
    }

    /// Takes parts per million.
    ///
    /// # Errors
    /// [`ProbabilityError::AboveOne`] above 1,000,000.
    pub fn from_ppm(ppm: u32) -> Result<Self, ProbabilityError> {
        Self::from_parts(ppm, 1_000, " ppm")
    }

    /// Takes parts per billion.
    ///
    /// # Errors
    /// [`ProbabilityError::AboveOne`] above 1,000,000,000.
    pub fn from_ppb(ppb: u32) -> Result<Self, ProbabilityError> {
        Self::from_parts(ppb, 1, " ppb")
    }

    /// The probability in parts per billion.
    #[must_use]
    pub const fn ppb(self) -> u32 {
        self.0
    }

    fn from_parts(parts: u32, ppb_each: u32, unit: &str) -> Result<Self, ProbabilityError> {
        parts
            .checked_mul(ppb_each)
            .filter(|&ppb| ppb <= ONE)
            .map(Self)
            .ok_or_else(|| ProbabilityError::AboveOne(format!("{parts}{unit}")))
    }

    /// Whether it happens, given a uniform draw.
    pub(crate) fn happens(self, draw: u32) -> bool {
        // The draw as parts per billion, rounded down: 0 to ONE - 1.
        let point = u64::from(draw).saturating_mul(u64::from(ONE)) >> 32;
        point < u64::from(self.0)
    }
}

impl FromStr for Probability {
    type Err = ProbabilityError;

    /// Reads a plain decimal number: a percentage if it ends in `%`, else a fraction of 1.
    fn from_str(text: &str) -> Result<Self, ProbabilityError> {
        let (number, places) = match text.strip_suffix('%') {
            Some(percent) => (percent, PLACES.saturating_sub(2)),
            None => (text, PLACES),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        for digits in [whole, fraction] {
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(ProbabilityError::NotANumber(text.into()));
            }
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > places {
            return Err(ProbabilityError::TooFine(text.into()));
        }
        // Only digits are left, so reading them fails by overflow alone.
        format!("{whole}{fraction:0<places$}")
            .parse()
            .ok()
            .filter(|&ppb| ppb <= ONE)
            .map(Self)
            .ok_or_else(|| ProbabilityError::AboveOne(text.into()))
    }
}

impl fmt::Display for Probability {
    /// Writes an exact percentage, which [`FromStr`] reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, rest) = (self.0 / 10_000_000, self.0 % 10_000_000);
        if rest == 0 {
            return write!(f, "{percent}%");
        }
        let rest = format!("{rest:07}");
        write!(f, "{percent}.{}%", rest.trim_end_matches('0'))
    }
}

/// Why a value is no [`Probability`]; each variant carries the value as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbabilityError {
    /// It is not a plain decimal number, with or without a `%`.
    NotANumber(String),
    /// It is finer than one part per billion, and would be rounded.
    TooFine(String),
    /// It is above 1, that is above 100 %.
    AboveOne(String),
}

impl fmt::Display for ProbabilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber(text) => {
                write!(
                    f,
                    "probability `{text}` is not a plain number from 0% to 100%, such as 5% or 0.05"
                )
            }
            Self::TooFine(text) => {
                write!(f, "probability `{text}` is finer than a billionth")
            }
            Self::AboveOne(text) => write!(
                f,
                "probability `{text}` is above 100%, which is 1 (a percentage ends in %)"
            ),
        }
    }
}

impl core::error::Error for ProbabilityError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn percentages_and_fractions_are_read_exactly() {
        for (text, ppb) in [
            ("0", 0),
            ("0%", 0),
            ("5%", 50_000_000),
            ("0.1%", 1_000_000),
            ("2.50%", 25_000_000),
            ("0.0000001%", 1),
            ("0.000000001", 1),
            ("0.05000000000000", 50_000_000),
            ("100%", ONE),
            ("100.000%", ONE),
            ("1", ONE),
            ("1.0", ONE),
            ("007%", 70_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Probability(ppb)), "{text}");
        }
    }

    #[test]
    fn an_error_names_the_value() {
        for text in [
            "", "%", ".", ".5", "5.", "+5%", "-5%", "1e-3", "5 %", "5%%", "1.2.3", "five", "٥%",
        ] {
            let error = ProbabilityError::NotANumber(text.into());
            assert_eq!(text.parse::<Probability>(), Err(error.clone()), "{text}");
            assert!(error.to_string().contains(&format!("`{text}`")), "{text}");
        }
        for text in ["0.00000001%", "0.0000000001"] {
            let error = ProbabilityError::TooFine(text.into());
            assert_eq!(text.parse::<Probability>(), Err(error), "{text}");
        }
        for text in [
            "5",
            "101%",
            "100.0000001%",
            "1.000000001",
            "99999999999999999999",
        ] {
            let error = ProbabilityError::AboveOne(text.into());
            assert_eq!(text.parse::<Probability>(), Err(error), "{text}");
        }
    }

    #[test]
    fn integers_above_one_are_refused() {
        assert_eq!(Probability::from_percent(100), Ok(Probability::ALWAYS));
        assert_eq!(Probability::from_ppm(1_000_000), Ok(Probability::ALWAYS));
        assert_eq!(Probability::from_ppb(ONE), Ok(Probability::ALWAYS));
        for (result, named) in [
            (Probability::from_percent(101), "101%"),
            (Probability::from_percent(u32::MAX), "4294967295%"),
            (Probability::from_ppm(1_000_001), "1000001 ppm"),
            (Probability::from_ppb(ONE + 1), "1000000001 ppb"),
        ] {
            assert_eq!(result, Err(ProbabilityError::AboveOne(named.into())));
        }
    }

    #[test]
    fn a_draw_happens_exactly_below_the_probability() {
        assert!(!Probability::NEVER.happens(0));
        assert!(Probability::ALWAYS.happens(u32::MAX));
        let half = Probability(ONE / 2);
        assert!(half.happens((1 << 31) - 1));
        assert!(!half.happens(1 << 31));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ppb in 0..=ONE) {
            let probability = Probability(ppb);
            prop_assert_eq!(probability.to_string().parse(), Ok(probability));
        }

        #[test]
        fn no_text_panics(text in "\\PC*|[0-9.%]*") {
            let _ = text.parse::<Probability>();
        }
    }
}
