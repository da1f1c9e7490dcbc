//! What holds after an event, and how answers are held to it.

use std::{fmt::Debug, time::Duration};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use serde::{Deserialize, Deserializer};

use super::{GaveUp, Reply, Verdict, View};

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
        let mut misses = Misses(Vec::new());
        self.check_view(view, tolerance_ns, &mut misses);
        self.check_reply(reply, &mut misses);
        misses.0
    }

    fn check_view(&self, view: &View, tolerance_ns: u64, misses: &mut Misses) {
        let near = |expected: Option<u64>, got: &Option<BigRational>| match (expected, got) {
            (Some(expected), Some(got)) => {
                rounded(got).is_some_and(|got| got.abs_diff(expected) <= tolerance_ns)
            }
            (expected, got) => expected.is_none() && got.is_none(),
        };
        let not_early = |expected: u64, got: u128| {
            got.checked_sub(expected.into())
                .is_some_and(|late| late <= tolerance_ns.into())
        };
        if let Some(expected) = self.srtt_ns {
            misses.note("SRTT", near(expected, &view.srtt), &view.srtt);
        }
        if let Some(expected) = self.rttvar_ns {
            misses.note("RTTVAR", near(expected, &view.rttvar), &view.rttvar);
        }
        if let Some(expected) = self.rto_ns {
            misses.note("RTO", not_early(expected, view.rto_ns), view.rto_ns);
        }
        if let Some(expected) = self.backoffs {
            misses.note("back-offs", expected == view.backoffs, view.backoffs);
        }
        if let Some(expected) = self.deadline_ns {
            let fits = match (expected, view.deadline_ns) {
                (Some(expected), Some(got)) => not_early(expected, got),
                (expected, got) => expected.is_none() && got.is_none(),
            };
            misses.note("deadline", fits, view.deadline_ns);
        }
    }

    fn check_reply(&self, reply: &Reply, misses: &mut Misses) {
        let Reply {
            outcome,
            expired,
            r1,
            gave_up,
            sample,
        } = *reply;
        if self.outcome.is_some() {
            misses.note("outcome", outcome == self.outcome, outcome);
        }
        if let Some(expected) = self.expired {
            misses.note("expired", expired == expected, expired);
        }
        if let Some(expected) = self.r1 {
            misses.note("R1", r1 == expected, r1);
        }
        if let Some(expected) = self.gave_up {
            misses.note("giving up", gave_up == expected, gave_up);
        }
        if let Some(expected) = self.sample_ns {
            let fits = sample == expected.map(Duration::from_nanos);
            misses.note("sample", fits, sample);
        }
    }
}

struct Misses(Vec<String>);

impl Misses {
    fn note(&mut self, what: &str, fits: bool, got: impl Debug) {
        if !fits {
            self.0.push(format!("{what} is {got:?}"));
        }
    }
}

/// To the nearest integer, halves up.
pub(crate) fn rounded(value: &BigRational) -> Option<u64> {
    debug_assert!(!value.is_negative());
    let half = BigRational::new(BigInt::from(1), BigInt::from(2));
    (value + half).floor().to_integer().try_into().ok()
}

/// Tells `null` from an absent field, which takes the default.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
