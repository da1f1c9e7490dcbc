//! Retries inside retries (B15).

use super::exact;
use backoff_policy::{Layer, Policy, Reason, RetryError, retry, retry_blocking};
use conformance::time::s;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn three() -> Policy {
    Policy {
        attempts: std::num::NonZeroU32::new(3),
        ..exact()
    }
}

type Ended = Result<(), RetryError<&'static str>>;

async fn call(calls: &AtomicU32, layer: Option<Layer>) -> Ended {
    let retrying = retry(three(), || async {
        tokio::task::yield_now().await; // a later poll is as much inside
        calls.fetch_add(1, Relaxed);
        Err("down")
    });
    match layer {
        Some(layer) => retrying.layer(layer).await,
        None => retrying.await,
    }
}

fn call_blocking(calls: &AtomicU32) -> Ended {
    retry_blocking(three(), || {
        calls.fetch_add(1, Relaxed);
        Err("down")
    })
    .run_with(|| s(0), |_| ())
}

/// (B15) Two layers of three attempts make three calls, not nine.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b15_a_retry_inside_a_retry_makes_one_attempt() {
    let calls = AtomicU32::new(0);
    let end = retry(three(), || call(&calls, None))
        .await
        .expect_err("down");
    assert_eq!(calls.load(Relaxed), 3);
    assert_eq!(end.end.reason, Reason::Attempts);
    let inner = end.source.expect("the inner end").end;
    assert_eq!((inner.reason, inner.attempts), (Reason::OuterLayer, 1));
}

/// (B15) Whatever the kinds of the two.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b15_threads_and_tasks_know_each_other() {
    let calls = AtomicU32::new(0);
    let outer = || async { call_blocking(&calls) };
    retry(three(), outer).await.expect_err("down");
    assert_eq!(calls.load(Relaxed), 3);
    let twice = || call_blocking(&calls);
    retry_blocking(three(), twice)
        .run_with(|| s(0), |_| ())
        .expect_err("down");
    assert_eq!(calls.load(Relaxed), 3 + 3);
}

/// (B15) Who wants nine gets nine.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b15_an_inner_retry_may_opt_out() {
    let calls = AtomicU32::new(0);
    retry(three(), || call(&calls, Some(Layer::Outermost)))
        .await
        .expect_err("down");
    assert_eq!(calls.load(Relaxed), 9);
}

/// (B15) What runs beside an attempt, or after it, is not inside.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b15_only_what_is_inside_is_inside() {
    let calls = AtomicU32::new(0);
    let panics = || -> Result<(), ()> { panic!("in an attempt") };
    let caught = catch_unwind(AssertUnwindSafe(|| retry_blocking(three(), panics).run()));
    assert!(caught.is_err());
    call(&calls, None).await.expect_err("down");
    assert_eq!(calls.load(Relaxed), 3, "after a panic");

    // Polled in turn with attempts of another.
    let other = AtomicU32::new(0);
    let (one, two) = tokio::join!(call(&calls, None), call(&other, None));
    assert_eq!(one.expect_err("down").end.reason, Reason::Attempts);
    assert_eq!(two.expect_err("down").end.reason, Reason::Attempts);
}
