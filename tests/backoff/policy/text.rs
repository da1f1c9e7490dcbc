//! Policies as text.

use backoff_policy::{Policy, parse_duration};
use conformance::time::{ms, ns, s};
use std::time::Duration;

/// (B18) Every preset, and every field by itself, is read as it was written.
#[test]
fn rule_backoff_b18_what_is_written_is_read() {
    for preset in Policy::PRESETS {
        assert_eq!(preset.to_string(), preset.name);
        assert_eq!(preset.name.parse(), Ok(preset));
        let own = Policy { name: "", ..preset };
        assert_eq!(own.to_string().parse(), Ok(own), "{own}");
    }
    for text in [
        "base=1.000000001s,multiplier=8/5,cap=3600s,jitter=full",
        "base=1ns,multiplier=4294967295/1,cap=1ns,jitter=equal",
        "base=1s,multiplier=2/1,cap=60s,jitter=additive:1/10,first=exact",
        "base=1s,multiplier=2/1,cap=60s,jitter=none,throttle-factor=20,attempts=7,deadline=90s",
        "base=1s,multiplier=2/1,cap=60s,jitter=none,deadline=0ns,from=start,hint=ignore",
        "base=1s,multiplier=2/1,cap=60s,jitter=none,hint=within:5s,hint-jitter=0,healthy=10s",
        "base=1s,multiplier=2/1,cap=60s,jitter=none,hint=capped:60s,repeats=everything",
        "webhooks,base=10s,multiplier=2/1,cap=3600s,jitter=full,attempts=unlimited,healthy=1s",
        "gcs-python,base=1s,multiplier=2/1,cap=60s,jitter=full,deadline=none",
    ] {
        let policy: Policy = text.parse().expect(text);
        assert_eq!(policy.to_string(), text);
    }
}

/// (B18) What cannot be read is refused, with the part that is wrong.
#[test]
fn rule_backoff_b18_what_cannot_be_read_is_named() {
    for (text, message) in [
        (
            "",
            r#"expected a preset such as calls, or fields such as base=1s, found "" (B18)"#,
        ),
        (
            "grpc",
            r#"expected a preset such as calls, or fields such as base=1s, found "grpc" (B18)"#,
        ),
        (
            "base=1s,full",
            r#"expected a field such as base=1s, found "full" (B18)"#,
        ),
        (
            "speed=9",
            r#"expected the name of a field, found "speed" (B18)"#,
        ),
        (
            "base=1",
            r#"expected a span such as 250ms, 1.5s, 2m or 1h, found "1" (B18)"#,
        ),
        (
            "base=-1s",
            r#"expected a span such as 250ms, 1.5s, 2m or 1h, found "-1s" (B18)"#,
        ),
        ("base=0s", "the base is zero (B1)"),
        (
            "calls,base=1s,cap=1m,base=1s",
            r#"expected each field once, found "base=1s" (B18)"#,
        ),
        ("base=2m", "the cap 60s is below the base 120s (B1)"),
        (
            "multiplier=x",
            r#"expected a ratio such as 8/5 or 1.6, found "x" (B18)"#,
        ),
        (
            "multiplier=0.5",
            "the multiplier 5/10 is not 1 or more (B1)",
        ),
        ("multiplier=1/0", "the multiplier 1/0 is not 1 or more (B1)"),
        (
            "jitter=some",
            r#"expected a jitter such as full or proportional:1/5, found "some" (B18)"#,
        ),
        (
            "jitter=additive:1.5",
            "the jitter 15/10 is not in 0..=1 (B1)",
        ),
        (
            "attempts=0",
            r#"expected attempts of 1 or more, or unlimited, found "0" (B18)"#,
        ),
        (
            "attempts=+1",
            r#"expected attempts of 1 or more, or unlimited, found "+1" (B18)"#,
        ),
        (
            "hint=soon",
            r#"expected a rule for hints such as at-least or within:5s, found "soon" (B18)"#,
        ),
        (
            "hint-jitter=256",
            r#"expected percent, 0 to 255, found "256" (B18)"#,
        ),
        (
            "deadline=ever",
            r#"expected a span such as 250ms, 1.5s, 2m or 1h, found "ever" (B18)"#,
        ),
    ] {
        let error = text.parse::<Policy>().expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
    let long = "x".repeat(1_000);
    let message = long.parse::<Policy>().expect_err("no name").to_string();
    assert!(message.len() < 130 && message.contains("xxxx"), "{message}");
    let wide = "ü".repeat(1_000); // cut between characters
    assert!(wide.parse::<Policy>().is_err());
}

/// (B18) Spans are exact or refused.
#[test]
fn rule_backoff_b18_spans_are_exact() {
    for (text, span) in [
        ("0s", s(0)),
        ("1ns", ns(1)),
        ("0.5us", ns(500)),
        ("1.5µs", ns(1_500)),
        ("250ms", ms(250)),
        ("1.5m", s(90)),
        ("24h", s(86_400)),
        ("18446744073709551615.999999999s", Duration::MAX),
    ] {
        assert_eq!(parse_duration(text), Ok(span), "{text}");
    }
    for text in [
        "",
        "s",
        "1",
        "584y",
        ".5s",
        "1.s",
        "1,5s",
        "1 s",
        " 1s",
        "1S",
        "0.5ns",
        "1.0000000001s",
        "18446744073709551616s",
        "99999999999999999999999999999999999999999h",
        "1.5.5s",
    ] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}
