use crate::{AttemptId, Limit, State};
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

/// Why `connect` gave no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The connect function failed with [`Failure::Final`].
    Refused(E),
    /// A limit of the config is reached; only `reset` leads on (D11).
    GaveUp {
        /// The limit.
        limit: Limit,
        /// Attempts failed in a row.
        failures: u32,
        /// The last failure in words, if there was one.
        last_failure: Option<Arc<str>>,
    },
    /// `shutdown` was called.
    Shutdown,
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "refused for good: {error}"),
            Self::GaveUp {
                limit,
                failures,
                last_failure,
            } => {
                write!(
                    f,
                    "gave up after {failures} failed attempts: {limit} reached"
                )?;
                match last_failure {
                    Some(failure) => write!(f, "; last: {failure}"),
                    None => Ok(()),
                }
            }
            Self::Shutdown => f.write_str("shut down"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for Error<E> {}

/// What is known about the connection, in tokio's instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The state; its spans count from when the reconnector was made.
    pub state: State,
    /// Attempts failed in a row.
    pub failures: u32,
    /// The last failure in words, since the last success.
    pub last_failure: Option<Arc<str>>,
    /// When the next attempt starts, if one is to come.
    pub next_attempt_at: Option<Instant>,
}

/// One attempt, planned and actual.
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
    /// `withdraw` or `shutdown` was called, or the reconnector was dropped (D12).
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
