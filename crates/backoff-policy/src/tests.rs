//! Schedules and series together.

use crate::*;
use core::num::NonZeroU32;
use core::time::Duration;
use proptest::prelude::*;
use std::string::ToString;

const KINDS: [Jitter; 8] = [
    Jitter::None,
    Jitter::Full,
    Jitter::Equal,
    Jitter::Decorrelated,
    Jitter::Proportional(Ratio::new(1, 5)),
    Jitter::Additive(Ratio::new(1, 10)),
    Jitter::BetweenCeilings,
    Jitter::ProportionalClipped(Ratio::new(1, 2)),
];

fn schedules() -> impl Strategy<Value = Schedule> {
    let nanos = prop_oneof![1..100u64, 1..u64::MAX];
    let ratio = (1..=u32::MAX, 1..=u32::MAX).prop_map(|(a, b)| Ratio::new(a.max(b), a.min(b)));
    (nanos, ratio, any::<u64>(), 0..KINDS.len()).prop_map(|(base, multiplier, room, kind)| {
        let base = Duration::from_nanos(base);
        let cap = base.saturating_add(Duration::from_nanos(room));
        Schedule::new(base, multiplier, cap, KINDS[kind]).expect("in range by construction")
    })
}

proptest! {
    #[test]
    fn every_delay_lies_within_its_bounds(schedule in schedules(), draws in prop::collection::vec(any::<u64>(), 1..40)) {
        let mut series = Series::new(&schedule);
        for (n, draw) in (0..).zip(draws) {
            let delay = series.next(&schedule, draw);
            prop_assert!(schedule.bounds(n).contains(&delay), "delay {n} {delay:?}");
        }
    }

    #[test]
    fn the_extreme_draws_give_the_bounds_themselves(schedule in schedules(), n in 0..40u32) {
        let (mut low, mut high) = (Series::new(&schedule), Series::new(&schedule));
        for _ in 0..n {
            _ = low.next(&schedule, 0);
            _ = high.next(&schedule, u64::MAX);
        }
        prop_assert_eq!(low.next(&schedule, 0), *schedule.bounds(n).start());
        prop_assert_eq!(high.next(&schedule, u64::MAX), *schedule.bounds(n).end());
    }

    #[test]
    fn ceilings_grow_until_the_cap(schedule in schedules(), n in 0..40u32) {
        let (this, next) = (schedule.ceiling(n), schedule.ceiling(n + 1));
        prop_assert!(this <= next && next <= schedule.cap());
        prop_assert!(*schedule.bounds(n).end() <= schedule.longest());
        let grows = schedule.multiplier.num > schedule.multiplier.den;
        prop_assert!(!grows || this < next || this == schedule.cap());
    }

    #[test]
    fn a_stored_position_resumes_where_it_was(schedule in schedules(), draws in prop::collection::vec(any::<u64>(), 0..10)) {
        let mut series = Series::new(&schedule);
        for draw in draws {
            _ = series.next(&schedule, draw);
        }
        prop_assert_eq!(Series::resume(&schedule, series.current()), series);
    }

    #[test]
    fn a_series_obeys_whatever_schedule_it_is_used_with(one in schedules(), other in schedules(), n in 0..10u32, draw: u64) {
        let mut series = Series::new(&one);
        for _ in 0..n {
            _ = series.next(&one, draw);
        }
        let delay = series.next(&other, draw);
        prop_assert!(delay <= other.longest(), "{delay:?}");
        prop_assert!(delay >= *other.bounds(0).start(), "{delay:?}");
        let limit = Duration::from_nanos(other.limit.get());
        prop_assert!((other.base()..=limit).contains(&series.current()));
    }
}

#[test]
fn nonsense_is_refused_and_named() {
    let s = Duration::from_secs;
    let make = |base, num, den, cap, jitter| {
        Schedule::new(base, Ratio::new(num, den), cap, jitter).map_err(|error| error.to_string())
    };
    let over = Jitter::Proportional(Ratio::new(6, 5));
    let by_zero = Jitter::Proportional(Ratio::new(0, 0));
    for (result, message) in [
        (
            make(s(0), 2, 1, s(1), Jitter::Full),
            "the base is zero (B1)",
        ),
        (
            make(s(2), 2, 1, s(1), Jitter::Full),
            "the cap 1s is below the base 2s (B1)",
        ),
        (
            make(s(1), 4, 5, s(2), Jitter::Full),
            "the multiplier 4/5 is not 1 or more (B1)",
        ),
        (
            make(s(1), 4, 0, s(2), Jitter::Full),
            "the multiplier 4/0 is not 1 or more (B1)",
        ),
        (
            make(s(1), 2, 1, s(2), over),
            "the jitter 6/5 is not in 0..=1 (B1)",
        ),
        (
            make(s(1), 2, 1, s(2), by_zero),
            "the jitter 0/0 is not in 0..=1 (B1)",
        ),
    ] {
        assert_eq!(result.expect_err("refused"), message);
    }
    assert!(make(s(1), 1, 1, s(1), Jitter::None).is_ok());
}

#[test]
fn the_state_of_a_client_is_eight_bytes() {
    assert_eq!(size_of::<Series>(), 8);
    assert_eq!(size_of::<Option<Series>>(), 8);
    assert_eq!(size_of::<Retry>(), 40);
}

#[test]
fn spans_end_at_64_bits() {
    let (long, most) = (Duration::MAX, Duration::from_nanos(u64::MAX));
    let forever = Schedule::new(long, Ratio::new(2, 1), long, Jitter::Equal).expect("valid");
    assert_eq!((forever.base(), forever.cap()), (most, most));
    let ends = Duration::from_nanos(u64::MAX >> 1)..=most;
    assert_eq!(forever.bounds(1), ends);
    let mut series = Series::resume(&forever, long);
    assert_eq!(series.next(&forever, u64::MAX), most);
    assert_eq!(series.current(), most);
}

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

fn policies() -> impl Strategy<Value = Policy> {
    let span = || {
        prop_oneof![
            Just(None),
            any::<u64>().prop_map(|ns| Some(Duration::from_nanos(ns)))
        ]
    };
    let hints = prop_oneof![
        Just(HintRule::Exact),
        Just(HintRule::AtLeast),
        any::<u64>().prop_map(|ns| HintRule::Within(Duration::from_nanos(ns))),
        any::<u64>().prop_map(|ns| HintRule::Capped(Duration::from_nanos(ns))),
        Just(HintRule::Ignore),
    ];
    let firsts = [
        FirstDelay::Jittered,
        FirstDelay::Exact,
        FirstDelay::Immediate,
    ];
    let parts = (
        schedules(),
        0..3usize,
        1..=u32::MAX,
        any::<Option<u32>>(),
        span(),
        span(),
    );
    (parts, hints, any::<(u8, bool, bool)>()).prop_map(
        move |(parts, hint, (percent, from, repeats))| {
            let (schedule, first, factor, attempts, deadline, healthy_time) = parts;
            Policy {
                first_delay: firsts[first],
                throttle_factor: NonZeroU32::new(factor).expect("not zero"),
                attempts: attempts.and_then(NonZeroU32::new),
                deadline,
                deadline_from: if from {
                    DeadlineFrom::Start
                } else {
                    DeadlineFrom::FirstFailure
                },
                hint,
                hint_jitter_percent: percent,
                healthy_time,
                repeats: if repeats {
                    Repeats::Everything
                } else {
                    Repeats::Idempotent
                },
                ..Policy::new(schedule)
            }
        },
    )
}

fn failures() -> impl Strategy<Value = Failure> {
    let classes = [
        Class::Transient,
        Class::Throttled,
        Class::Timeout,
        Class::Unsent,
        Class::Permanent,
    ];
    let hints = prop_oneof![
        Just(None),
        Just(Some(Hint::Never)),
        any::<Duration>().prop_map(|hint| Some(Hint::After(hint))),
    ];
    (0..classes.len(), hints, any::<Duration>()).prop_map(move |(class, hint, health)| {
        Failure::from(classes[class])
            .hinted(hint)
            .after_health(health)
    })
}

proptest! {
    /// Whatever the policy, the failures, the clock and the draws.
    #[test]
    fn no_retry_panics_or_leaves_its_limits(
        policy in policies(),
        failures in prop::collection::vec((failures(), any::<Duration>(), any::<u64>()), 0..20),
    ) {
        let mut retry = Retry::new(Duration::from_secs(1));
        for (failure, now, draw) in failures {
            match retry.handle_failed(&policy, failure, now, draw) {
                Decision::Retry(wait) => {
                    prop_assert_eq!(wait.at, now.saturating_add(wait.delay));
                    prop_assert!(policy.deadline.is_none_or(|deadline| wait.delay < deadline));
                    prop_assert!(policy.attempts.is_none_or(|most| wait.attempt <= most.get()));
                    if failure.hint.is_none() && wait.delay > Duration::ZERO {
                        prop_assert!(wait.delay <= policy.schedule.longest());
                    }
                }
                Decision::GiveUp(end) => prop_assert!(end.attempts > 0 && !end.to_string().is_empty()),
            }
            _ = retry.handle_woken(&policy, now);
        }
        prop_assert!(policy.lint().count() < 8);
    }

    #[test]
    fn every_policy_is_read_as_it_was_written(policy in policies()) {
        prop_assert_eq!(policy.to_string().parse(), Ok(policy), "{}", policy);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", fields in "[a-z=:,0-9./]{0,60}") {
        _ = text.parse::<Policy>();
        _ = fields.parse::<Policy>();
        _ = Hint::grpc_pushback(&text);
        _ = Hint::retry_after_seconds(&text);
    }
}
