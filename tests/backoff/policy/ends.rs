//! What ends an operation.

use super::{Run, transient};
use backoff_policy::{
    Class, DeadlineFrom, Decision, Idempotency, Layer, Policy, Reason, Repeats, Retry,
};
use conformance::draws::MIDDLE;
use conformance::time::{ms, s};
use std::num::NonZeroU32;

/// Waits of exactly 1, 2, 4 ... 60 s.
fn exact() -> Policy {
    "jitter=none".parse().expect("valid")
}

/// (B5) The deadline counts from the first failure and includes the time of attempts; a wait that
/// would end at it or later ends now.
#[test]
fn rule_backoff_b5_the_deadline_counts_from_the_first_failure() {
    let policy = Policy {
        deadline: Some(s(10)),
        ..exact()
    };
    let mut run = Run::of(policy);
    let waited = run.retry.handle_woken(&policy, s(100)); // for its budget, before any attempt
    assert_eq!(waited, None, "it does not run yet");
    let wait = run.fails_and_waits(s(100), transient()); // slow, but before the first failure
    assert_eq!((wait.delay, wait.at), (s(1), s(101)));
    run.fails_and_waits(ms(500), transient()); // at 1.5 s, until 3.5 s
    run.now += ms(2_500); // 6 s: 4 s are left, and the wait is 4 s
    let end = run.ends(transient());
    assert_eq!(end.reason, Reason::Deadline);
    assert_eq!((end.attempts, end.elapsed, end.slept), (3, s(106), s(3)));
    assert_eq!(
        end.to_string(),
        "gave up after 3 attempts in 106s, 3s of it waiting: the next wait ends after the deadline"
    );

    let mut run = Run::of(policy);
    run.fails_and_waits(s(100), transient());
    run.fails_and_waits(ms(500), transient());
    run.now += ms(2_499); // 4.001 s are left
    assert!(matches!(run.fails(transient()), Decision::Retry(_)));
}

/// (B5) From the start, where the policy says so.
#[test]
fn rule_backoff_b5_the_deadline_counts_from_the_start_where_told() {
    let mut run = Run::of(Policy {
        deadline: Some(s(10)),
        deadline_from: DeadlineFrom::Start,
        ..exact()
    });
    run.now = s(9); // 1 s is left, and the wait is 1 s
    let end = run.ends(transient());
    assert_eq!(
        (end.reason, end.elapsed, end.slept),
        (Reason::Deadline, s(9), s(0))
    );
}

/// (B5) It is read again after each wait: one that took longer than planned starts nothing.
#[test]
fn rule_backoff_b5_the_deadline_is_read_again_after_a_wait() {
    let mut run = Run::of(Policy {
        deadline: Some(s(10)),
        ..exact()
    });
    run.fails_and_waits(s(0), transient());
    assert_eq!(run.retry.handle_woken(&run.policy, ms(9_999)), None);
    let end = run
        .retry
        .handle_woken(&run.policy, s(10))
        .expect("too late");
    assert_eq!(
        (end.reason, end.attempts, end.elapsed),
        (Reason::Deadline, 1, s(10))
    );
}

/// (B7) n attempts are n - 1 waits.
#[test]
fn rule_backoff_b7_attempts_count_the_first() {
    for attempts in 1..=6 {
        let mut run = Run::of(Policy {
            attempts: NonZeroU32::new(attempts),
            ..exact()
        });
        for made in 1..attempts {
            let wait = run.fails_and_waits(s(0), transient());
            assert_eq!(wait.attempt, made + 1);
        }
        let end = run.ends(transient());
        assert_eq!((end.reason, end.attempts), (Reason::Attempts, attempts));
        assert_eq!(run.policy.waits(), Some(attempts - 1));
    }
}

/// (B8) Only health starts the series over, and only where the policy says how long it takes.
#[test]
fn rule_backoff_b8_only_a_stated_healthy_time_resets() {
    let healthy = Policy {
        healthy_time: Some(s(60)),
        attempts: NonZeroU32::new(4),
        ..exact()
    };
    let third = |policy, after, failure| {
        let mut run = Run::of(policy);
        run.fails_and_waits(s(0), transient());
        run.fails_and_waits(s(0), transient());
        run.fails_and_waits(after, failure).delay
    };
    let up = |time| transient().after_health(time);
    assert_eq!(third(healthy, s(60), up(s(60))), s(1), "it worked for 60 s");
    assert_eq!(third(healthy, s(60), up(ms(59_999))), s(4), "not quite");
    assert_eq!(
        third(healthy, s(3_600), transient()),
        s(4),
        "slow is not healthy"
    );
    assert_eq!(
        third(exact(), s(3_600), up(s(3_600))),
        s(4),
        "nobody asked for it"
    );

    // A healthy time of zero is reached by whatever worked at all, and by nothing that did not.
    let at_once = Policy {
        healthy_time: Some(s(0)),
        ..healthy
    };
    assert_eq!(third(at_once, s(60), up(ms(1))), s(1));
    assert_eq!(third(at_once, s(60), transient()), s(4));

    // Its attempts are counted anew, too.
    let mut run = Run::of(healthy);
    for _ in 0..3 {
        run.fails_and_waits(s(0), transient());
    }
    run.fails_and_waits(s(60), up(s(60)));
    assert_eq!(run.retry.attempts(), 1);
}

/// (B9) Every end has its reason, and says how much was tried.
#[test]
fn rule_backoff_b9_giving_up_has_a_reason_and_its_counts() {
    let once = Policy {
        attempts: Some(NonZeroU32::MIN),
        ..exact()
    };
    let of = |policy, retry, class: Class| {
        let mut run = Run {
            retry,
            ..Run::of(policy)
        };
        run.now = s(3);
        let end = run.ends(class);
        assert_eq!((end.attempts, end.elapsed, end.slept), (1, s(3), s(0)));
        end
    };
    let new = Retry::new(s(0));
    let never = new.with_idempotency(Idempotency::Never);
    let inner = new.with_layer(Layer::Inner);
    for (policy, retry, class, reason, words) in [
        (
            exact(),
            new,
            Class::Permanent,
            Reason::Permanent,
            "it will fail again",
        ),
        (
            exact(),
            never,
            Class::Timeout,
            Reason::NotIdempotent,
            "must not be done twice",
        ),
        (
            exact(),
            inner,
            Class::Transient,
            Reason::OuterLayer,
            "a layer further up retries",
        ),
        (
            once,
            new,
            Class::Transient,
            Reason::Attempts,
            "no attempt is left",
        ),
    ] {
        let end = of(policy, retry, class);
        assert_eq!(end.reason, reason);
        assert!(end.to_string().ends_with(words), "{end}");
    }
    let end = new.give_up(s(1), Reason::Budget);
    let words =
        "gave up after 0 attempts in 1s, 0ns of it waiting: the budget for retries is used up";
    assert_eq!(end.to_string(), words);
}

/// (B11) A clock that went back, or stands still, makes no wait longer, and no time is gained.
#[test]
fn rule_backoff_b11_a_clock_set_back_never_lengthens_a_wait() {
    let policy = Policy {
        deadline: Some(s(1_000)),
        ..exact()
    };
    let mut retry = Retry::new(s(500));
    let clock = [s(500), s(400), s(0), s(300)];
    for (n, now) in (0..).zip(clock) {
        let decision = retry.handle_failed(&policy, transient(), now, MIDDLE);
        let Decision::Retry(wait) = decision else {
            panic!("{decision:?}");
        };
        assert!(policy.schedule.bounds(n).contains(&wait.delay));
        assert_eq!(wait.at, now + wait.delay);
        assert_eq!(retry.handle_woken(&policy, s(0)), None);
    }
    assert_eq!(retry.give_up(s(0), Reason::Budget).elapsed, s(0));
}

/// (B13) What is not idempotent is tried again only where it never got there, or where the
/// policy repeats everything.
#[test]
fn rule_backoff_b13_what_may_have_been_done_is_not_done_twice() {
    let retried = |policy: Policy, idempotency, class: Class| {
        let mut retry = Retry::new(s(0)).with_idempotency(idempotency);
        let decision = retry.handle_failed(&policy, class.into(), s(0), MIDDLE);
        matches!(decision, Decision::Retry(_))
    };
    let everything = Policy {
        repeats: Repeats::Everything,
        ..exact()
    };
    for class in [Class::Transient, Class::Throttled, Class::Timeout] {
        assert!(retried(exact(), Idempotency::Always, class));
        assert!(!retried(exact(), Idempotency::Conditionally, class));
        assert!(retried(
            exact(),
            Idempotency::Conditionally.guarded(),
            class
        ));
        assert!(!retried(exact(), Idempotency::Never, class));
        assert!(retried(everything, Idempotency::Never, class));
    }
    assert!(retried(exact(), Idempotency::Never, Class::Unsent));
    assert!(!retried(everything, Idempotency::Always, Class::Permanent));
}

/// (B15) An inner layer tries once, whatever its policy says.
#[test]
fn rule_backoff_b15_an_inner_layer_does_not_retry() {
    let mut run = Run::of(exact());
    run.retry = run.retry.with_layer(Layer::Inner);
    assert_eq!(run.ends(transient()).reason, Reason::OuterLayer);
    assert_eq!(run.ends(Class::Permanent).reason, Reason::Permanent);
}
