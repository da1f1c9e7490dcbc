//! Numbers as people read them. These round; nothing is computed from them.

use std::time::Duration;

/// A span of time with three digits or so: `0.53 ms`, `43 ms`, `1.04 s`, `12.3 s`.
pub(crate) fn span(span: Duration) -> String {
    let ms = span.as_secs_f64() * 1e3;
    match ms {
        0.0 => "0 s".to_owned(),
        ..10.0 => format!("{} ms", trimmed(ms, 2)),
        ..999.5 => format!("{ms:.0} ms"),
        ..10_000.0 => format!("{} s", trimmed(ms / 1e3, 2)),
        _ => format!("{} s", trimmed(ms / 1e3, 1)),
    }
}

/// A time or a span in seconds, to the millisecond: `0.043 s`, `12.345 s`.
pub(crate) fn seconds(span: Duration) -> String {
    format!("{} s", trimmed(span.as_secs_f64(), 3))
}

/// Bytes in binary units: `512 B`, `16 MiB`, `5.3 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut amount = bytes as f64;
    let mut name = "B";
    for unit in units {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        name = unit;
    }
    format!("{} {name}", trimmed(amount, 1))
}

/// Bits per second: `11.2 Mbit/s`.
pub(crate) fn rate(bits_per_second: u64) -> String {
    format!("{} Mbit/s", trimmed(bits_per_second as f64 / 1e6, 1))
}

/// A count with its noun, and separators between thousands: `1 expiry`, `2,310 samples`.
pub(crate) fn count(count: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        thousands(count),
        if count == 1 { one } else { many }
    )
}

/// A number with separators between thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with at most so many decimal places, and no zeros at their end.
pub(crate) fn trimmed(number: f64, places: usize) -> String {
    let text = format!("{number:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_about_three_digits() {
        let us = Duration::from_micros;
        for (micros, text) in [
            (0, "0 s"),
            (530, "0.53 ms"),
            (9_100, "9.1 ms"),
            (43_400, "43 ms"),
            (999_600, "1 s"),
            (1_040_000, "1.04 s"),
            (7_001_000, "7 s"),
            (12_345_000, "12.3 s"),
        ] {
            assert_eq!(span(us(micros)), text);
        }
    }

    #[test]
    fn seconds_have_milliseconds_where_they_say_something() {
        assert_eq!(seconds(Duration::from_micros(43_400)), "0.043 s");
        assert_eq!(seconds(Duration::from_micros(12_345_600)), "12.346 s");
        assert_eq!(seconds(Duration::from_secs(7)), "7 s");
    }

    #[test]
    fn amounts_have_units_and_separators() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(16 << 20), "16 MiB");
        assert_eq!(bytes(5_557_452), "5.3 MiB");
        assert_eq!(rate(11_184_810), "11.2 Mbit/s");
        assert_eq!(count(1, "expiry", "expiries"), "1 expiry");
        assert_eq!(count(2_310, "sample", "samples"), "2,310 samples");
        assert_eq!(thousands(100), "100");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }
}
