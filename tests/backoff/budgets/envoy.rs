use super::{fail, start};
use backoff_policy::{Budget, BudgetError, Call, Class, EnvoyBudget, Ratio};
use conformance::time::s;

/// Attempts in flight.
fn running<B: Budget>(budget: &B, count: usize) -> Vec<Call<&B>> {
    let calls = (0..count).map(|_| {
        let mut call = Call::new(budget);
        start(&mut call, s(0));
        call
    });
    calls.collect()
}

/// (B23) 20 % of the attempts in flight, rounded down, but at least 3.
#[test]
fn rule_backoff_b23_retries_are_a_share_of_the_attempts_in_flight() {
    for (in_flight, allowed) in [
        (0, 3),
        (15, 3),
        (19, 3),
        (20, 4),
        (24, 4),
        (25, 5),
        (100, 20),
    ] {
        let budget = EnvoyBudget::standard();
        let calls = running(&budget, in_flight);
        let mut waiting = Vec::new();
        loop {
            let (call, retry) = fail(&budget, s(1), Class::Transient);
            if !retry {
                break;
            }
            waiting.push(call);
        }
        assert_eq!(waiting.len(), allowed, "of {in_flight}");
        assert_eq!(
            budget.attempts(),
            calls.len() as u64,
            "who waits is not in flight"
        );
    }
}

/// (B23) A permit is held while its retry waits and runs, and comes back when that ends anyhow.
#[test]
fn rule_backoff_b23_a_permit_is_held_until_the_retry_ends() {
    let budget = EnvoyBudget::standard();
    let retry = || {
        let (mut call, retry) = fail(&budget, s(0), Class::Transient);
        assert!(retry);
        start(&mut call, s(1));
        call
    };
    let (mut answered, mut failed, dropped) = (retry(), retry(), retry());
    assert_eq!((budget.retries(), budget.attempts()), (3, 3));
    assert!(!fail(&budget, s(2), Class::Transient).1, "3 of 3");
    answered.succeeded(s(3));
    assert_eq!((budget.retries(), budget.attempts()), (2, 2));
    failed.failed(s(3), Class::Transient);
    assert_eq!((budget.retries(), budget.attempts()), (1, 1));
    assert!(failed.retry(s(3)), "it takes a permit again");
    assert_eq!((budget.retries(), budget.attempts()), (2, 1));
    drop(dropped);
    assert_eq!((budget.retries(), budget.attempts()), (1, 0));
    drop(failed); // while it waits
    assert_eq!((budget.retries(), budget.attempts()), (0, 0));
}

/// (B23) A share above 1 or over zero is refused.
#[test]
fn rule_backoff_b23_a_share_out_of_range_is_refused() {
    assert!(EnvoyBudget::new(Ratio::new(1, 1), 0).is_ok());
    for share in [Ratio::new(2, 1), Ratio::new(0, 0)] {
        let error = EnvoyBudget::new(share, 3).expect_err("out of range");
        assert_eq!(error, BudgetError::ActiveRatio(share));
    }
}
