use super::clock::Clock;
use super::phase::Phase;
use crate::State;
use crate::explain::{Failures, Seconds, next_attempt};
use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use tokio::time::Instant;

/// What is known about the connection (D14). As text it is one line for people:
/// `TRANSIENT_FAILURE after 4 failures; last: no SETTINGS within 20 s; next attempt in 3.2 s`,
/// where the last span counts from when it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The state; its spans count from when the reconnector was made.
    pub state: State,
    /// Failures in a row, of all addresses together; without an address, those of resolutions.
    pub failures: u32,
    /// The last failure since the last success.
    pub last_failure: Option<LastFailure>,
    /// When the next attempt starts, if one is to come.
    pub next_attempt_at: Option<Instant>,
}

/// The last failure: in which phase, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// The phase that the attempt was in, if its connect function says so.
    pub phase: Option<Phase>,
    /// Why it failed.
    pub reason: Reason,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// This error, in words.
    Error(Arc<str>),
    /// Its connect deadline passed, so long after its start (S5).
    Deadline(Duration),
}

impl fmt::Display for LastFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, self.phase) {
            (Reason::Error(error), Some(phase)) => write!(f, "{phase}: {error}"),
            (Reason::Error(error), None) => f.write_str(error),
            (Reason::Deadline(within), phase) => {
                write!(f, "{} within {:#}", Phase::missing(phase), Seconds(*within))
            }
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.state.name())?;
        if self.failures > 0 {
            write!(f, " after {}", Failures(self.failures))?;
        }
        if let State::GaveUp { limit } = self.state {
            write!(f, ": {limit} reached")?;
        }
        if let Some(failure) = &self.last_failure {
            write!(f, "; last: {failure}")?;
        }
        let Some(at) = self.next_attempt_at else {
            return Ok(());
        };
        next_attempt(f, at.saturating_duration_since(Clock::read()))
    }
}
