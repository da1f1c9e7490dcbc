//! Runs `vectors/budgets.json`.

use backoff_policy::{
    Admission, AwsAdaptive, AwsQuota, Budget, Call, Class, FinagleBudget, GrpcThrottle, QuotaCosts,
};
use conformance::time::ns;
use conformance::vectors::load;
use serde::Deserialize;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    source: String,
    rules: Vec<String>,
    budget: BudgetData,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum BudgetData {
    AwsQuota {
        capacity: u32,
        throttled: u32,
        timeout: u32,
        other: u32,
    },
    Grpc {
        max_milli: u32,
        ratio_milli: u32,
    },
    Finagle,
    AwsAdaptive,
}

/// An attempt that starts and ends at one instant: the next of this call, or the first of a new
/// one. After a failure a retry is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    event: Event,
    at_ns: u64,
    expect: Expect,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Succeeded,
    Transient,
    Throttled,
    Timeout,
    Permanent,
}

/// What is absent is not checked. Rates are in billionths, within ten of the published ones.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    retry: Option<bool>,
    left: Option<u64>,
    measured_rate: Option<u64>,
    fill_rate: Option<u64>,
}

enum Subject {
    AwsQuota(AwsQuota),
    Grpc(GrpcThrottle),
    Finagle(FinagleBudget),
    AwsAdaptive(Box<AwsAdaptive>),
}

impl Subject {
    fn new(data: &BudgetData) -> Self {
        match *data {
            BudgetData::AwsQuota {
                capacity,
                throttled,
                timeout,
                other,
            } => {
                let costs = QuotaCosts {
                    throttled,
                    timeout,
                    other,
                };
                Self::AwsQuota(AwsQuota::new(capacity, costs))
            }
            BudgetData::Grpc {
                max_milli,
                ratio_milli,
            } => Self::Grpc(GrpcThrottle::new(max_milli, ratio_milli).expect("valid")),
            BudgetData::Finagle => Self::Finagle(FinagleBudget::standard()),
            BudgetData::AwsAdaptive => {
                let limiter = AwsAdaptive::new(AwsQuota::standard_2_0(), Duration::ZERO);
                Self::AwsAdaptive(Box::new(limiter))
            }
        }
    }

    fn budget(&self) -> &dyn Budget {
        match self {
            Self::AwsQuota(quota) => quota,
            Self::Grpc(throttle) => throttle,
            Self::Finagle(budget) => budget,
            Self::AwsAdaptive(limiter) => &**limiter,
        }
    }

    fn left(&self, now: Duration) -> u64 {
        match self {
            Self::AwsQuota(quota) => quota.available().into(),
            Self::Grpc(throttle) => throttle.tokens().into(),
            Self::Finagle(budget) => budget.balance(now),
            Self::AwsAdaptive(limiter) => limiter.quota().available().into(),
        }
    }

    fn check(&self, case: &str, now: Duration, expect: &Expect) {
        if let Some(left) = expect.left {
            assert_eq!(self.left(now), left, "{case}: left");
        }
        if let Self::AwsAdaptive(limiter) = self {
            let near = |rate: u64, expected| rate.abs_diff(expected) <= 10;
            for (rate, expected) in [
                (limiter.measured_rate(), expect.measured_rate),
                (limiter.fill_rate(), expect.fill_rate),
            ] {
                let fits = expected.is_none_or(|expected| near(rate, expected));
                assert!(fits, "{case}: {rate}, not {expected:?}");
            }
        }
    }
}

/// Makes an attempt, and says whether another may follow: then the call goes on.
fn attempt(call: &mut Call<&dyn Budget>, now: Duration, event: Event) -> bool {
    if let Admission::At(at) = call.admit(now, u64::MAX) {
        assert_eq!(call.admit(at, u64::MAX), Admission::Now);
    }
    let class = match event {
        Event::Succeeded => {
            call.succeeded(now);
            return false;
        }
        Event::Transient => Class::Transient,
        Event::Throttled => Class::Throttled,
        Event::Timeout => Class::Timeout,
        Event::Permanent => Class::Permanent,
    };
    call.failed(now, class);
    call.retry(now)
}

#[test]
fn every_vector_holds() {
    let vectors: Vec<Vector> = load("budgets.json");
    assert!(vectors.len() >= 11);
    for vector in vectors {
        let id = vector.id;
        assert!(
            !vector.source.is_empty() && !vector.rules.is_empty(),
            "{id} says where it comes from"
        );
        let subject = Subject::new(&vector.budget);
        let mut call = Call::new(subject.budget());
        for (n, step) in vector.steps.iter().enumerate() {
            let (case, now) = (format!("{id}: step {n}"), ns(step.at_ns));
            let retry = attempt(&mut call, now, step.event);
            if !retry {
                call = Call::new(subject.budget());
            }
            let expected = step.expect.retry;
            assert!(
                expected.is_none_or(|expected| expected == retry),
                "{case}: {retry}"
            );
            subject.check(&case, now, &step.expect);
        }
    }
}
