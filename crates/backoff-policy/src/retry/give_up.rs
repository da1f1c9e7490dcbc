use crate::names::Names;
use core::fmt;
use core::time::Duration;

/// The end of an operation that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GiveUp {
    /// Why.
    pub reason: Reason,
    /// How many attempts were made since the start, or since the last healthy time (B8).
    pub attempts: u32,
    /// The time since then.
    pub elapsed: Duration,
    /// How much of it was waiting, as planned.
    pub slept: Duration,
}

/// Why an operation is given up (B9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// It will fail again, or the server wants no retry.
    Permanent,
    /// It may have been done, and must not be done twice (B13).
    NotIdempotent,
    /// A layer further up retries (B15).
    OuterLayer,
    /// As many attempts as the policy has were made (B7).
    Attempts,
    /// The next wait does not fit before the deadline, or it has passed (B5).
    Deadline,
    /// The server's hint, which would be legal otherwise, does not fit before the deadline (B6).
    HintBeyondDeadline(Duration),
    /// The budget that many operations share has nothing left for this retry.
    Budget,
}

impl Reason {
    /// What texts and counters call each, whatever it carries.
    pub(crate) const NAMES: Names<Self> = &[
        ("permanent", Self::Permanent),
        ("not-idempotent", Self::NotIdempotent),
        ("outer-layer", Self::OuterLayer),
        ("attempts", Self::Attempts),
        ("deadline", Self::Deadline),
        (
            "hint-beyond-deadline",
            Self::HintBeyondDeadline(Duration::ZERO),
        ),
        ("budget", Self::Budget),
    ];

    /// The same with nothing in it, as in [`NAMES`](Self::NAMES).
    pub(crate) const fn kind(self) -> Self {
        match self {
            Self::HintBeyondDeadline(_) => Self::HintBeyondDeadline(Duration::ZERO),
            plain => plain,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permanent => "it will fail again",
            Self::NotIdempotent => "it may have been done, and must not be done twice",
            Self::OuterLayer => "a layer further up retries",
            Self::Attempts => "no attempt is left",
            Self::Deadline => "the next wait ends after the deadline",
            Self::HintBeyondDeadline(hint) => {
                return write!(
                    f,
                    "the server asks for {hint:?}, which ends after the deadline"
                );
            }
            Self::Budget => "the budget for retries is used up",
        })
    }
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (attempts, reason) = (self.attempts, self.reason);
        let (elapsed, slept) = (short(self.elapsed), short(self.slept));
        let s = if attempts == 1 { "" } else { "s" };
        write!(
            f,
            "gave up after {attempts} attempt{s} in {elapsed:?}, {slept:?} of it waiting: {reason}"
        )
    }
}

/// Without the digits that no reader of a log wants: whole milliseconds from a second on, and whole
/// microseconds from a millisecond on.
const fn short(span: Duration) -> Duration {
    let nanos = span.subsec_nanos();
    let rest = match (span.as_secs(), nanos) {
        (0, ..1_000_000) => 0,
        (0, _) => nanos % 1_000,
        _ => nanos % 1_000_000,
    };
    span.saturating_sub(Duration::from_nanos(rest as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn spans_are_short_in_texts() {
        for (nanos, text) in [
            (15_774_743_839, "15.774s"),
            (1_000_999_999, "1s"),
            (876_101_366, "876.101ms"),
            (999_999, "999.999µs"),
            (907, "907ns"),
        ] {
            assert_eq!(
                format!("{:?}", short(Duration::from_nanos(nanos))),
                text,
                "{nanos}"
            );
        }
    }
}
