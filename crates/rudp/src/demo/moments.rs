//! What a record is made of.

use std::time::Duration;

use grpc_backoff::Outcome;

use crate::Attempt;

/// A round trip, and what the estimator made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// When.
    pub at: Duration,
    /// The round trip.
    pub rtt: Duration,
    /// The smoothed round trip after it.
    pub srtt: Duration,
    /// The RTO after it.
    pub rto: Duration,
}

/// Packets that had been taken for lost, and were acknowledged after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// When.
    pub at: Duration,
    /// How many.
    pub packets: u64,
    /// Whether congestion control took back what it had done about them.
    pub undone: bool,
}

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// When.
    pub at: Duration,
    /// The RTO that ran out.
    pub rto: Duration,
    /// The RTO from then on.
    pub next_rto: Duration,
    /// How many expiries in a row this makes.
    pub in_a_row: u32,
    /// When the data concerned was last sent before the first of them.
    pub last_sent_at: Duration,
}

/// An attempt that ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// When.
    pub at: Duration,
    /// Which, and how.
    pub attempt: Attempt,
    /// How many had failed in a row before it.
    pub failed_before: u32,
}

/// Where the data went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// When.
    pub at: Duration,
    /// The bytes that the receiver found on its disk.
    pub on_disk: u64,
    /// Where the data goes on.
    pub offset: u64,
    /// The bytes that had been reported as on disk before.
    pub seen_before: u64,
}

impl Ended {
    /// Whether the server accepted.
    #[must_use]
    pub fn connected(&self) -> bool {
        self.attempt.outcome == Outcome::Connected
    }
}
