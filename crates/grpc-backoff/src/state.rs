use crate::{Config, ConfigError};
use backoff_policy::Series;
use core::fmt;
use core::time::Duration;

/// What a [`Connection`](crate::Connection) is doing (C1).
///
/// CONNECTING and TRANSIENT_FAILURE always carry a deadline, so neither can last for ever (D7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection; an attempt starts when one is wanted.
    Idle,
    /// An attempt is in flight.
    Connecting {
        /// The attempt.
        attempt: AttemptId,
        /// When it is aborted unless SETTINGS has arrived (S5).
        deadline: Duration,
    },
    /// The server's SETTINGS has arrived.
    Ready {
        /// The attempt that made this connection.
        attempt: AttemptId,
        /// When SETTINGS arrived.
        since: Duration,
    },
    /// The last attempt failed and a connection is still wanted; calls that do not wait for one
    /// fail (C3).
    TransientFailure {
        /// When the next attempt starts (S6).
        until: Duration,
    },
    /// A limit is reached. Only `reset` and `retarget` lead out (D11).
    GaveUp {
        /// The limit.
        limit: Limit,
    },
    /// Shut down, for good (C1).
    Shutdown,
}

#[cfg(feature = "alloc")]
impl State {
    /// The name that the specification gives it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Idle => "IDLE",
            Self::Connecting { .. } => "CONNECTING",
            Self::Ready { .. } => "READY",
            Self::TransientFailure { .. } => "TRANSIENT_FAILURE",
            Self::GaveUp { .. } => "GAVE_UP",
            Self::Shutdown => "SHUTDOWN",
        }
    }
}

/// The limit that ended a run (D11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `max_attempts`.
    Attempts,
    /// `max_elapsed`.
    Elapsed,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attempts => "max_attempts",
            Self::Elapsed => "max_elapsed",
        })
    }
}

/// Names one attempt, and the connection it makes. Counted from 0 over the machine's life (D6),
/// and on by a restored machine (D10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(pub(crate) u64);

impl AttemptId {
    /// The number, counted from 0.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What the host has to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Begin to connect.
    Start(Start),
    /// The connect deadline has passed, and the attempt has failed with it: stop it (S5).
    Abort(Abort),
}

/// Begin to connect, and report the outcome under this id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Under which id to report the outcome.
    pub attempt: AttemptId,
    /// When this start was due; it is late by as much as the host was.
    pub due_at: Duration,
    /// When the machine will abort it unless SETTINGS has arrived: nothing to enforce, but good
    /// to know (S5).
    pub deadline: Duration,
    /// The delay drawn for the next attempt, should this one fail (S9).
    pub backoff: Duration,
}

/// Stop this attempt, or close the connection it made. Nothing needs to be reported for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// The attempt to stop.
    pub attempt: AttemptId,
}

/// Whether a reported outcome counted (D6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did.
    Accepted,
    /// The attempt already had its outcome: nothing has changed. Close that connection if it is
    /// open.
    Stale,
}

/// What outlives a machine: put it on disk, or carry it over to a changed address list (D10).
///
/// It holds spans, not instants, so it may be restored under another clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Attempts started so far, so that no id is given twice.
    pub attempts: u64,
    /// Attempts that failed in a row.
    pub failures: u32,
    /// The next delay before jitter; `None` at the start of a series.
    pub backoff: Option<Duration>,
    /// How long no attempt may start.
    pub wait: Duration,
}

impl Snapshot {
    /// What to restore where a snapshot is lost or cannot be read: a new series after a first
    /// delay, by this draw (D10). A program that starts again and again is then no faster for
    /// having lost it, and many that lose it together disperse.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub fn unknown(config: &Config, draw: u64) -> Result<Self, ConfigError> {
        let schedule = config.schedule()?;
        Ok(Self {
            wait: Series::new(&schedule).next(&schedule, draw),
            ..Self::default()
        })
    }
}
