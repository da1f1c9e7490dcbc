use super::phase::{Phase, PhaseTimes};
use super::status::Status;
use crate::AttemptId;
use crate::explain::Seconds;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use tokio::time::Instant;

/// How a connect function fails. Where it gives `Failure<E>`, the `?` operator makes an error of
/// just that type `E` a [`Retry`](Self::Retry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure<E> {
    /// Try again when the backoff allows.
    Retry(E),
    /// The server refused with a reason that another attempt will not change.
    Final(E),
}

impl<E> From<E> for Failure<E> {
    fn from(error: E) -> Self {
        Self::Retry(error)
    }
}

/// What a caller does while there is no connection (D18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wait {
    /// Waits until there is one, under a deadline of its own (C3).
    #[default]
    ForReady,
    /// Waits for attempts, but never for a backoff: where the next attempt is not due, it fails at
    /// once with [`Error::Unavailable`] (C3).
    FailFast,
}

/// Why there is no connection. Where it says more than that all is over, it carries the whole
/// [`Status`], with the last failure and the instant of the next attempt (D18).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error<E> {
    /// The connect function failed with [`Failure::Final`].
    Refused(E),
    /// A caller that fails fast would have to wait: the next attempt is not due, since the last one
    /// failed (C3), or succeeded but began less than a first delay ago (D9).
    Unavailable(Status),
    /// A limit of the config is reached; only a reset or new addresses lead on (D11).
    GaveUp(Status),
    /// Nobody wants a connection any more: `withdraw` was called meanwhile (D8).
    Withdrawn(Status),
    /// Everything has ended for good (C1).
    Shutdown,
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "refused for good: {error}"),
            Self::Unavailable(status) | Self::GaveUp(status) => status.fmt(f),
            Self::Withdrawn(_) => f.write_str("withdrawn"),
            Self::Shutdown => f.write_str("shut down"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for Error<E> {}

/// One attempt, planned and actual; as text it is one line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptReport {
    /// Which one.
    pub attempt: AttemptId,
    /// When it was to start.
    pub due_at: Instant,
    /// When it did.
    pub started_at: Instant,
    /// When it ended.
    pub ended_at: Instant,
    /// The delay drawn for the attempt after it, counted as `Config::timing` says.
    pub backoff: Duration,
    /// What came of it.
    pub outcome: Outcome,
    /// The phase it ended in, if its connect function says so.
    pub phase: Option<Phase>,
    /// How long each phase took.
    pub times: PhaseTimes,
}

/// One line for people:
/// `attempt #3, 20 s (TCP 0.1 s, SETTINGS 19.9 s): not accepted before its connect deadline`.
impl fmt::Display for AttemptReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.ended_at.saturating_duration_since(self.started_at);
        write!(f, "attempt {}, {:#}", self.attempt, Seconds(took))?;
        let mut before = " (";
        for (phase, spent) in self.times.iter() {
            write!(f, "{before}{phase} {:#}", Seconds(spent))?;
            before = ", ";
        }
        let after = if before == ", " { ")" } else { "" };
        write!(f, "{after}: {}", self.outcome)
    }
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server accepted.
    Connected,
    /// It failed with this error, and another will follow.
    Failed(Arc<str>),
    /// It failed with this final error.
    Refused(Arc<str>),
    /// Its connect deadline passed (S5).
    TimedOut,
    /// It was cancelled, which is neither success nor failure: `withdraw`, `retarget` or
    /// `shutdown` was called, another address was faster, or the reconnector was dropped (D12).
    Cancelled,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected => f.write_str("connected"),
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Refused(error) => write!(f, "refused for good: {error}"),
            Self::TimedOut => f.write_str("not accepted before its connect deadline"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}
