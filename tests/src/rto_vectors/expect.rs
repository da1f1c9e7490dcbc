//! What holds after an event, and how answers are held to it.

use std::time::Duration;

use serde::Deserialize;

use super::{GaveUp, Reply, Verdict, View};
use crate::{
    misses::{Misses, both, near, not_early},
    vectors::present,
};

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
    pub r1: Option<bool>,
    #[serde(deserialize_with = "present")]
    pub gave_up: Option<Option<GaveUp>>,
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

impl Expect {
    /// What `reply` and `view` get wrong, a line each.
    #[must_use]
    pub fn misses(&self, reply: &Reply, view: &View, tolerance_ns: u64) -> Vec<String> {
        let Reply {
            outcome,
            expired,
            r1,
            gave_up,
            sample,
        } = *reply;
        let near = both(near(tolerance_ns));
        let mut misses = Misses::default();
        misses.fits("SRTT", self.srtt_ns, view.srtt.as_ref(), &near);
        misses.fits("RTTVAR", self.rttvar_ns, view.rttvar.as_ref(), &near);
        misses.fits("RTO", self.rto_ns, view.rto_ns, not_early(tolerance_ns));
        misses.equal("back-offs", self.backoffs, view.backoffs);
        let not_early = both(not_early(tolerance_ns));
        misses.fits("deadline", self.deadline_ns, view.deadline_ns, not_early);
        misses.equal("outcome", self.outcome.map(Some), outcome);
        misses.equal("expired", self.expired, expired);
        misses.equal("R1", self.r1, r1);
        misses.equal("giving up", self.gave_up, gave_up);
        let sample_stated = (self.sample_ns).map(|sample| sample.map(Duration::from_nanos));
        misses.equal("sample", sample_stated, sample);
        misses.into_lines()
    }
}
