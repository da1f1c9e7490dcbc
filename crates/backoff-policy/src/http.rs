//! What HTTP says of a failure and of trying again, by the types of the crate `http` (B13, B14).
//!
//! It fits every client that has these types. `hyper`, `reqwest` and `tonic` do.
//!
//! ```
//! # use {backoff_policy::{Class, Hint}, std::time::{Duration, SystemTime}, ::http::Response};
//! use backoff_policy::http::failure_of;
//!
//! let busy = Response::builder().status(503).header("retry-after", "120").body(())?;
//! let failure = failure_of(busy.status(), busy.headers(), SystemTime::now()).expect("no success");
//! assert_eq!(failure.class, Class::Transient);
//! assert_eq!(failure.hint, Some(Hint::After(Duration::from_secs(120))));
//! # Ok::<(), ::http::Error>(())
//! ```

use crate::{Class, Failure, Hint, Idempotency};
use ::http::header::{self, AsHeaderName, HeaderMap, HeaderValue};
use ::http::{Method, StatusCode};
use std::format;
use std::time::{Duration, SystemTime};
use std::vec::Vec;

/// What an answer means for the next attempt: the class of its status ([`Class::of_http`]), and when
/// the server wants it ([`retry_after`]). `None` is no failure. `now` is the wall clock.
#[must_use]
pub fn failure_of(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Failure> {
    let class = Class::of_http(status.as_u16())?;
    Some(Failure::from(class).hinted(retry_after(headers, now)))
}

/// Whether a request may be sent twice: by its method, and where that does not say, by a condition
/// that its second copy would fail (B13).
///
/// Such a condition is `If-Match` with an entity tag, `If-None-Match: *`, `If-Unmodified-Since`, or
/// an `Idempotency-Key`. `If-Match: *` and `If-None-Match` with a tag are none: both still hold
/// after the first copy.
///
/// ```
/// # use {backoff_policy::{Idempotency, http::idempotency_of}, ::http::{HeaderMap, Method}};
/// let mut headers = HeaderMap::new();
/// assert_eq!(idempotency_of(&Method::POST, &headers), Idempotency::Conditionally);
/// headers.insert("idempotency-key", "8e03978e".parse()?);
/// assert_eq!(idempotency_of(&Method::POST, &headers), Idempotency::Always);
/// # Ok::<(), ::http::header::InvalidHeaderValue>(())
/// ```
#[must_use]
pub fn idempotency_of(method: &Method, headers: &HeaderMap) -> Idempotency {
    let has = |name: &str, guards: fn(&[u8]) -> bool| {
        let mut values = headers.get_all(name).iter();
        values.any(|value| guards(value.as_bytes().trim_ascii()))
    };
    let guarded = has(header::IF_MATCH.as_str(), |tags| {
        !matches!(tags, b"" | b"*")
    }) || has(header::IF_NONE_MATCH.as_str(), |tags| tags == b"*")
        || has(header::IF_UNMODIFIED_SINCE.as_str(), |date| {
            !date.is_empty()
        })
        || has("idempotency-key", |key| !key.is_empty());
    match Idempotency::of_method(method.as_str()) {
        idempotency if guarded => idempotency.guarded(),
        idempotency => idempotency,
    }
}

/// Reads `Retry-After` (RFC 9110, 10.2.3): whole seconds, or a date in one of its three forms
/// (B14).
///
/// A date in the past is zero. `None` where there is no such header, where there are several, and
/// where the value is anything else. `now` is the wall clock, since that is what the server's date
/// is by; a year of two digits is one of 1970 to 2069.
///
/// ```
/// # use {backoff_policy::{Hint, http::retry_after}, ::http::HeaderMap};
/// # use std::time::{Duration, SystemTime};
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770); // 7 s before
/// let mut headers = HeaderMap::new();
/// headers.insert("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT".parse()?);
/// assert_eq!(retry_after(&headers, now), Some(Hint::After(Duration::from_secs(7))));
/// # Ok::<(), ::http::header::InvalidHeaderValue>(())
/// ```
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Hint> {
    let value = only(headers, header::RETRY_AFTER)?.ok()?.to_str().ok()?;
    if let Some(hint) = Hint::retry_after_seconds(value) {
        return Some(hint);
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let wait = date.duration_since(now).unwrap_or(Duration::ZERO);
    is_written_so(value, date).then_some(Hint::After(wait))
}

/// `httpdate` ignores spaces around a date, and what stands between its parts in the second form.
fn is_written_so(value: &str, date: SystemTime) -> bool {
    let fixed = httpdate::fmt_http_date(date); // Sun, 06 Nov 1994 08:49:37 GMT
    let parts: Vec<_> = fixed.split(' ').collect();
    let [weekday, day, month, year, time, gmt] = parts[..] else {
        return false;
    };
    let (weekday, years) = (weekday.trim_end_matches(','), year.get(2..).unwrap_or(""));
    let two_digits = format!("{day}-{month}-{years} {time} {gmt}");
    let asctime = format!(
        "{weekday} {month} {:>2} {time} {year}",
        day.trim_start_matches('0')
    );
    let after_weekday = value.split_once("day, ").map(|(_, rest)| rest);
    value == fixed || value == asctime || after_weekday == Some(&two_digits)
}

/// Reads `grpc-retry-pushback-ms` (gRFC A6) from a call's trailers, or its headers where it has
/// nothing else: [`Hint::grpc_pushback`] (B14). `None` where there is no such header; several are
/// unreadable.
///
/// ```
/// # use {backoff_policy::{Hint, http::grpc_pushback}, ::http::HeaderMap};
/// let mut trailers = HeaderMap::new();
/// assert_eq!(grpc_pushback(&trailers), None);
/// trailers.insert("grpc-retry-pushback-ms", "-1".parse()?);
/// assert_eq!(grpc_pushback(&trailers), Some(Hint::Never));
/// # Ok::<(), ::http::header::InvalidHeaderValue>(())
/// ```
#[must_use]
pub fn grpc_pushback(headers: &HeaderMap) -> Option<Hint> {
    let value = only(headers, "grpc-retry-pushback-ms")?;
    let text = value.ok().and_then(|value| value.to_str().ok());
    Some(text.map_or(Hint::Never, Hint::grpc_pushback))
}

struct Several;

/// The value of a header that may be there once.
fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Option<Result<&HeaderValue, Several>> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    Some(values.next().map_or(Ok(value), |_| Err(Several)))
}
