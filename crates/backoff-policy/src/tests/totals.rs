use crate::*;
use core::time::Duration;
use std::format;

/// The waiting of many whole runs, on average, in seconds.
fn average(policy: &Policy, runs: u64) -> f64 {
    let mut state = 1u64;
    let mut sum = 0.0;
    for _ in 0..runs {
        let mut retry = Retry::new(Duration::ZERO);
        loop {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            let draw = state.rotate_left(32) ^ state;
            let failure = Class::Transient.into();
            match retry.handle_failed(policy, failure, Duration::ZERO, draw) {
                Decision::Retry(wait) => sum += wait.delay.as_secs_f64(),
                Decision::GiveUp(_) => break,
            }
        }
    }
    sum / runs as f64
}

#[test]
fn the_mean_total_is_the_average_of_many_runs() {
    for text in [
        "attempts=9",
        "jitter=equal,attempts=9,first=exact",
        "jitter=proportional:1/5,attempts=12,first=immediate",
        "jitter=between-ceilings,attempts=9",
        "jitter=proportional-clipped:1/2,base=500ms,multiplier=3/2,cap=10s,attempts=15",
        "jitter=decorrelated,base=5ms,cap=2s,attempts=6",
        "jitter=decorrelated,base=5ms,cap=2s,attempts=20",
        "jitter=decorrelated,base=1s,cap=10s,attempts=100",
        "jitter=decorrelated,base=1s,cap=10s,attempts=2,first=exact",
    ] {
        let policy: Policy = text.parse().expect("valid");
        let total = policy.total().expect("limited");
        let (mean, average) = (total.mean.as_secs_f64(), average(&policy, 20_000));
        let off = (mean / average - 1.0).abs();
        assert!(off < 0.01, "{text}: {mean} for {average}");
        assert!(total.least <= total.mean && total.mean <= total.most);
    }
}

#[test]
fn the_ends_of_a_total_are_the_waits_of_the_extreme_draws() {
    let waits = |policy: &Policy, draw| {
        let mut retry = Retry::new(Duration::ZERO);
        let mut wait = || {
            let failure = Class::Transient.into();
            match retry.handle_failed(policy, failure, Duration::ZERO, draw) {
                Decision::Retry(wait) => Some(wait.delay),
                Decision::GiveUp(_) => None,
            }
        };
        core::iter::from_fn(&mut wait).sum::<Duration>()
    };
    for jitter in [
        "none",
        "full",
        "equal",
        "decorrelated",
        "between-ceilings",
        "proportional:1/5",
        "additive:1/3",
        "proportional-clipped:1/2",
    ] {
        for first in ["jittered", "exact", "immediate"] {
            for attempts in [1, 2, 3, 9, 100] {
                let text = format!("cap=1m,jitter={jitter},first={first},attempts={attempts}");
                let policy: Policy = text.parse().expect("valid");
                let total = policy.total().expect("limited");
                assert_eq!(total.least, waits(&policy, 0), "{text}");
                assert_eq!(total.most, waits(&policy, u64::MAX), "{text}");
            }
        }
    }
}

#[test]
fn the_total_of_any_number_of_waits_takes_no_time() {
    let most = "base=1s,cap=60s,attempts=4294967295"
        .parse::<Policy>()
        .expect("valid");
    let total = most.total().expect("limited");
    let at_cap = Duration::from_secs(60) * (u32::MAX - 1 - 6); // all but 1, 2, 4, 8, 16, 32 s
    assert_eq!(total.most, at_cap + Duration::from_secs(63));
    assert_eq!(
        "attempts=1".parse::<Policy>().expect("valid").total(),
        Some(Total {
            least: Duration::ZERO,
            mean: Duration::ZERO,
            most: Duration::ZERO
        })
    );
    assert_eq!(Policy::TEMPORAL.total(), None);
}
