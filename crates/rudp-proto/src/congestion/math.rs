//! Products and quotients of bytes, rates (bytes per second) and spans, without overflow.

use core::time::Duration;

const SECOND: u64 = 1_000_000_000;

pub(super) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// `a * b / c`, rounded down; `u64::MAX` if that does not fit or `c` is 0.
pub(super) fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    // Nearly every product fits: a division of 64 bits costs a fraction of one of 128.
    if let Some(product) = a.checked_mul(b) {
        return product.checked_div(c).unwrap_or(u64::MAX);
    }
    let product = u128::from(a).saturating_mul(u128::from(b));
    let quotient = product.checked_div(u128::from(c));
    quotient
        .and_then(|quotient| u64::try_from(quotient).ok())
        .unwrap_or(u64::MAX)
}

pub(super) fn percent(value: u64, percent: u64) -> u64 {
    mul_div(value, percent, 100)
}

pub(super) fn bytes_in(span: Duration, rate: u64) -> u64 {
    mul_div(rate, nanos(span), SECOND)
}

pub(super) fn rate_of(bytes: u64, span: Duration) -> u64 {
    mul_div(bytes, SECOND, nanos(span))
}

pub(super) fn time_of(bytes: u64, rate: u64) -> Duration {
    Duration::from_nanos(mul_div(bytes, SECOND, rate))
}
