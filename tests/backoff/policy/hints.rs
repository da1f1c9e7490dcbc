//! What a server says of when to come back.

use super::{Run, transient};
use backoff_policy::{Class, Decision, Hint, HintRule, Policy, Reason, Retry};
use conformance::draws::splitmix64;
use conformance::time::{ms, s};
use std::collections::HashSet;
use std::num::NonZeroU32;
use std::time::Duration;

fn with(hint: HintRule, hint_jitter_percent: u8) -> Policy {
    Policy {
        hint,
        hint_jitter_percent,
        ..Policy::CALLS // full jitter: the middle of the first ceiling is 500 ms
    }
}

fn after(hint: Duration) -> backoff_policy::Failure {
    transient().hinted(Some(Hint::After(hint)))
}

/// (B6) Each rule, with hints below and above the computed delay.
#[test]
fn rule_backoff_b6_a_hint_counts_by_its_rule() {
    let delay = |rule, hint| {
        Run::of(with(rule, 0))
            .fails_and_waits(s(0), after(hint))
            .delay
    };
    for (rule, of_100_ms, of_3_s, of_1_min) in [
        (HintRule::Exact, ms(100), s(3), s(60)),
        (HintRule::AtLeast, ms(500), s(3), s(60)),
        (HintRule::Within(s(5)), ms(500), s(3), ms(5_500)),
        (HintRule::Capped(s(10)), ms(100), s(3), s(10)),
        (HintRule::Ignore, ms(500), ms(500), ms(500)),
    ] {
        let delays = [ms(100), s(3), s(60)].map(|hint| delay(rule, hint));
        assert_eq!(delays, [of_100_ms, of_3_s, of_1_min], "{rule:?}");
    }
}

/// (B6) After an exact hint the schedule starts over, as gRPC's pushback has it; after others it
/// goes on.
#[test]
fn rule_backoff_b6_an_exact_hint_starts_the_schedule_over() {
    let fourth = |rule| {
        let mut run = Run::of(with(rule, 0));
        run.fails_and_waits(s(0), transient());
        run.fails_and_waits(s(0), transient());
        run.fails_and_waits(s(0), after(s(1)));
        run.fails_and_waits(s(0), transient()).delay
    };
    assert_eq!(fourth(HintRule::Exact), ms(500));
    assert_eq!(fourth(HintRule::AtLeast), s(4), "half of 8 s");
}

/// (B6) Chance only ever adds to a hint, and tells apart those who were told the same. An exact
/// one stays exact.
#[test]
fn rule_backoff_b6_chance_only_adds_to_a_hint() {
    let mut state = 6;
    for rule in [
        HintRule::AtLeast,
        HintRule::Within(s(100)),
        HintRule::Capped(s(60)),
    ] {
        let delays: HashSet<_> = (0..1_000)
            .map(|_| {
                let mut retry = Retry::new(s(0));
                let draw = splitmix64(&mut state);
                match retry.handle_failed(&with(rule, 20), after(s(60)), s(0), draw) {
                    Decision::Retry(wait) => wait.delay,
                    Decision::GiveUp(end) => panic!("{end}"),
                }
            })
            .collect();
        assert!(delays.len() >= 999, "{rule:?}: {}", delays.len());
        assert!(
            delays.iter().all(|delay| (s(60)..=s(72)).contains(delay)),
            "{rule:?}"
        );
    }
    let mut run = Run::of(with(HintRule::Exact, 20));
    assert_eq!(run.fails_and_waits(s(0), after(s(60))).delay, s(60));
}

/// (B6) A hint that does not fit ends the operation with that reason and the hint; where the
/// computed delay is what does not fit, the reason is the deadline.
#[test]
fn rule_backoff_b6_a_hint_beyond_the_deadline_ends_it() {
    let policy = Policy {
        deadline: Some(s(10)),
        ..with(HintRule::AtLeast, 0)
    };
    let end = Run::of(policy).ends(after(s(10)));
    assert_eq!(end.reason, Reason::HintBeyondDeadline(s(10)));
    assert!(end.to_string().contains("the server asks for 10s"), "{end}");
    assert_eq!(
        Run::of(policy)
            .fails_and_waits(s(0), after(ms(9_999)))
            .delay,
        ms(9_999)
    );
    let short = Policy {
        deadline: Some(ms(400)),
        ..policy
    };
    assert_eq!(Run::of(short).ends(after(ms(100))).reason, Reason::Deadline);

    // A hint that happens to be as long as the computed delay, 500 ms, is one that decides.
    for (rule, decides) in [
        (HintRule::Exact, true),
        (HintRule::AtLeast, true),
        (HintRule::Within(s(5)), true),
        (HintRule::Capped(s(5)), true),
        (HintRule::Ignore, false),
    ] {
        let policy = Policy {
            deadline: Some(ms(500)),
            ..with(rule, 0)
        };
        let reason = match decides {
            true => Reason::HintBeyondDeadline(ms(500)),
            false => Reason::Deadline,
        };
        assert_eq!(
            Run::of(policy).ends(after(ms(500))).reason,
            reason,
            "{rule:?}"
        );
    }
}

/// (B6) A server that wants no retry gets none, but from who ignores what it says.
#[test]
fn rule_backoff_b6_a_server_may_refuse_retries() {
    let never = transient().hinted(Some(Hint::Never));
    assert_eq!(
        Run::of(Policy::GRPC_CALL).ends(never).reason,
        Reason::Permanent
    );
    let mut deaf = Run::of(with(HintRule::Ignore, 0));
    assert_eq!(deaf.fails_and_waits(s(0), never).delay, ms(500));
}

/// (B14) Pushback: digits that fit 32 bits, or no retry at all.
#[test]
fn rule_backoff_b14_pushback_is_a_number_or_no_retry() {
    for (value, ms) in [("0", 0), ("7", 7), ("2147483647", 2_147_483_647)] {
        assert_eq!(
            Hint::grpc_pushback(value),
            Hint::After(Duration::from_millis(ms))
        );
    }
    for value in [
        "",
        "-1",
        "-0",
        "+1",
        "1.0",
        " 1",
        "1 ",
        "01",
        "00",
        "0x1",
        "abc",
        "2147483648",
        "99999999999999999999",
    ] {
        assert_eq!(Hint::grpc_pushback(value), Hint::Never, "{value:?}");
    }
}

/// (B14) `Retry-After` in seconds: digits only, and what is too large saturates.
#[test]
fn rule_backoff_b14_retry_after_is_digits() {
    for (value, seconds) in [
        ("0", 0),
        ("120", 120),
        ("007", 7),
        ("99999999999999999999", u64::MAX),
    ] {
        let hint = Hint::retry_after_seconds(value);
        assert_eq!(
            hint,
            Some(Hint::After(Duration::from_secs(seconds))),
            "{value}"
        );
    }
    for value in [
        "", "-3", "+3", "1.5", " 3", "3 ", "3s", "1e3", "soon", "\u{0663}",
    ] {
        assert_eq!(Hint::retry_after_seconds(value), None, "{value:?}");
    }
}

/// (B7, B16) A service config's attempts above 5 are 5, its pushback is exact.
#[test]
fn rule_backoff_b16_a_service_config_makes_a_policy() {
    let (base, cap) = (ms(50), s(2));
    let twice = backoff_policy::Ratio::new(2, 1);
    let of = |attempts| {
        let attempts = NonZeroU32::new(attempts).expect("not zero");
        Policy::grpc_call(base, twice, cap, attempts).expect("valid")
    };
    assert_eq!(of(9).attempts, NonZeroU32::new(5));
    assert_eq!(of(2).attempts, NonZeroU32::new(2));
    let mut run = Run::of(of(5));
    assert_eq!(run.fails_and_waits(s(0), after(s(7))).delay, s(7));
    assert_eq!(run.fails_and_waits(s(0), Class::Transient).delay, base);
}
