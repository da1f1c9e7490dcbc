use super::{fail, start, succeed};
use backoff_policy::{AwsQuota, Call, Class};
use conformance::time::s;

const RETRYABLE: [Class; 4] = [
    Class::Transient,
    Class::Throttled,
    Class::Timeout,
    Class::Unsent,
];

/// (B20) Each version has its costs: by the class of the failure before.
#[test]
fn rule_backoff_b20_a_retry_costs_by_how_the_attempt_before_failed() {
    for (quota, costs) in [
        (AwsQuota::standard_2_0 as fn() -> AwsQuota, [5, 5, 10, 5]),
        (AwsQuota::standard_2_1, [14, 5, 14, 14]),
    ] {
        for (class, cost) in RETRYABLE.into_iter().zip(costs) {
            let quota = quota();
            let (mut call, retry) = fail(&quota, s(0), class);
            assert!(retry, "{class:?}");
            start(&mut call, s(1));
            assert_eq!(quota.available(), 500 - cost, "{class:?}");
        }
    }
}

/// (B20) A success gives back the cost of its own retry, 1 if there was none, and a failure nothing.
#[test]
fn rule_backoff_b20_a_success_gives_back_its_last_cost_or_one() {
    let quota = AwsQuota::standard_2_0();
    let (mut call, _) = fail(&quota, s(0), Class::Timeout);
    start(&mut call, s(1));
    call.failed(s(2), Class::Transient);
    assert!(call.retry(s(2)));
    assert_eq!(quota.available(), 485);
    start(&mut call, s(3));
    call.succeeded(s(4));
    assert_eq!(quota.available(), 490, "the last 5, not the 10 before");
    succeed(&quota, s(5));
    assert_eq!(quota.available(), 491);

    let (mut call, _) = fail(&quota, s(6), Class::Transient);
    start(&mut call, s(7));
    call.failed(s(8), Class::Permanent);
    assert!(!call.retry(s(8)));
    drop(call);
    assert_eq!(quota.available(), 486, "what failed in the end");
    for _ in 0..20 {
        succeed(&quota, s(9));
    }
    assert_eq!(quota.available(), 500, "never above the capacity");
}

/// (B20) In an outage the quota runs out, and calls fail at once; what is left is not touched.
#[test]
fn rule_backoff_b20_without_tokens_there_is_no_retry() {
    let quota = AwsQuota::standard_2_1();
    let mut waiting = Vec::new();
    for n in 0..40 {
        let (mut call, retry) = fail(&quota, s(0), Class::Transient);
        assert_eq!(retry, n < 35, "call {n}: 35 x 14 = 490");
        if retry {
            start(&mut call, s(1));
        }
        waiting.push(call);
    }
    assert_eq!(quota.available(), 10);
    assert!(fail(&quota, s(1), Class::Throttled).1, "5 are there");
}

/// (B20) A permanent failure is never retried, whatever is left.
#[test]
fn rule_backoff_b20_a_permanent_failure_costs_nothing() {
    let quota = AwsQuota::standard_2_0();
    let mut call = Call::new(&quota);
    start(&mut call, s(0));
    call.failed(s(1), Class::Permanent);
    assert!(!call.retry(s(1)));
    assert_eq!(quota.available(), 500);
}
