use super::{fail, start, succeed};
use backoff_policy::{
    Admission, AwsAdaptive, AwsQuota, Call, Class, EnvoyBudget, FinagleBudget, GrpcThrottle, Ratio,
    SreThrottle,
};
use conformance::draws::splitmix64;
use conformance::time::{ns, s};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::thread;

const THREADS: u64 = 8;

/// Runs it on every thread at once, each with a number.
fn together(work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
}

/// (B27) Tokens are neither lost nor made: whatever was held is back in the end.
#[test]
fn rule_backoff_b27_quotas_are_full_again_after_all_calls() {
    let quota = AwsQuota::standard_2_1();
    together(|mut state| {
        for _ in 0..5_000 {
            let (mut call, retry) = fail(&quota, s(0), Class::Timeout);
            if retry && splitmix64(&mut state).is_multiple_of(2) {
                start(&mut call, s(0));
                call.succeeded(s(0));
            } // else its wait is dropped
            assert!(quota.available() <= 500);
        }
    });
    assert_eq!(quota.available(), 500);
}

/// (B27) However many ask at once, what is there is given once.
#[test]
fn rule_backoff_b27_no_token_is_given_twice() {
    let (quota, paid) = (AwsQuota::standard_2_0(), AtomicU64::new(0));
    together(|_| {
        for _ in 0..100 {
            let (mut call, retry) = fail(&quota, s(0), Class::Transient);
            if retry {
                start(&mut call, s(0));
                paid.fetch_add(1, SeqCst);
            }
        }
    });
    assert_eq!((paid.into_inner(), quota.available()), (100, 0));
}

/// (B27) The same of milli-tokens.
#[test]
fn rule_backoff_b27_the_grpc_throttle_counts_every_outcome() {
    let throttle = GrpcThrottle::new(1_000_000, 7).expect("valid");
    together(|_| (0..100).for_each(|_| _ = fail(&throttle, s(0), Class::Transient)));
    together(|_| (0..500).for_each(|_| succeed(&throttle, s(0))));
    assert_eq!(throttle.tokens(), 1_000_000 - 800 * 1_000 + 4_000 * 7);
}

/// (B27) The same of deposits, withdrawals and refunds, while the window moves on too.
#[test]
fn rule_backoff_b27_the_finagle_window_is_the_sum_of_its_slices() {
    let budget = FinagleBudget::new(s(10), 0, Ratio::new(1, 5)).expect("valid");
    let made = AtomicU64::new(0);
    together(|number| {
        for n in 0..1_000 {
            let (mut call, retry) = fail(&budget, s(n % 9), Class::Transient);
            if retry && (n + number) % 2 == 0 {
                start(&mut call, s(8));
                made.fetch_add(1, SeqCst);
            }
        }
    });
    let deposits = THREADS * 1_000;
    assert_eq!(budget.balance(s(8)), deposits / 5 - made.into_inner());
    together(|number| (0..1_000).for_each(|n| succeed(&budget, s(n * 3 + number))));
    assert_eq!(budget.balance(s(10_000)), 0, "all of it has expired");
    together(|_| (0..5).for_each(|_| succeed(&budget, s(10_000))));
    assert_eq!(budget.balance(s(10_000)), 8, "and left nothing behind");
}

/// (B27) Never more permits than the limit, and none left in the end.
#[test]
fn rule_backoff_b27_envoy_permits_stay_below_the_limit() {
    let budget = EnvoyBudget::new(Ratio::new(1, 5), 3).expect("valid");
    let mut open: Vec<_> = (0..50).map(|_| Call::new(&budget)).collect();
    open.iter_mut().for_each(|call| start(call, s(0)));
    let (held, most) = (AtomicU64::new(0), AtomicU64::new(0));
    together(|_| {
        for _ in 0..2_000 {
            let mut calls: Vec<_> = (0..4)
                .map(|_| fail(&budget, s(0), Class::Transient))
                .collect();
            calls.retain(|(_, retry)| *retry);
            let count = calls.len() as u64;
            most.fetch_max(held.fetch_add(count, SeqCst) + count, SeqCst);
            for (call, _) in calls.iter_mut().step_by(2) {
                start(call, s(0));
            }
            held.fetch_sub(count, SeqCst);
        }
    });
    // At most 50 + 8 x 3 attempts are in flight: 14 permits.
    let most = most.into_inner();
    assert!((1..=14).contains(&most), "{most}");
    assert_eq!((budget.retries(), budget.attempts()), (0, 50));
    drop(open);
    assert_eq!((budget.retries(), budget.attempts()), (0, 0));
}

/// (B27) Every request and every accept is counted.
#[test]
fn rule_backoff_b27_the_sre_throttle_counts_every_request() {
    let throttle = SreThrottle::standard();
    together(|_| (0..1_000).for_each(|n| succeed(&throttle, s(n % 120))));
    let all = THREADS as u32 * 1_000;
    assert_eq!(throttle.counts(s(119)), (all, all));
}

/// (B27) No two attempts get the same token.
#[test]
fn rule_backoff_b27_every_attempt_gets_its_own_instant() {
    let limiter = AwsAdaptive::new(AwsQuota::standard_2_0(), s(0));
    drop(fail(&limiter, s(0), Class::Throttled)); // from now on a token in 2 s
    let instants = Mutex::new(HashSet::new());
    together(|_| {
        let mut calls: Vec<_> = (0..500).map(|_| Call::new(&limiter)).collect();
        for call in &mut calls {
            let Admission::At(at) = call.admit(s(1), 0) else {
                panic!("there is no token");
            };
            assert!(
                instants.lock().expect("no panic").insert(at),
                "{at:?} twice"
            );
            assert_eq!(call.admit(at, 0), Admission::Now);
        }
    });
    let expected = (1..=THREADS * 500).map(|n| s(2 * n));
    assert_eq!(instants.into_inner().expect("no panic"), expected.collect());
}

/// (B27) A throttling answer is not lost to an answer that arrives at the same instant: it counts
/// with the next one at the latest.
#[test]
fn rule_backoff_b27_no_throttling_is_lost() {
    for n in 0..1_000 {
        let limiter = AwsAdaptive::new(AwsQuota::standard_2_0(), s(0));
        let mut calls = [(); 3].map(|()| Call::new(&limiter));
        calls.iter_mut().for_each(|call| start(call, ns(n)));
        let [mut good, mut bad, mut next] = calls;
        let both = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                both.wait();
                good.succeeded(ns(n));
            });
            both.wait();
            bad.failed(ns(n), Class::Throttled);
        });
        next.succeeded(ns(n));
        assert!(limiter.is_enabled(), "round {n}");
    }
}
