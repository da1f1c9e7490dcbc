//! What happens to a subject, as a vector states it.

use std::{num::NonZeroU16, time::Duration};

use serde::Deserialize;

use crate::vectors::{maybe_nanos, nanos};

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
        #[serde(default = "one")]
        expected: NonZeroU16,
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
    UndoBackOff {
        #[serde(default = "once")]
        times: u32,
    },
    UndoBackOffs,
    Clear,
    Seed {
        #[serde(rename = "srtt_ns", deserialize_with = "nanos")]
        srtt: Duration,
        #[serde(rename = "rttvar_ns", deserialize_with = "nanos")]
        rttvar: Duration,
    },
    Sent {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    HandshakeSent {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    DataPhase {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
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
    Retransmitted {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    Unreachable {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        #[serde(rename = "sent_ns", deserialize_with = "nanos")]
        sent: Duration,
    },
    SpuriousTimeout {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    SampleAfterSpurious {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
        #[serde(rename = "srtt_before_ns", deserialize_with = "nanos")]
        srtt_before: Duration,
        #[serde(rename = "rttvar_before_ns", deserialize_with = "nanos")]
        rttvar_before: Duration,
        #[serde(rename = "rtt_ns", deserialize_with = "nanos")]
        rtt: Duration,
    },
    Timeout {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
    Stop {
        #[serde(rename = "at_ns", deserialize_with = "nanos")]
        at: Duration,
    },
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

/// What an ACK covers: no new data, some of it, some while the earliest outstanding segment was
/// last sent then, all that is outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "said above")]
pub enum Covers {
    None,
    Some,
    #[serde(rename = "some_since_ns", deserialize_with = "nanos")]
    SomeSince(Duration),
    All,
}

/// An only sample of its round trip.
pub(super) const fn one() -> NonZeroU16 {
    NonZeroU16::MIN
}

impl Event {
    /// A sample, the only one of its round trip.
    #[must_use]
    pub const fn sample(rtt: Duration) -> Self {
        let expected = one();
        Self::Sample { rtt, expected }
    }
}

const fn once() -> u32 {
    1
}
