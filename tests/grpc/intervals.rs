//! Runs `vectors/intervals.json`: how other clients dial, by recorded gaps, and what our judges
//! say of that.

use conformance::time::{ns, s};
use conformance::vectors::load;
use grpc_faults::{Judge, Rejected};
use serde::Deserialize;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    source: String,
    rules: Vec<String>,
    official: Official,
    verdict: Verdict,
    initial_ns: Option<u64>,
    max_ns: Option<u64>,
    attempt_ns: Option<u64>,
    gaps_ns: Vec<u64>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Official {
    Passed,
    Rejected,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Passed,
    TooFewConnections(usize),
    TooEarly(usize),
    TooLate(usize),
}

impl Vector {
    /// This judge, for the client's settings.
    fn judge(&self, judge: Judge) -> Judge {
        Judge {
            initial: self.initial_ns.map_or(s(1), ns),
            max: self.max_ns.map_or(s(120), ns),
            attempt: self.attempt_ns.map_or(Duration::ZERO, ns),
            ..judge
        }
    }
}

#[test]
fn both_judges_say_of_each_record_what_they_should() {
    let vectors: Vec<Vector> = load("intervals.json");
    for vector in &vectors {
        let id = &vector.id;
        assert!(
            !vector.source.is_empty() && !vector.rules.is_empty(),
            "{id}"
        );
        let gaps = || vector.gaps_ns.iter().copied().map(ns);

        let official = match vector.judge(Judge::OFFICIAL).officially_passes(gaps()) {
            true => Official::Passed,
            false => Official::Rejected,
        };
        assert_eq!(official, vector.official, "{id}");

        let verdict = match vector.judge(Judge::STRICT).judge_gaps(gaps()) {
            Ok(()) => Verdict::Passed,
            Err(Rejected::TooFewConnections(count)) => Verdict::TooFewConnections(count),
            Err(Rejected::TooEarly(gap)) => Verdict::TooEarly(gap.nth),
            Err(Rejected::TooLate(gap)) => Verdict::TooLate(gap.nth),
        };
        assert_eq!(verdict, vector.verdict, "{id}");
    }

    // The verdicts of the official test itself, over clients with the document's settings.
    for (id, passes) in [
        ("py-default-refuse", true),
        ("go-default-refuse", true),
        ("js-default-refuse", false),
        ("js-default-close", false),
        ("tonic-refuse", false),
        ("tonic-close", false),
        ("constant-1s", false),
    ] {
        let vector = vectors.iter().find(|vector| vector.id == id);
        let vector = vector.unwrap_or_else(|| panic!("no vector {id}"));
        assert_eq!(vector.official == Official::Passed, passes, "{id}");
    }
}
