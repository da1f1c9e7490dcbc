//! The vectors of RFC 6298: their format, and what a subject under test must answer.

mod event;
mod expect;

use std::time::Duration;

use num_rational::BigRational;
use serde::Deserialize;

use crate::{settings::Settings, vectors::Step};

pub use event::{Covers, Event};
pub use expect::{Expect, LinuxExpect};

/// One vector: a configuration, and events with what holds after each.
#[derive(Debug, Deserialize)]
pub struct Vector {
    /// Unique within its file.
    pub id: String,
    /// How far a result may be from the stated one; see the schema.
    pub tolerance_ns: u64,
    /// What differs from RFC 6298.
    pub config: Settings,
    /// Of a Linux kernel: what differs from one as it comes.
    pub linux: Option<LinuxSettings>,
    /// In order.
    pub steps: Vec<Step<Event, Expect>>,
}

/// The settings of a Linux kernel.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinuxSettings {
    /// Floor of the variance term.
    pub rto_min_ns: u64,
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the schema")]
pub enum Verdict {
    First,
    Accepted,
    Rejected,
}

/// The limit at which a connection was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the schema")]
pub enum Limit {
    R2,
    UserTimeout,
}

/// The end of trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaveUp {
    /// Which limit was reached.
    pub limit: Limit,
    /// How often the data was retransmitted.
    pub retransmissions: u32,
    /// How long ago it was first sent.
    pub elapsed_ns: u64,
}

/// What an event answers by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What became of the sample, if the event had one.
    pub outcome: Option<Verdict>,
    /// Whether a timeout call asked to retransmit.
    pub expired: bool,
    /// Whether it told that R1 was reached.
    pub r1: bool,
    /// Whether it gave up.
    pub gave_up: Option<GaveUp>,
    /// The valid sample that an ACK gave.
    pub sample: Option<Duration>,
}

/// What can be seen of a subject after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// In ns, with whatever fraction the subject shows.
    pub srtt: Option<BigRational>,
    /// In ns, with whatever fraction the subject shows.
    pub rttvar: Option<BigRational>,
    /// The RTO in force.
    pub rto_ns: u128,
    /// Doublings since the last sample.
    pub backoffs: u32,
    /// When the timer expires, if it runs.
    pub deadline_ns: Option<u128>,
}

/// Something that vectors run against: `rto` and the reference model.
pub trait Subject {
    /// Lets the event happen.
    fn apply(&mut self, event: &Event) -> Reply;
    /// Shows the state.
    fn view(&self) -> View;
}
