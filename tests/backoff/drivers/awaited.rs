//! `retry`, awaited, in tokio's paused time.

use super::{STARTS, exact, transient};
use backoff_policy::{
    AwsQuota, Class, Counters, Event, Failure, Hint, Idempotency, Policy, Reason, RetryError, retry,
};
use conformance::time::{assert_close, ms, s};
use std::collections::HashSet;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

#[expect(clippy::disallowed_methods, reason = "tokio's paused clock, in a test")]
fn now() -> Instant {
    Instant::now()
}

/// (B11) Every wait is in virtual time: 15 s of them take none.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b11_everything_runs_in_virtual_time() {
    let start = now();
    let mut starts = Vec::new();
    let end = retry(exact(), || {
        starts.push(start.elapsed());
        async { Err::<(), _>("down") }
    })
    .await
    .expect_err("it is down");
    assert_close(&starts, &STARTS);
    assert_eq!(
        (end.source, end.end.reason),
        (Some("down"), Reason::Attempts)
    );
    assert_eq!((end.end.attempts, end.end.slept), (5, s(15)));
    assert_close(&[end.end.elapsed], &[s(15)]);
}

/// (B10) Dropped in its wait, it makes no other attempt, counts none, and gives back what it paid.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b10_dropping_cancels_the_wait_and_returns_permits() {
    let (quota, counters) = (AwsQuota::standard_2_0(), Counters::default());
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&attempts);
    let running = retry(exact(), move || {
        counted.fetch_add(1, Relaxed);
        async { Err::<(), _>("down") }
    })
    .counters(&counters)
    .budget(&quota);
    let mut running = Box::pin(running.into_future());
    // In the wait after the second attempt.
    timeout(ms(2_500), &mut running)
        .await
        .expect_err("it waits");
    assert_eq!(
        quota.available(),
        500 - 5 - 5,
        "the retry made, and the next"
    );
    drop(running);
    assert_eq!(quota.available(), 500 - 5, "the retry that was made");
    assert_eq!((counters.attempts(), counters.retries()), (2, 1));
    assert_eq!(Arc::strong_count(&attempts), 1, "nothing of it lives on");
    sleep(s(3_600)).await;
    assert_eq!(attempts.load(Relaxed), 2);
}

/// (B10) Dropped in an attempt, it drops the attempt.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b10_dropping_drops_the_attempt() {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let mut running = Box::pin(
        retry(exact(), move || {
            let held = Arc::clone(&held);
            async move {
                pending::<()>().await;
                drop(held);
                Err::<(), _>("never")
            }
        })
        .into_future(),
    );
    timeout(s(1), &mut running).await.expect_err("it hangs");
    assert_eq!(Arc::strong_count(&alive), 3);
    drop(running);
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// (B4) Each has a random stream of its own.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b4_a_thousand_sessions_wait_differently() {
    let delays = Arc::new(Mutex::new(HashSet::new()));
    for _ in 0..1_000 {
        let delays = Arc::clone(&delays);
        let first = retry(Policy::CALLS, || async { Err::<(), _>("down") })
            .observe(move |event| {
                if let Event::Retrying { wait, .. } = event
                    && wait.attempt == 2
                {
                    delays.lock().expect("no panic").insert(wait.delay);
                }
            })
            .into_future();
        timeout(Duration::ZERO, first).await.expect_err("it waits");
    }
    assert!(delays.lock().expect("no panic").len() >= 999);
}

/// (B4) A seed replays, another seed does not.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b4_a_seed_replays() {
    let slept = async |seed| {
        let end = retry(Policy::CALLS, || async { Err::<(), _>("down") }).seed(seed);
        end.await.expect_err("it is down").end.slept
    };
    assert_eq!(slept(4).await, slept(4).await);
    assert_ne!(slept(4).await, slept(5).await);
}

/// (B3) Without a budget there is one draw for each failure.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b3_the_draws_of_a_vector_give_its_delays() {
    let mut state = 1;
    let delays = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&delays);
    let policy: Policy = "base=1s,cap=60s,jitter=full,attempts=4"
        .parse()
        .expect("a policy");
    retry(policy, || async { Err::<(), _>("down") })
        .draws(move || conformance::draws::splitmix64(&mut state))
        .observe(move |event| {
            if let Event::Retrying { wait, .. } = event {
                seen.lock().expect("no panic").push(wait.delay.as_nanos());
            }
        })
        .await
        .expect_err("it is down");
    let published = [566_561_575, 1_491_563_515, 3_884_011_015];
    assert_eq!(*delays.lock().expect("no panic"), published);
}

/// (B5) The time of the attempts counts, too, and one that ends too late is the last.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b5_the_time_of_attempts_counts() {
    let policy = Policy {
        deadline: Some(s(10)),
        ..exact()
    };
    let end = retry(policy, || async {
        sleep(s(4)).await;
        Err::<(), _>("slow")
    })
    .await
    .expect_err("too slow");
    // Failures at 4, 9 and 15 s: the deadline is 10 s after the first.
    assert_eq!((end.end.reason, end.end.attempts), (Reason::Deadline, 3));
}

/// (B6, B13) What the host says of its errors counts: class and hint.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b6_classes_and_hints_come_from_the_error() {
    let start = now();
    let mut errors = ["busy", "not found"].into_iter();
    let end = retry(exact(), || {
        let error = errors.next().expect("no third attempt");
        async move { Err::<(), _>(error) }
    })
    .classify(|&error| match error {
        "busy" => Class::Throttled,
        _ => Class::Permanent,
    })
    .hint(|&error| (error == "busy").then_some(Hint::After(s(9))))
    .draws(|| 0)
    .await
    .expect_err("not found");
    assert_eq!(end.end.reason, Reason::Permanent);
    assert_close(&[start.elapsed()], &[s(9)]);
}

/// (B8) A failure may say how long its attempt had worked.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b8_health_comes_with_the_class() {
    let policy = Policy {
        healthy_time: Some(s(60)),
        ..exact()
    };
    let mut attempts = 0;
    let end = retry(policy, || {
        attempts += 1;
        async move { Err::<(), _>(if attempts == 3 { s(60) } else { s(0) }) }
    })
    .classify(|&healthy_for| Failure::from(Class::Transient).after_health(healthy_for))
    .await
    .expect_err("in the end");
    assert_eq!(end.end.attempts, 5, "since the healthy one");
    assert_eq!(attempts, 2 + 5);
}

/// (B13) An attempt that takes too long may have been done.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b13_an_attempt_without_an_answer_is_a_timeout() {
    let start = now();
    let hang = || pending::<Result<(), &str>>();
    let end = retry(exact(), hang)
        .attempt_timeout(s(30))
        .await
        .expect_err("no answer");
    assert_eq!((end.source, end.end.reason), (None, Reason::Attempts));
    assert_close(&[start.elapsed()], &[5 * s(30) + s(15)]);

    let end = retry(exact(), hang)
        .attempt_timeout(s(30))
        .idempotency(Idempotency::Never)
        .await
        .expect_err("no answer");
    assert_eq!(
        (end.end.reason, end.end.attempts),
        (Reason::NotIdempotent, 1)
    );
}

/// (B9) The error says why, and what it came from.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b9_the_error_has_the_reason_and_the_last_error() {
    let refused = || async { Err::<(), _>(std::io::Error::other("refused")) };
    let end: RetryError<_> = retry(exact(), refused).await.expect_err("refused");
    let text = end.to_string();
    assert!(text.starts_with("gave up after 5 attempts in 15"), "{text}");
    assert!(text.ends_with("no attempt is left"), "{text}");
    let source = std::error::Error::source(&end).expect("it has one");
    assert_eq!(source.to_string(), "refused");
}

/// A future that may go from thread to thread, with all that it borrows.
#[test]
fn it_may_be_sent() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let quota = AwsQuota::standard_2_0();
    drop(sent(
        retry(exact(), || async { Err::<(), _>("down") })
            .budget(&quota)
            .classify(transient)
            .into_future(),
    ));
}
