//! Drivers under budgets.

use super::exact;
use backoff_policy::{
    Admission, AwsQuota, Budget, Class, Cost, Counters, EnvoyBudget, Outcome, Reason, retry,
};
use conformance::time::{assert_close, ms, s};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// (B9) A budget with nothing left ends it, and the wait that is not waited does not count.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b9_a_budget_ends_it() {
    let costs = backoff_policy::QuotaCosts {
        throttled: 5,
        timeout: 5,
        other: 5,
    };
    let quota = AwsQuota::new(10, costs);
    let counters = Counters::default();
    let end = retry(exact(), || async { Err::<(), _>("down") })
        .budget(&quota)
        .counters(&counters)
        .await
        .expect_err("it is down");
    assert_eq!((end.source, end.end.reason), (Some("down"), Reason::Budget));
    assert_eq!((end.end.attempts, end.end.slept), (3, s(1) + s(2)));
    assert_eq!(counters.give_ups_by(Reason::Budget), 1);
    assert_eq!(quota.available(), 0);
}

/// (B10) What is in flight counts as in flight, and what was dropped does not.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b10_permits_are_held_as_long_as_needed() {
    let budget = EnvoyBudget::standard();
    let mut slow = Box::pin(
        retry(exact(), || async {
            sleep(s(10)).await;
            Err::<(), _>("down")
        })
        .budget(&budget)
        .into_future(),
    );
    let mut held = Vec::new();
    for wait in [s(5), ms(5_500), s(1)] {
        timeout(wait, &mut slow).await.expect_err("it goes on");
        held.push((budget.attempts(), budget.retries()));
    }
    // In the first attempt; in the wait after it; in the retry.
    assert_eq!(held, [(1, 0), (0, 1), (1, 1)]);
    drop(slow);
    assert_eq!((budget.attempts(), budget.retries()), (0, 0));
}

/// Admits the first attempt after 7 s and no other.
#[derive(Debug)]
struct Slow(Admitting);

#[derive(Debug)]
enum Admitting {
    After(Duration),
    Never,
}

impl Budget for Slow {
    fn admit(&self, now: Duration, _draw: u64) -> Admission {
        match self.0 {
            Admitting::After(wait) => Admission::At(now + wait),
            Admitting::Never => Admission::Rejected,
        }
    }

    fn withdraw(&self, _now: Duration, _class: Class) -> Option<Cost> {
        Some(Cost::new(1))
    }

    fn end(&self, _now: Duration, outcome: Outcome, paid: Option<Cost>) {
        assert_eq!(outcome, Outcome::Succeeded);
        assert_eq!(paid, None);
    }
}

/// (B9) An attempt waits for its budget, or is never made.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b9_a_budget_delays_or_refuses_an_attempt() {
    #[expect(clippy::disallowed_methods, reason = "tokio's paused clock, in a test")]
    let start = tokio::time::Instant::now();
    let slow = Slow(Admitting::After(s(7)));
    let ok = retry(exact(), || async { Ok::<_, &str>(start.elapsed()) });
    assert_close(&[ok.budget(&slow).await.expect("admitted")], &[s(7)]);

    let never = Slow(Admitting::Never);
    let refused = retry(exact(), || async { Ok::<_, &str>(()) }).budget(&never);
    let end = refused.await.expect_err("refused");
    assert_eq!((end.source, end.end.reason), (None, Reason::Budget));
    assert_eq!(end.end.attempts, 0);
}

/// (B5) A wait for the budget that ends after the deadline ends it now.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b5_a_wait_for_the_budget_counts_too() {
    let slow = Slow(Admitting::After(s(7)));
    let mut policy = exact();
    policy.deadline = Some(s(7));
    policy.deadline_from = backoff_policy::DeadlineFrom::Start;
    let late = retry(policy, || async { Ok::<_, &str>(()) }).budget(&slow);
    let end = late.await.expect_err("too late").end;
    assert_eq!((end.reason, end.elapsed), (Reason::Deadline, s(0)));
}
