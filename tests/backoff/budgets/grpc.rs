use super::{fail, succeed};
use backoff_policy::{BudgetError, Class, GrpcThrottle};
use conformance::time::s;

/// (B21) A failure takes a token, a success gives the ratio back, within 0 and the maximum.
#[test]
fn rule_backoff_b21_a_failure_costs_a_token_and_a_success_gives_the_ratio_back() {
    let throttle = GrpcThrottle::new(3_500, 123).expect("valid");
    for left in [2_500, 1_500, 500, 0, 0] {
        fail(&throttle, s(0), Class::Transient);
        assert_eq!(throttle.tokens(), left);
    }
    for left in [123, 246, 369] {
        succeed(&throttle, s(0));
        assert_eq!(throttle.tokens(), left);
    }
    for _ in 0..26 {
        succeed(&throttle, s(0));
    }
    assert_eq!(throttle.tokens(), 3_500, "3567 is above the maximum");
    fail(&throttle, s(0), Class::Permanent);
    assert_eq!(throttle.tokens(), 3_500, "a failure that nobody retries");
}

/// (B21) Retries stop at half of the maximum, and not a thousandth earlier.
#[test]
fn rule_backoff_b21_retries_stop_at_half_of_the_tokens() {
    // Maximum, and whether the second failure (2 tokens spent) may be retried.
    for (most, second) in [(4_000, false), (4_001, true), (3_999, false)] {
        let throttle = GrpcThrottle::new(most, 1).expect("valid");
        assert!(fail(&throttle, s(0), Class::Throttled).1, "of {most}");
        let (_, retry) = fail(&throttle, s(0), Class::Throttled);
        assert_eq!(retry, second, "{} of {most}", throttle.tokens());
    }
    let throttle = GrpcThrottle::new(4_000, 1).expect("valid");
    for _ in 0..3 {
        fail(&throttle, s(0), Class::Timeout);
    }
    for _ in 0..1_999 {
        succeed(&throttle, s(0));
    }
    let (_, retry) = fail(&throttle, s(0), Class::Timeout);
    assert!(!retry, "1.999 of 4 and a token");
}

/// (B21) The maximum is in (0, 1000] tokens, the ratio above zero.
#[test]
fn rule_backoff_b21_values_outside_the_service_config_are_refused() {
    assert!(GrpcThrottle::new(1, 1).is_ok() && GrpcThrottle::new(1_000_000, u32::MAX).is_ok());
    for most in [0, 1_000_001] {
        let error = GrpcThrottle::new(most, 1).expect_err("out of range");
        assert_eq!(error, BudgetError::MaxTokens(most));
    }
    assert_eq!(
        GrpcThrottle::new(1, 0).expect_err("never a token again"),
        BudgetError::TokenRatioZero
    );
}
