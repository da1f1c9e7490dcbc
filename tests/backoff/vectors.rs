//! Runs `vectors/backoff.json`.

#[path = "../grpc/support.rs"]
mod support;

use backoff_policy::{Jitter, Ratio, Schedule, Series};
use serde::Deserialize;
use support::{Draws, load, ns};

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
    let vectors: Vec<Vector> = load(include_str!("../vectors/backoff.json"), "backoff");
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

#[test]
fn the_stated_draws_are_those_of_splitmix64() {
    let mut draws = Draws::Splitmix64(1);
    let expected = [
        0x910a_2dec_8902_5cc1,
        0xbeeb_8da1_658e_ec67,
        0xf893_a2ee_fb32_555e,
        0x71c1_8690_ee42_c90b,
    ];
    assert_eq!([0; 4].map(|_| draws.draw()), expected);
}
