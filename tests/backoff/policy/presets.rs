//! Runs `vectors/presets.json`.

use backoff_policy::{Class, Decision, Policy, Reason, Retry, SmoothV2, Total};
use conformance::draws::Draws;
use conformance::draws::splitmix64;
use conformance::time::ns;
use conformance::vectors::load;
use serde::Deserialize;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    source: String,
    rules: Vec<String>,
    policy: String,
    draws: Draws,
    delays_ns: Vec<u64>,
    end: Option<End>,
    total_ns: Option<[u64; 3]>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Attempts,
    Deadline,
}

impl Vector {
    fn policy(&self) -> Policy {
        self.policy.parse().expect("a vector's policy is valid")
    }

    /// Every attempt fails at once.
    fn run(&mut self) {
        let (policy, mut now) = (self.policy(), Duration::ZERO);
        let mut retry = Retry::new(now);
        for (n, &delay) in self.delays_ns.iter().enumerate() {
            let draw = self.draws.draw();
            match retry.handle_failed(&policy, Class::Transient.into(), now, draw) {
                Decision::Retry(wait) => {
                    assert_eq!(wait.delay, ns(delay), "{}: delay {n}", self.id);
                    now = wait.at;
                }
                Decision::GiveUp(end) => panic!("{}: {end} before delay {n}", self.id),
            }
            assert_eq!(retry.handle_woken(&policy, now), None, "{}", self.id);
        }
        let last = retry.handle_failed(&policy, Class::Transient.into(), now, self.draws.draw());
        let reason = match last {
            Decision::GiveUp(end) => Some(end.reason),
            Decision::Retry(_) => None,
        };
        let expected = self.end.map(|end| match end {
            End::Attempts => Reason::Attempts,
            End::Deadline => Reason::Deadline,
        });
        assert_eq!(reason, expected, "{}", self.id);
    }
}

/// (B16) Each preset has a vector, and gives its delays, its end and its total.
#[test]
fn rule_backoff_b16_presets_give_what_is_published() {
    let vectors: Vec<Vector> = load("presets.json");
    let named: Vec<_> = vectors.iter().map(|vector| vector.policy.clone()).collect();
    assert_eq!(named, Policy::PRESETS.map(|preset| preset.name.to_owned()));
    for mut vector in vectors {
        assert!(!vector.source.is_empty() && !vector.rules.is_empty());
        vector.run();
        let total = vector.total_ns.map(|total| total.map(ns));
        let total = total.map(|[least, mean, most]| Total { least, mean, most });
        assert_eq!(vector.policy().total(), total, "{}", vector.id);
    }
}

/// (B16) Polly's formula, whose values another language's floats gave: to a microsecond.
#[test]
fn rule_backoff_b16_pollys_formula_gives_what_is_published() {
    let (mut delays, mut state) = (SmoothV2::new(Duration::from_secs(1)), 1);
    for expected in [
        958539178,
        1412856191,
        3217845850,
        2176963904,
        7776975349,
        23237671999,
        45191447504,
        47406688964,
    ] {
        let delay = delays.next(splitmix64(&mut state));
        assert!(
            delay.abs_diff(ns(expected)) < Duration::from_micros(1),
            "{delay:?} {expected}"
        );
    }
    // It never stops growing, and never turns into no wait at all.
    let mut delays = SmoothV2::new(Duration::from_nanos(1));
    let last = (0..200).map(|_| delays.next(1 << 63)).last();
    assert_eq!(last, Some(Duration::MAX));
}
