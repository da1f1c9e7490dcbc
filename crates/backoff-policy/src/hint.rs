//! What a server says of when to come back, read strictly (B14): what cannot be read is no hint.

use core::time::Duration;

/// What the server says of when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// After so long.
    After(Duration),
    /// Not at all.
    Never,
}

/// What a hint counts for beside the computed delay (B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HintRule {
    /// Exactly the hint, and the schedule starts over: gRPC's rule for its pushback.
    Exact,
    /// The hint or the computed delay, whichever is longer.
    AtLeast,
    /// The hint, but no less than the computed delay and no more than this beyond it: the rule of
    /// the AWS SDKs.
    Within(Duration),
    /// The hint, but at most this.
    Capped(Duration),
    /// The computed delay, whatever the server says: even that it wants no retry.
    Ignore,
}

impl Hint {
    /// Reads the value of `grpc-retry-pushback-ms` (gRFC A6): a 32-bit number of milliseconds.
    /// Negative or unreadable means that the server wants no retry.
    ///
    /// ```
    /// # use {backoff_policy::Hint, core::time::Duration};
    /// assert_eq!(Hint::grpc_pushback("250"), Hint::After(Duration::from_millis(250)));
    /// assert_eq!(Hint::grpc_pushback("-1"), Hint::Never);
    /// assert_eq!(Hint::grpc_pushback("soon"), Hint::Never);
    /// ```
    #[must_use]
    pub fn grpc_pushback(value: &str) -> Self {
        let number = whole_number(value).filter(|_| value == "0" || !value.starts_with('0'));
        match number.filter(|&ms| i32::try_from(ms).is_ok()) {
            Some(ms) => Self::After(Duration::from_millis(ms)),
            None => Self::Never,
        }
    }

    /// Reads the `delay-seconds` form of `Retry-After` (RFC 9110, 10.2.3): digits and nothing
    /// else. What is too large saturates. For dates, see `retry_after` (feature `http`).
    ///
    /// ```
    /// # use {backoff_policy::Hint, core::time::Duration};
    /// assert_eq!(Hint::retry_after_seconds("120"), Some(Hint::After(Duration::from_secs(120))));
    /// for nonsense in ["-3", "+3", "1.5", " 3", ""] {
    ///     assert_eq!(Hint::retry_after_seconds(nonsense), None);
    /// }
    /// ```
    #[must_use]
    pub fn retry_after_seconds(value: &str) -> Option<Self> {
        whole_number(value).map(|seconds| Self::After(Duration::from_secs(seconds)))
    }
}

/// Digits and nothing else; saturates.
fn whole_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}
