//! The vectors of messages and answers: their events, and what must hold after each.

mod model;
mod subject;

use std::time::Duration;

use serde::Deserialize;

pub use model::Model;
pub use subject::TransactionTimer;

use crate::{
    misses::Misses,
    vectors::{Step, nanos, present},
};

/// One vector: a timer, and events with what holds after each.
#[derive(Debug, Deserialize)]
pub struct Vector {
    /// The preset of the crate that has these settings, if one does.
    #[serde(default)]
    pub preset: Option<Preset>,
    /// The settings in plain numbers.
    pub config: Settings,
    /// In order.
    pub steps: Vec<Step<Event, Expect>>,
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the schema")]
pub enum Preset {
    Rfc7252,
    Rfc8489,
    Rfc6347,
    Rfc9147,
}

/// A configuration in plain numbers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "schema.json describes each field")]
pub struct Settings {
    pub initial_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub spread: (u16, u16),
    pub transmissions: Option<u8>,
    pub last_wait_times: Option<u32>,
    pub next: Next,
    pub stale_after_ns: Option<u64>,
    pub stale_after_timeouts: Option<u32>,
}

/// What the next message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the schema")]
pub enum Next {
    Same,
    Initial,
    RoundTrip(u16, u16),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            initial_ns: 1_000_000_000,
            min_ns: 1_000_000,
            max_ns: 1 << 47,
            spread: (0, 1),
            transmissions: None,
            last_wait_times: None,
            next: Next::Same,
            stale_after_ns: None,
            stale_after_timeouts: None,
        }
    }
}

/// Something that happens to the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "schema.json describes each event and its fields"
)]
pub enum Event {
    Sent {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        #[serde(default)]
        draw: u64,
    },
    Answered {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    Retransmitted {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    BeginWith {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        #[serde(rename = "timeout_ns", deserialize_with = "nanos")]
        timeout: Duration,
    },
    Stop {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    Timeout {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    /// Nothing happens: the preview is asked for.
    Schedule {
        #[serde(default)]
        draw: u64,
    },
}

/// What an expiry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the schema")]
pub enum Expiry {
    Retransmit,
    RetransmitLast,
    Failed,
}

/// The answer to an event, and the state after it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `Expect`")]
pub struct Answer {
    pub expiry: Option<Expiry>,
    pub rtt_ns: Option<u64>,
    pub timeout_ns: u64,
    pub transmissions: u32,
    pub deadline_ns: Option<u64>,
    /// As many as a comparison may need.
    pub sends_ns: Vec<u64>,
    pub fails_ns: Option<u64>,
}

/// How much of a schedule without end an [`Answer`] holds.
pub const FORESEEN: usize = 10;

/// What must hold after an event; what is absent is not checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "schema.json describes each field")]
pub struct Expect {
    #[serde(deserialize_with = "present")]
    pub expiry: Option<Option<Expiry>>,
    #[serde(deserialize_with = "present")]
    pub rtt_ns: Option<Option<u64>>,
    pub timeout_ns: Option<u64>,
    pub transmissions: Option<u32>,
    #[serde(deserialize_with = "present")]
    pub deadline_ns: Option<Option<u64>>,
    pub sends_ns: Option<Vec<u64>>,
    #[serde(deserialize_with = "present")]
    pub fails_ns: Option<Option<u64>>,
}

impl Expect {
    /// What `answer` gets wrong, a line each: everything here is exact.
    #[must_use]
    pub fn misses(&self, answer: &Answer) -> Vec<String> {
        let mut misses = Misses::default();
        misses.equal("expiry", self.expiry, answer.expiry);
        misses.equal("round trip", self.rtt_ns, answer.rtt_ns);
        misses.equal("timeout", self.timeout_ns, answer.timeout_ns);
        misses.equal("transmissions", self.transmissions, answer.transmissions);
        misses.equal("deadline", self.deadline_ns, answer.deadline_ns);
        misses.equal("sends", self.sends_ns.as_ref(), &answer.sends_ns);
        misses.equal("failure", self.fails_ns, answer.fails_ns);
        misses.into_lines()
    }
}
