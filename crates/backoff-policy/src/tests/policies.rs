use super::schedules;
use crate::*;
use core::num::NonZeroU32;
use core::time::Duration;
use proptest::prelude::*;
use std::string::ToString;

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
