//! Runs `vectors/backoff.json`.

use backoff_policy::{Jitter, Ratio, Schedule, Series};
use conformance::draws::Draws;
use conformance::time::ns;
use conformance::vectors::load;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    source: String,
    rules: Vec<String>,
    schedule: ScheduleData,
    draws: Draws,
    delays_ns: Vec<u64>,
    ceilings_ns: Vec<u64>,
    bounds_ns: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScheduleData {
    base_ns: u64,
    multiplier: (u32, u32),
    cap_ns: u64,
    jitter: JitterData,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum JitterData {
    None,
    Full,
    Equal,
    Decorrelated,
    Proportional(u32, u32),
}

impl ScheduleData {
    fn schedule(&self) -> Schedule {
        let jitter = match self.jitter {
            JitterData::None => Jitter::None,
            JitterData::Full => Jitter::Full,
            JitterData::Equal => Jitter::Equal,
            JitterData::Decorrelated => Jitter::Decorrelated,
            JitterData::Proportional(num, den) => Jitter::Proportional(Ratio::new(num, den)),
        };
        let multiplier = Ratio::new(self.multiplier.0, self.multiplier.1);
        Schedule::new(ns(self.base_ns), multiplier, ns(self.cap_ns), jitter).expect("valid")
    }
}

#[test]
fn every_vector_holds() {
    let vectors: Vec<Vector> = load("backoff.json");
    assert!(vectors.len() >= 10);
    for mut vector in vectors {
        let id = vector.id;
        assert!(
            !vector.source.is_empty() && !vector.rules.is_empty(),
            "{id} says where it comes from"
        );
        let schedule = vector.schedule.schedule();
        let mut series = Series::new(&schedule);
        for (n, &delay) in vector.delays_ns.iter().enumerate() {
            let draw = vector.draws.draw();
            assert_eq!(series.next(&schedule, draw), ns(delay), "{id}: delay {n}");
        }
        for (n, &ceiling) in (0..).zip(&vector.ceilings_ns) {
            assert_eq!(schedule.ceiling(n), ns(ceiling), "{id}: ceiling {n}");
        }
        for (n, &(least, most)) in (0..).zip(&vector.bounds_ns) {
            assert_eq!(schedule.bounds(n), ns(least)..=ns(most), "{id}: bounds {n}");
        }
    }
}
