use super::{ParsePolicyError, Parsed};
use crate::Ratio;
use core::str::FromStr;
use core::time::Duration;

pub(super) fn number<N: FromStr>(text: &str, expected: &'static str) -> Parsed<N> {
    let digits = text.starts_with(|first: char| first.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| ParsePolicyError::new(expected, text))
}

/// `8/5`, `1.6` or `2`, exactly.
pub(super) fn ratio(text: &str) -> Parsed<Ratio> {
    let error = ParsePolicyError::new("a ratio such as 8/5 or 1.6", text);
    if let Some((num, den)) = text.split_once('/') {
        let expected = "a ratio such as 8/5";
        return Ok(Ratio::new(number(num, expected)?, number(den, expected)?));
    }
    let (number, scale) = decimal(text).ok_or(error)?;
    let (num, den) = (u32::try_from(number), u32::try_from(scale));
    let (Ok(num), Ok(den)) = (num, den) else {
        return Err(error);
    };
    Ok(Ratio::new(num, den))
}

/// A number in decimal, as a whole number of what `scale` of make one.
fn decimal(text: &str) -> Option<(u128, u128)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let places = u32::try_from(fraction.len()).ok()?;
    let scale = 10u128.checked_pow(places)?;
    let fraction: u128 = if places == 0 {
        0
    } else {
        fraction.parse().ok()?
    };
    let number = whole.parse::<u128>().ok()?.checked_mul(scale)?;
    Some((number.checked_add(fraction)?, scale))
}

/// Reads a span as `{:?}` writes it, and with minutes and hours: `250ms`, `1.5s`, `2m`, `1h`,
/// exactly.
///
/// # Errors
///
/// What is no number with a unit, has parts of a nanosecond, or is longer than [`Duration::MAX`]
/// is refused.
///
/// ```
/// # use {backoff_policy::parse_duration, core::time::Duration};
/// assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1_500)));
/// assert_eq!(
///     parse_duration("5").unwrap_err().to_string(),
///     r#"expected a span such as 250ms, 1.5s, 2m or 1h, found "5" (B18)"#
/// );
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, ParsePolicyError> {
    const UNITS: [(&str, u128); 7] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let error = ParsePolicyError::new("a span such as 250ms, 1.5s, 2m or 1h", text);
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = unit_at
        .and_then(|at| text.split_at_checked(at))
        .ok_or(error)?;
    let nanos = UNITS.iter().find(|(name, _)| *name == unit).ok_or(error)?.1;
    let (number, scale) = decimal(number).ok_or(error)?;
    let product = number.checked_mul(nanos).ok_or(error)?;
    let exact = product.checked_rem(scale) == Some(0);
    let nanos = product.checked_div(scale).filter(|_| exact).ok_or(error)?;
    (nanos <= Duration::MAX.as_nanos())
        .then(|| Duration::from_nanos_u128(nanos))
        .ok_or(error)
}
