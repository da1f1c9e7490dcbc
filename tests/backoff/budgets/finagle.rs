use super::{fail, start, succeed};
use backoff_policy::{BudgetError, Class, FinagleBudget, Ratio};
use conformance::time::{ms, ns, s};
use std::time::Duration;

/// How many retries are allowed now, by making them.
fn retries(budget: &FinagleBudget, now: Duration) -> u32 {
    let mut made = 0;
    let mut call = fail(budget, now, Class::Transient); // it deposits for itself
    while call.1 {
        start(&mut call.0, now);
        call.0.failed(now, Class::Transient);
        call.1 = call.0.retry(now);
        made += 1;
    }
    made
}

/// (B22) 20 % of the calls, and 10 per second over 10 s for those who call rarely.
#[test]
fn rule_backoff_b22_a_share_of_the_calls_and_a_reserve_may_be_retried() {
    let budget = FinagleBudget::standard();
    assert_eq!(budget.balance(s(0)), 100, "the reserve");
    for _ in 0..499 {
        succeed(&budget, s(0));
    }
    assert_eq!(retries(&budget, s(0)), 200, "100, and a fifth of 500 calls");
    assert_eq!(budget.balance(s(0)), 0);
    for _ in 0..4 {
        assert!(!fail(&budget, s(0), Class::Transient).1, "below one retry");
    }
    assert!(fail(&budget, s(0), Class::Transient).1, "five calls later");
}

/// (B22) Deposits and withdrawals expire after the lifetime, in steps of a tenth.
#[test]
fn rule_backoff_b22_deposits_and_withdrawals_expire() {
    let budget = FinagleBudget::new(s(10), 1, Ratio::new(1, 1)).expect("valid");
    for _ in 0..7 {
        succeed(&budget, ms(500)); // in the first of ten slices
    }
    assert_eq!(budget.balance(ms(9_999)), 17);
    assert_eq!(budget.balance(s(10)), 10, "they are out of the window");
    assert_eq!(
        retries(&budget, s(12)),
        11,
        "the reserve, and the call's own"
    );
    assert_eq!(budget.balance(ms(21_999)), 0);
    assert_eq!(budget.balance(s(22)), 10, "the retries are forgotten too");
    succeed(&budget, s(22));
    assert_eq!(
        budget.balance(s(1_000_000)),
        10,
        "after many turns of the ring"
    );
}

/// (B22) A ratio counts by its value, whatever its terms.
#[test]
fn rule_backoff_b22_a_ratio_with_long_terms_is_the_same() {
    let ratio = Ratio::new(800_000_000, 4_000_000_000);
    let budget = FinagleBudget::new(s(10), 100, ratio).expect("valid");
    for _ in 0..4_999 {
        succeed(&budget, s(0));
    }
    assert_eq!(retries(&budget, s(0)), 2_000);
}

/// (B22) However long ago the host's epoch is, and however long nobody called: since 1970, and then
/// for three years.
#[test]
fn rule_backoff_b22_any_epoch_will_do() {
    let budget = FinagleBudget::new(s(10), 1, Ratio::new(1, 1)).expect("valid");
    for now in [1_796_000_000, 1_890_000_000, u64::MAX / 2_000_000_000] {
        assert_eq!(retries(&budget, s(now)), 11, "at {now} s");
        assert_eq!(budget.balance(s(now + 9)), 0, "at {now} s");
        assert_eq!(budget.balance(s(now + 11)), 10, "at {now} s");
        succeed(&budget, s(now + 11));
    }
}

/// (B22) A clock that goes back changes nothing that has been counted.
#[test]
fn rule_backoff_b22_an_earlier_time_counts_in_the_latest_slice() {
    let budget = FinagleBudget::new(s(10), 0, Ratio::new(1, 1)).expect("valid");
    succeed(&budget, s(100));
    succeed(&budget, s(3));
    assert_eq!(budget.balance(s(100)), 2);
    assert_eq!(budget.balance(ms(109_999)), 2);
    assert_eq!(budget.balance(s(110)), 0);
}

/// (B22) A retry that does not take place is given back, unless it has expired by itself.
#[test]
fn rule_backoff_b22_a_refund_goes_where_it_was_taken() {
    let budget = FinagleBudget::new(s(10), 1, Ratio::new(0, 1)).expect("valid");
    let (early, _) = fail(&budget, s(0), Class::Transient);
    let (late, _) = fail(&budget, s(5), Class::Transient);
    assert_eq!(budget.balance(s(5)), 8);
    drop(late);
    assert_eq!(budget.balance(s(5)), 9);
    assert_eq!(budget.balance(s(10)), 10, "the early one has expired");
    drop(early);
    assert_eq!(budget.balance(s(10)), 10, "and is not given back as well");
}

/// (B22) Values outside Finagle's ranges are refused.
#[test]
fn rule_backoff_b22_values_out_of_range_are_refused() {
    let (second, minute, ratio) = (s(1), s(60), Ratio::new(1, 5));
    assert!(FinagleBudget::new(second, 0, Ratio::new(1_000, 1)).is_ok());
    assert!(FinagleBudget::new(minute, u32::MAX, Ratio::new(1, u32::MAX)).is_ok());
    for ttl in [second - ns(1), minute + ns(1)] {
        let error = FinagleBudget::new(ttl, 10, ratio).expect_err("out of range");
        assert_eq!(error, BudgetError::Ttl(ttl));
    }
    for ratio in [Ratio::new(1_001, 1), Ratio::new(1, 0)] {
        let error = FinagleBudget::new(second, 10, ratio).expect_err("out of range");
        assert_eq!(error, BudgetError::RetryRatio(ratio));
    }
}
