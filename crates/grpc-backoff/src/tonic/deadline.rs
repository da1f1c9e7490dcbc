use core::time::Duration;
use http::HeaderMap;

/// The time that a call allows, from its header `grpc-timeout`: at most eight digits and a unit.
/// What is no such value allows any time, as if there were no header.
pub(super) fn grpc_timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: u64 = digits.parse().ok()?; // at most 99,999,999
    match unit {
        "H" => Some(Duration::from_secs(value.saturating_mul(3_600))),
        "M" => Some(Duration::from_secs(value.saturating_mul(60))),
        "S" => Some(Duration::from_secs(value)),
        "m" => Some(Duration::from_millis(value)),
        "u" => Some(Duration::from_micros(value)),
        "n" => Some(Duration::from_nanos(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn timeout(value: &'static str) -> Option<Duration> {
        grpc_timeout(
            &[(
                "grpc-timeout".parse().unwrap(),
                HeaderValue::from_static(value),
            )]
            .into_iter()
            .collect(),
        )
    }

    #[test]
    fn every_unit_has_its_length() {
        for (value, allowed) in [
            ("2H", Duration::from_secs(7_200)),
            ("3M", Duration::from_secs(180)),
            ("42S", Duration::from_secs(42)),
            ("13m", Duration::from_millis(13)),
            ("7u", Duration::from_micros(7)),
            ("82n", Duration::from_nanos(82)),
            ("0S", Duration::ZERO),
            ("99999999H", Duration::from_secs(99_999_999 * 3_600)),
        ] {
            assert_eq!(timeout(value), Some(allowed), "{value}");
        }
    }

    #[test]
    fn what_is_no_timeout_allows_any_time() {
        for value in [
            "",
            "S",
            "82",
            "82s",
            "f1S",
            "-1S",
            "+1S",
            "123456789H",
            "1 S",
        ] {
            assert_eq!(timeout(value), None, "{value:?}");
        }
        assert_eq!(grpc_timeout(&HeaderMap::new()), None);
    }
}
