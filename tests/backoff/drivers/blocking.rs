//! `retry_blocking`, without a real sleep.

use super::{STARTS, exact, transient};
use backoff_policy::{
    AwsQuota, Class, Event, Hint, Idempotency, Policy, Reason, Retrying, retry_blocking,
};
use conformance::time::s;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::Duration;

/// (B7) The same waits as awaited, and the same end.
#[test]
fn rule_backoff_b7_a_thread_waits_as_planned() {
    let (now, starts) = (Cell::new(s(0)), RefCell::new(Vec::new()));
    let end = retry_blocking(exact(), || {
        starts.borrow_mut().push(now.get());
        Err::<(), _>("down")
    })
    .classify(transient)
    .run_with(|| now.get(), |delay| now.set(now.get() + delay))
    .expect_err("it is down");
    assert_eq!(*starts.borrow(), STARTS);
    assert_eq!(
        (end.source, end.end.reason),
        (Some("down"), Reason::Attempts)
    );
    assert_eq!((end.end.elapsed, end.end.slept), (s(15), s(15)));
}

/// (B11) A clock that is set back at any point makes no sleep longer.
#[test]
fn rule_backoff_b11_a_clock_set_back_makes_no_sleep_longer() {
    let readings = RefCell::new((0..).map(|n| s(1_000_u64.saturating_sub(n * 100))));
    let slept = RefCell::new(Vec::new());
    retry_blocking(exact(), || Err::<(), _>("down"))
        .run_with(
            || readings.borrow_mut().next().expect("endless"),
            |delay| slept.borrow_mut().push(delay),
        )
        .expect_err("it is down");
    assert_eq!(*slept.borrow(), [s(1), s(2), s(4), s(8)]);
}

/// (B4) Here, too, each has a random stream of its own.
#[test]
fn rule_backoff_b4_a_thousand_blocking_sessions_wait_differently() {
    let first = |_| {
        let slept = Cell::new(None);
        let policy = Policy::preset("calls").expect("a preset");
        _ = retry_blocking(policy, || Err::<(), _>("down"))
            .run_with(|| s(0), |delay| slept.set(slept.get().or(Some(delay))));
        slept.get().expect("it waits")
    };
    let delays: HashSet<Duration> = (0..1_000).map(first).collect();
    assert!(delays.len() >= 999, "{}", delays.len());
}

/// (B6, B13) All of the builder is there.
#[test]
fn rule_backoff_b13_a_thread_never_does_twice_what_must_not_be() {
    let quota = AwsQuota::standard_2_0();
    fn settle<'a, Op>(retrying: Retrying<'a, Op, &'static str>) -> Retrying<'a, Op, &'static str> {
        retrying
            .idempotency(Idempotency::Never)
            .classify(|&error| match error {
                "refused" => Class::Unsent,
                _ => Class::Timeout,
            })
            .hint(|_| Some(Hint::After(s(3))))
            .draws(|| 0)
    }
    let mut errors = ["refused", "refused", "no answer"].into_iter();
    let (mut slept, mut heard) = (Vec::new(), Vec::new());
    let charge = retry_blocking(exact(), || Err::<(), _>(errors.next().expect("no fourth")));
    let end = settle(charge)
        .budget(&quota)
        .observe(|event| {
            heard.push(match event {
                Event::Retrying { failure, .. } => format!("{:?}", failure.class),
                Event::GaveUp { end, .. } => format!("{:?}", end.reason),
                other => format!("{other:?}"),
            })
        })
        .run_with(|| s(0), |delay| slept.push(delay))
        .expect_err("no answer");
    assert_eq!(
        (end.source, end.end.reason),
        (Some("no answer"), Reason::NotIdempotent)
    );
    assert_eq!(slept, [s(3); 2]);
    assert_eq!(heard, ["Unsent", "Unsent", "NotIdempotent"]);
    assert_eq!(quota.available(), 500 - 5 - 5);
}

/// By the real clock and the real sleep: a policy that waits 3 ns.
#[test]
fn it_runs_in_real_time() {
    let policy: Policy = "base=1ns,cap=2ns,jitter=none,attempts=3"
        .parse()
        .expect("a policy");
    let mut attempts = 0;
    let result = retry_blocking(policy, || {
        attempts += 1;
        if attempts < 3 {
            Err("not yet")
        } else {
            Ok(attempts)
        }
    })
    .run();
    assert_eq!(result.expect("the third"), 3);
}
