//! One test per rule of `spec/backoff.md`.

use backoff_policy::{Jitter, Ratio, Schedule, ScheduleError, Series};
use conformance::draws::{MIDDLE, splitmix64};
use conformance::time::{ms, ns, s};
use std::collections::HashSet;
use std::time::Duration;

const KINDS: [Jitter; 5] = [
    Jitter::None,
    Jitter::Full,
    Jitter::Equal,
    Jitter::Decorrelated,
    Jitter::Proportional(Ratio::new(1, 5)),
];

fn doubling(jitter: Jitter) -> Schedule {
    Schedule::new(s(1), Ratio::new(2, 1), s(60), jitter).expect("valid")
}

/// (B1) Ceilings are integers: each growth rounds down, ends at the cap, and is at least 1 ns.
#[test]
fn rule_backoff_b1_growth_is_in_exact_integers() {
    let ceilings = |base, num, den, cap| {
        let schedule =
            Schedule::new(ns(base), Ratio::new(num, den), ns(cap), Jitter::None).expect("valid");
        [0, 1, 2, 3, 4, 5].map(|n| schedule.ceiling(n).as_nanos() as u64)
    };
    assert_eq!(
        ceilings(7, 3, 2, 60),
        [7, 10, 15, 22, 33, 49],
        "10.5, 22.5 and 49.5 round down"
    );
    assert_eq!(
        ceilings(7, 3, 2, 30),
        [7, 10, 15, 22, 30, 30],
        "the cap ends it"
    );
    assert_eq!(ceilings(1, 11, 10, 9), [1, 2, 3, 4, 5, 6], "never stuck");
    assert_eq!(
        ceilings(5, 1, 1, 9),
        [5; 6],
        "a multiplier of 1 does not grow"
    );
}

/// (B1) Nothing overflows, up to the largest values there are.
#[test]
fn rule_backoff_b1_the_largest_values_saturate() {
    for jitter in KINDS {
        let schedule =
            Schedule::new(ns(1), Ratio::new(u32::MAX, 1), Duration::MAX, jitter).expect("valid");
        let mut series = Series::new(&schedule);
        for n in 0..100 {
            let delay = series.next(&schedule, u64::MAX);
            assert!(
                delay > Duration::ZERO && schedule.bounds(n).contains(&delay),
                "{jitter:?} {n}"
            );
        }
        assert_eq!(schedule.ceiling(100), ns(u64::MAX));
        assert_eq!(*schedule.bounds(100).end(), ns(u64::MAX), "{jitter:?}");
    }
}

/// (B1) Zero and inverted bounds are errors where the schedule is made.
#[test]
fn rule_backoff_b1_zero_and_inverted_bounds_are_refused() {
    let make = |base, cap| Schedule::new(base, Ratio::new(2, 1), cap, Jitter::Full);
    assert_eq!(make(s(0), s(1)), Err(ScheduleError::BaseZero));
    let (base, cap) = (s(2), ms(1_999));
    assert_eq!(
        make(base, cap),
        Err(ScheduleError::CapBelowBase { base, cap })
    );
    assert!(make(s(2), s(2)).is_ok());
}

/// (B2) `bounds` is the support: both of its ends are drawn, and nothing outside, cap or no cap.
#[test]
fn rule_backoff_b2_every_draw_lies_inside_the_stated_bounds() {
    let mut state = 2;
    for jitter in KINDS {
        let schedule = doubling(jitter);
        for _ in 0..200 {
            let mut series = Series::new(&schedule);
            for n in 0..12 {
                let delay = series.next(&schedule, splitmix64(&mut state));
                assert!(
                    schedule.bounds(n).contains(&delay),
                    "{jitter:?} {n}: {delay:?}"
                );
            }
        }
        let (mut least, mut most) = (Series::new(&schedule), Series::new(&schedule));
        for n in 0..12 {
            let ends = least.next(&schedule, 0)..=most.next(&schedule, u64::MAX);
            assert_eq!(ends, schedule.bounds(n), "{jitter:?} {n}");
        }
    }
}

/// (B2) A draw is not clipped to the cap: there, too, clients differ. `Decorrelated` is the
/// named exception.
#[test]
fn rule_backoff_b2_no_pile_up_at_the_cap() {
    let mut state = 3;
    for jitter in KINDS {
        let schedule = doubling(jitter);
        let at_the_cap = (0..10_000)
            .filter(|_| {
                let mut series = Series::resume(&schedule, s(60));
                series.next(&schedule, splitmix64(&mut state)) == s(60)
            })
            .count();
        match jitter {
            Jitter::None => assert_eq!(at_the_cap, 10_000),
            Jitter::Decorrelated => {
                assert!(at_the_cap > 6_000, "uniform 1..180 clipped: {at_the_cap}")
            }
            _ => assert!(at_the_cap <= 1, "{jitter:?}: {at_the_cap}"),
        }
    }
}

/// (B3) The delay is the least plus the high half of draw x count: even, ends included.
#[test]
fn rule_backoff_b3_draws_are_uniform_with_inclusive_ends() {
    // Three values, so each has a third of all draws.
    let schedule = Schedule::new(ns(2), Ratio::new(1, 1), ns(2), Jitter::Full).expect("valid");
    let delay = |draw| Series::new(&schedule).next(&schedule, draw).as_nanos();
    let third = u64::MAX / 3; // (2^64 - 1) / 3, exactly
    assert_eq!(
        [0, third, third + 1, 2 * third, 2 * third + 1, u64::MAX].map(delay),
        [0, 0, 1, 1, 2, 2]
    );
}

/// (B3) One draw per delay whatever the kind: the same stream gives the same place in it.
#[test]
fn rule_backoff_b3_every_kind_takes_one_draw_per_delay() {
    // `next` takes exactly one draw by its type; the value before jitter never depends on it.
    for jitter in KINDS
        .into_iter()
        .filter(|&jitter| jitter != Jitter::Decorrelated)
    {
        let schedule = doubling(jitter);
        let (mut one, mut other) = (Series::new(&schedule), Series::new(&schedule));
        for draw in 0..10 {
            _ = one.next(&schedule, draw);
            _ = other.next(&schedule, u64::MAX - draw);
            assert_eq!(one, other, "{jitter:?}");
        }
    }
}

/// (B4) Drawing is the host's part, so all that a schedule can do is not to throw the draws'
/// difference away: a thousand that differ give first delays that differ. (`Reconnector` is a
/// host, and tested for its own streams.)
#[test]
fn rule_backoff_b4_different_draws_give_different_first_delays() {
    for jitter in KINDS.into_iter().filter(|&jitter| jitter != Jitter::None) {
        let schedule = doubling(jitter);
        let first = |mut seed: u64| Series::new(&schedule).next(&schedule, splitmix64(&mut seed));
        let delays: HashSet<Duration> = (0..1_000).map(first).collect();
        assert!(delays.len() >= 999, "{jitter:?}: {}", delays.len());
    }
    // Neither low bits alone nor high bits alone: 2^34 apart is more than the 10^9 values need.
    let schedule = doubling(Jitter::Full);
    let near = |n: u64| Series::new(&schedule).next(&schedule, MIDDLE + (n << 35));
    let delays: HashSet<Duration> = (0..1_000).map(near).collect();
    assert_eq!(delays.len(), 1_000);
}

/// (B2) A series taken to another schedule obeys that one.
#[test]
fn rule_backoff_b2_a_series_obeys_the_schedule_it_is_used_with() {
    let slow = Schedule::new(s(50), Ratio::new(2, 1), s(900), Jitter::None).expect("valid");
    let mut series = Series::new(&slow);
    for delay in [50, 100, 200] {
        assert_eq!(series.next(&slow, 0), s(delay));
    }
    let quick = doubling(Jitter::None);
    assert_eq!(series.next(&quick, 0), s(60), "its cap, not 400 s");
    assert_eq!(Series::new(&quick).next(&slow, 0), s(50), "its base");
}
