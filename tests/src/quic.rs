//! The vectors of QUIC's probe timer: their events, and what must hold after each.

mod model;
mod subject;

use std::time::Duration;

use num_rational::BigRational;
use serde::Deserialize;

pub use model::Model;
pub use subject::ProbeTimer;

use crate::{
    misses::{Misses, both, near, not_early},
    rto_vectors::{Covers, Verdict},
    vectors::{Step, maybe_nanos, nanos, present},
};

/// One vector: a timer, and events with what holds after each.
#[derive(Debug, Deserialize)]
pub struct Vector {
    /// How far a result may be from the stated one; see the schema.
    pub tolerance_ns: u64,
    /// Whose timer it is.
    pub role: Role,
    /// In order.
    pub steps: Vec<Step<Event, Expect>>,
}

/// Which end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "said above")]
pub enum Role {
    Client,
    Server,
}

/// A packet number space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "said above")]
pub enum Space {
    Initial,
    Handshake,
    ApplicationData,
}

/// Why no timer may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the schema")]
pub enum Pause {
    AmplificationLimit,
    LossTimer,
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
        space: Space,
    },
    Acked {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        space: Space,
        progress: Covers,
        #[serde(default, rename = "rtt_ns", deserialize_with = "maybe_nanos")]
        rtt: Option<Duration>,
        #[serde(default, rename = "ack_delay_ns", deserialize_with = "nanos")]
        ack_delay: Duration,
    },
    NoneInFlight {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        space: Space,
    },
    HandshakeKeys,
    Confirmed {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        #[serde(rename = "max_ack_delay_ns", deserialize_with = "nanos")]
        max_ack_delay: Duration,
    },
    Discarded {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        space: Space,
    },
    Retry,
    NewPath,
    PersistentCongestion,
    Paused {
        reason: Pause,
    },
    Resumed {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        reason: Pause,
    },
    Timeout {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
}

/// What a timer asks for when it expires.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "the words of the schema")]
pub struct Probe {
    pub space: Space,
    pub spaces: Vec<Space>,
    pub anti_deadlock: bool,
}

/// The answer to an event, and the state after it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `Expect`")]
pub struct Answer {
    pub outcome: Option<Verdict>,
    pub probe: Option<Probe>,
    pub srtt: Option<BigRational>,
    pub rttvar: Option<BigRational>,
    pub min_rtt_ns: Option<u64>,
    pub latest_rtt_ns: Option<u64>,
    pub pto_count: u32,
    /// Of Initial and Handshake packets.
    pub handshake_pto_ns: u64,
    pub application_pto_ns: u64,
    pub deadline_ns: Option<u64>,
}

/// What must hold after an event; what is absent is not checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "schema.json describes each field")]
pub struct Expect {
    pub outcome: Option<Verdict>,
    #[serde(deserialize_with = "present")]
    pub probe: Option<Option<Probe>>,
    #[serde(deserialize_with = "present")]
    pub srtt_ns: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    pub rttvar_ns: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    pub min_rtt_ns: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    pub latest_rtt_ns: Option<Option<u64>>,
    pub pto_count: Option<u32>,
    pub handshake_pto_ns: Option<u64>,
    pub application_pto_ns: Option<u64>,
    #[serde(deserialize_with = "present")]
    pub deadline_ns: Option<Option<u64>>,
}

impl Expect {
    /// What `answer` gets wrong, a line each.
    #[must_use]
    pub fn misses(&self, answer: &Answer, tolerance_ns: u64) -> Vec<String> {
        let (near, not_early) = (both(near(tolerance_ns)), not_early(tolerance_ns));
        let (handshake, application) = (answer.handshake_pto_ns, answer.application_pto_ns);
        let mut misses = Misses::default();
        misses.equal("outcome", self.outcome.map(Some), answer.outcome);
        misses.equal("probe", self.probe.as_ref(), &answer.probe);
        misses.fits("SRTT", self.srtt_ns, answer.srtt.as_ref(), &near);
        misses.fits("RTTVAR", self.rttvar_ns, answer.rttvar.as_ref(), &near);
        misses.equal("min_rtt", self.min_rtt_ns, answer.min_rtt_ns);
        misses.equal("latest_rtt", self.latest_rtt_ns, answer.latest_rtt_ns);
        misses.equal("pto_count", self.pto_count, answer.pto_count);
        misses.fits(
            "PTO of the handshake",
            self.handshake_pto_ns,
            handshake,
            &not_early,
        );
        misses.fits(
            "PTO of Application Data",
            self.application_pto_ns,
            application,
            &not_early,
        );
        misses.fits(
            "deadline",
            self.deadline_ns,
            answer.deadline_ns,
            both(&not_early),
        );
        misses.into_lines()
    }
}
