//! What HTTP says, by the types of the crate `http`.

use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use backoff_policy::http::{failure_of, grpc_pushback, idempotency_of, retry_after};
use backoff_policy::{Class, Failure, Hint, Idempotency};
use conformance::time::s;
use proptest::prelude::*;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn headers(values: &[&[u8]]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        let value = HeaderValue::from_bytes(value).expect("no control characters");
        headers.append("retry-after", value.clone());
        headers.append("grpc-retry-pushback-ms", value);
    }
    headers
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + s(seconds)
}

fn hint(value: &str, now: u64) -> Option<Hint> {
    retry_after(&headers(&[value.as_bytes()]), at(now))
}

/// The example of RFC 9110.
const EXAMPLE: u64 = 784_111_777;

/// (B14) Each form of a date; a past one is 0.
#[test]
fn rule_backoff_b14_retry_after_is_a_date_in_three_forms() {
    for date in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ] {
        for (now, wait) in [(EXAMPLE - 90, 90), (EXAMPLE, 0), (EXAMPLE + 1, 0)] {
            assert_eq!(hint(date, now), Some(Hint::After(s(wait))), "{date}");
        }
        let half = at(EXAMPLE - 1) + Duration::from_millis(500);
        let wait = Some(Hint::After(Duration::from_millis(500)));
        assert_eq!(retry_after(&headers(&[date.as_bytes()]), half), wait);
    }
    assert_eq!(hint("120", EXAMPLE), Some(Hint::After(s(120))));
}

/// (B14) All else is no hint.
#[test]
fn rule_backoff_b14_what_is_malformed_is_no_hint() {
    for value in [
        "",
        "-3",
        "+3",
        "1.5",
        "soon",
        "120, 240",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Mon, 06 Nov 1994 08:49:37 GMT", // it was a Sunday
        "Thu, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sat, 31 Dec 2016 23:59:60 GMT", // there was such a second
        "Mon, 01 Jan 0001 00:00:00 GMT", // a clock that is not set
        "Wed, 31 Dec 1969 23:59:59 GMT",
        "Sun, 06 Nov 0094 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "1994-11-06T08:49:37Z",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
    ] {
        assert_eq!(hint(value, 0), None, "{value:?}");
    }
    let now = at(0);
    assert_eq!(retry_after(&HeaderMap::new(), now), None);
    assert_eq!(
        retry_after(&headers(&[b"1", b"1"]), now),
        None,
        "two values"
    );
    assert_eq!(retry_after(&headers(&["１２０".as_bytes()]), now), None);
    assert_eq!(retry_after(&headers(&[b"\xff"]), now), None);
}

/// (B14) Pushback in headers: one readable value, or no retry.
#[test]
fn rule_backoff_b14_pushback_comes_from_headers() {
    let after = |ms| Some(Hint::After(Duration::from_millis(ms)));
    assert_eq!(grpc_pushback(&HeaderMap::new()), None);
    assert_eq!(grpc_pushback(&headers(&[b"250"])), after(250));
    for unreadable in [&[&b"-1"[..]][..], &[b"\xff"], &[b"1", b"1"], &[b""]] {
        assert_eq!(grpc_pushback(&headers(unreadable)), Some(Hint::Never));
    }
}

/// (B13) A status has a class, and a request is idempotent by its method or a condition that its
/// second copy would fail.
#[test]
fn rule_backoff_b13_conditions_guard_a_request() {
    let hinted = headers(&[b"9"]);
    let failure = |status| failure_of(status, &hinted, UNIX_EPOCH);
    let throttled = Failure::from(Class::Throttled).hinted(Some(Hint::After(s(9))));
    assert_eq!(failure(StatusCode::TOO_MANY_REQUESTS), Some(throttled));
    assert_eq!(failure(StatusCode::CREATED), None);
    let post = |name: &'static str, value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        idempotency_of(&Method::POST, &headers)
    };
    for (name, value) in [
        ("if-match", "\"v7\""),
        ("if-none-match", "*"),
        ("if-unmodified-since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("idempotency-key", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
    ] {
        assert_eq!(post(name, value), Idempotency::Always, "{name}: {value}");
    }
    for (name, value) in [
        ("if-match", "*"),
        ("if-none-match", "\"v7\""),
        ("if-unmodified-since", ""),
        ("idempotency-key", " "),
        ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ] {
        assert_eq!(
            post(name, value),
            Idempotency::Conditionally,
            "{name}: {value}"
        );
    }
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let none = HeaderMap::new();
        assert_eq!(idempotency_of(&method, &none), Idempotency::Always);
    }
}

const DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The three forms of a date, counted day by day.
fn forms(seconds: u64) -> [String; 3] {
    let leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut day, time) = (seconds / 86_400, seconds % 86_400);
    let weekday = DAYS[usize::try_from(day % 7).expect("below 7")];
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    let (day, month, short) = (day + 1, MONTHS[month], &weekday[..3]);
    let time = format!("{:02}:{:02}:{:02}", time / 3_600, time / 60 % 60, time % 60);
    [
        format!("{short}, {day:02} {month} {year} {time} GMT"),
        format!("{weekday}, {day:02}-{month}-{:02} {time} GMT", year % 100),
        format!("{short} {month} {day:2} {time} {year}"),
    ]
}

proptest! {
    /// (B14) Every date of every form is read as it was written.
    #[test]
    fn rule_backoff_b14_every_date_is_read_as_written(
        seconds in 0..253_402_300_800_u64, // the year 10000
        now in 0..253_402_300_800_u64,
    ) {
        let wait = Some(Hint::After(s(seconds.saturating_sub(now))));
        let [fixed, _, asctime] = forms(seconds);
        prop_assert_eq!(hint(&fixed, now), wait, "{}", fixed);
        prop_assert_eq!(hint(&asctime, now), wait, "{}", asctime);

        let seconds = seconds % 3_155_760_000; // a year of two digits ends in 2069
        let [_, two_digits, _] = forms(seconds);
        let wait = Some(Hint::After(s(seconds.saturating_sub(now))));
        prop_assert_eq!(hint(&two_digits, now), wait, "{}", two_digits);
    }

    /// (B14) No value does harm, and one that is nearly a date is a date or no hint.
    #[test]
    fn rule_backoff_b14_no_value_does_harm(
        bytes in prop::collection::vec(prop_oneof![Just(b'\t'), 32..127_u8, 128..=255_u8], 0..40),
        seconds in 0..253_402_300_800_u64,
        form in 0..3_usize,
        place in 0..40_usize,
        byte in 32..127_u8,
    ) {
        let value = headers(&[&bytes]);
        _ = (retry_after(&value, at(seconds)), grpc_pushback(&value));

        let mut nearly = forms(seconds % 3_155_760_000)[form].clone().into_bytes();
        let place = place % nearly.len();
        nearly[place] = byte;
        if let Some(Hint::After(wait)) = retry_after(&headers(&[&nearly]), at(0)) {
            let text = String::from_utf8(nearly).expect("ASCII");
            prop_assert!(forms(wait.as_secs()).contains(&text), "{}", text);
        }
    }
}
