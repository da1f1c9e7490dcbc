//! The vectors of RFC 6298: their format, and what a subject under test must answer.

use std::time::Duration;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use serde::{Deserialize, Deserializer};

use crate::settings::Settings;

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
    pub steps: Vec<Step>,
}

/// The settings of a Linux kernel.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinuxSettings {
    /// Floor of the variance term.
    pub rto_min_ns: u64,
}

/// An event and its consequences.
#[derive(Debug, Deserialize)]
pub struct Step {
    /// What happens.
    #[serde(flatten)]
    pub event: Event,
    /// What holds after it.
    pub expect: Expect,
}

/// Something that happens to an estimator, a timer or a sampler.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "schema.json describes each event and its fields"
)]
pub enum Event {
    Sample {
        #[serde(rename = "rtt_ns", deserialize_with = "nanos")]
        rtt: Duration,
    },
    RoundTrip {
        #[serde(rename = "sent_ns", deserialize_with = "nanos")]
        sent: Duration,
        #[serde(rename = "acked_ns", deserialize_with = "nanos")]
        acked: Duration,
    },
    BackOff {
        #[serde(default = "once")]
        times: u32,
    },
    Clear,
    Sent {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    HandshakeSent {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    DataPhase,
    Acked {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        progress: Covers,
        #[serde(default, rename = "rtt_ns", deserialize_with = "maybe_nanos")]
        rtt: Option<Duration>,
    },
    FastRetransmit {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    Timeout {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    Stop,
    SegmentSent {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        start: u64,
        end: u64,
    },
    SegmentAcked {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        upto: u64,
    },
}

/// What an ACK covers: no new data, some of it, all that is outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "said above")]
pub enum Covers {
    None,
    Some,
    All,
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

/// What holds after an event; the outer `None` is not checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "schema.json describes each field")]
pub struct Expect {
    #[serde(deserialize_with = "present")]
    pub srtt_ns: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    pub rttvar_ns: Option<Option<u64>>,
    pub rto_ns: Option<u64>,
    pub backoffs: Option<u32>,
    #[serde(deserialize_with = "present")]
    pub deadline_ns: Option<Option<u64>>,
    pub outcome: Option<Verdict>,
    pub expired: Option<bool>,
    #[serde(deserialize_with = "present")]
    pub sample_ns: Option<Option<u64>>,
    pub linux: Option<LinuxExpect>,
}

/// What a Linux kernel has after an event; `rto::linux` and nothing else is held to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "schema.json describes each field")]
pub struct LinuxExpect {
    pub mdev_ns: u64,
    pub rttvar_ns: u64,
    pub rto_ns: u64,
}

/// What an event answers by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What became of the sample, if the event had one.
    pub outcome: Option<Verdict>,
    /// Whether a timeout call was an expiry.
    pub expired: bool,
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

impl Expect {
    /// What `reply` and `view` get wrong, a line each.
    #[must_use]
    pub fn misses(&self, reply: &Reply, view: &View, tolerance_ns: u64) -> Vec<String> {
        let mut misses = Vec::new();
        let mut note = |what: &str, fits: bool, got: String| {
            if !fits {
                misses.push(format!("{what} is {got}"));
            }
        };
        let near = |expected: Option<u64>, got: &Option<BigRational>| match (expected, got) {
            (Some(expected), Some(got)) => rounded(got)
                .map(|got| got.abs_diff(expected) <= tolerance_ns)
                .unwrap_or(false),
            (expected, got) => expected.is_none() && got.is_none(),
        };
        let not_early = |expected: u64, got: u128| {
            got.checked_sub(expected.into())
                .is_some_and(|late| late <= tolerance_ns.into())
        };
        let Reply {
            outcome,
            expired,
            sample,
        } = *reply;
        if let Some(expected) = self.srtt_ns {
            note(
                "SRTT",
                near(expected, &view.srtt),
                format!("{:?}", view.srtt),
            );
        }
        if let Some(expected) = self.rttvar_ns {
            note(
                "RTTVAR",
                near(expected, &view.rttvar),
                format!("{:?}", view.rttvar),
            );
        }
        if let Some(expected) = self.rto_ns {
            note(
                "RTO",
                not_early(expected, view.rto_ns),
                view.rto_ns.to_string(),
            );
        }
        if let Some(expected) = self.backoffs {
            note(
                "back-offs",
                expected == view.backoffs,
                view.backoffs.to_string(),
            );
        }
        if let Some(expected) = self.deadline_ns {
            let fits = match (expected, view.deadline_ns) {
                (Some(expected), Some(got)) => not_early(expected, got),
                (expected, got) => expected.is_none() && got.is_none(),
            };
            note("deadline", fits, format!("{:?}", view.deadline_ns));
        }
        if let Some(expected) = self.outcome {
            note("outcome", outcome == Some(expected), format!("{outcome:?}"));
        }
        if let Some(expected) = self.expired {
            note("expired", expired == expected, expired.to_string());
        }
        if let Some(expected) = self.sample_ns {
            let fits = sample == expected.map(Duration::from_nanos);
            note("sample", fits, format!("{sample:?}"));
        }
        misses
    }
}

/// To the nearest integer, halves up.
pub(crate) fn rounded(value: &BigRational) -> Option<u64> {
    debug_assert!(!value.is_negative());
    let half = BigRational::new(BigInt::from(1), BigInt::from(2));
    (value + half).floor().to_integer().try_into().ok()
}

pub(crate) fn nanos<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_nanos)
}

pub(crate) fn maybe_nanos<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    nanos(deserializer).map(Some)
}

/// Tells `null` from an absent field, which takes the default.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

const fn once() -> u32 {
    1
}
