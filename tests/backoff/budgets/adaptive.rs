use super::{fail, model::RateLimiter, start, succeed};
use backoff_policy::{Admission, AwsAdaptive, AwsQuota, Call, Class, uniform};
use conformance::draws::splitmix64;
use conformance::time::{ms, ns, s};
use std::time::Duration;

fn limiter() -> AwsAdaptive {
    AwsAdaptive::new(AwsQuota::standard_2_0(), Duration::ZERO)
}

/// An attempt that nothing holds up, and its answer.
fn answer(limiter: &AwsAdaptive, now: Duration, throttled: bool) {
    let mut call = Call::new(limiter);
    _ = call.admit(now, 0);
    _ = call.admit(Duration::MAX, 0); // whatever it should wait for
    if throttled {
        call.failed(now, Class::Throttled);
    } else {
        call.succeeded(now);
    }
}

/// (B25) Nothing waits before the first throttling answer, whatever the rate.
#[test]
fn rule_backoff_b25_the_limiter_sleeps_until_the_server_throttles() {
    let limiter = limiter();
    for n in 0..10_000 {
        assert_eq!(Call::new(&limiter).admit(ms(n / 100), 0), Admission::Now);
        answer(&limiter, ms(n / 100), false);
    }
    assert!(!limiter.is_enabled());
    let (waiting, _) = fail(&limiter, ms(100), Class::Transient);
    assert!(!limiter.is_enabled(), "another failure");
    drop(waiting);
    answer(&limiter, ms(100), true);
    assert!(limiter.is_enabled());
}

/// (B25) Throttling cuts the rate to 0.7 of the measured one; successes bring it back and above.
#[test]
fn rule_backoff_b25_the_rate_falls_to_beta_and_grows_by_the_cubic_curve() {
    let limiter = limiter();
    let answers = |from: u64, to: u64| (from..to).map(|n| ms(n * 100)); // 10 per second
    answers(0, 100).for_each(|now| answer(&limiter, now, false));
    let measured = limiter.measured_rate();
    assert!(
        (9_990_000_000..=10_000_000_000).contains(&measured),
        "{measured}"
    );
    answer(&limiter, s(10), true);
    let measured = limiter.measured_rate();
    assert_eq!(limiter.fill_rate(), measured * 7 / 10);
    let mut rates = Vec::new();
    for now in answers(101, 160) {
        answer(&limiter, now, false);
        rates.push(limiter.fill_rate());
    }
    assert!(rates.is_sorted(), "{rates:?}");
    // cbrt(0.75 x 10) = 1.957 s later it is where it was, then it probes, up to twice the measured.
    assert!(rates[18] < measured && measured < rates[20], "{rates:?}");
    assert_eq!(limiter.fill_rate(), 2 * limiter.measured_rate());
}

/// (B25) Whoever finds no token waits for its own, one token's time after the one before.
#[test]
fn rule_backoff_b25_attempts_wait_in_the_order_of_asking() {
    let limiter = limiter();
    answer(&limiter, s(1), true); // nothing measured but this one answer: 0.8 / s, cut to 0.56
    let token = 1_000_000_000_000_000_000u64.div_ceil(limiter.fill_rate());
    let mut calls: Vec<_> = (0..3).map(|_| Call::new(&limiter)).collect();
    for (n, call) in (1..).zip(&mut calls) {
        let at = s(1) + ns(n * token);
        assert_eq!(call.admit(s(1), 0), Admission::At(at));
        assert_eq!(call.admit(at - ns(1), 0), Admission::At(at), "not twice");
    }
    drop(calls.pop()); // its wait ends: the place is free again
    let mut next = Call::new(&limiter);
    assert_eq!(next.admit(s(2), 0), Admission::At(s(1) + ns(3 * token)));
    assert_eq!(next.admit(s(1) + ns(3 * token), 0), Admission::Now);
}

/// (B25) At least 0.5 per second, and at least one token, however much the server throttles.
#[test]
fn rule_backoff_b25_the_rate_and_the_capacity_have_a_floor() {
    let limiter = limiter();
    (0..100).for_each(|n| answer(&limiter, ms(n), true));
    assert_eq!(limiter.fill_rate(), 500_000_000);
    let admit = |now| Call::new(&limiter).admit(now, 0);
    let mut full = Call::new(&limiter);
    assert_eq!(full.admit(s(1_000), 0), Admission::Now, "it filled up");
    assert_eq!(admit(s(1_000)), Admission::At(s(1_002)), "with one token");
}

/// (B25) A bucket that was full at a low rate holds no more when the rate rises.
#[test]
fn rule_backoff_b25_a_higher_rate_brings_no_tokens_at_once() {
    let limiter = limiter();
    let mut calls: Vec<_> = (0..52).map(|_| Call::new(&limiter)).collect();
    calls.iter_mut().for_each(|call| start(call, s(0)));
    let mut calls = calls.into_iter();
    let mut next = || calls.next().expect("there are more");
    next().failed(s(0), Class::Throttled);
    (0..50).for_each(|_| next().succeeded(s(100)));
    assert_eq!(limiter.fill_rate(), 500_000_000);
    next().succeeded(ms(100_500)); // 50 answers in half a second
    assert!(limiter.fill_rate() > 10_000_000_000);
    let [mut first, mut second] = [(); 2].map(|()| Call::new(&limiter));
    assert_eq!(first.admit(ms(100_501), 0), Admission::Now);
    assert!(matches!(second.admit(ms(100_501), 0), Admission::At(_)));
}

/// (B25) The host's epoch plays no part, only how long ago the limiter was made.
#[test]
fn rule_backoff_b25_time_counts_from_the_making() {
    let rates = |start: Duration| {
        let limiter = AwsAdaptive::new(AwsQuota::standard_2_0(), start);
        let mut rates = Vec::new();
        for n in 0..40 {
            answer(&limiter, start + ms(n * 90), n == 30);
            rates.push((limiter.measured_rate(), limiter.fill_rate()));
        }
        rates
    };
    assert_eq!(rates(s(0)), rates(s(1_000_000)));
}

/// (B25) Retries have the quota of standard mode besides.
#[test]
fn rule_backoff_b25_retries_cost_the_standard_quota() {
    let limiter = limiter();
    let (mut call, retry) = fail(&limiter, s(0), Class::Timeout);
    assert!(retry);
    assert_eq!(limiter.quota().available(), 490);
    start(&mut call, s(1));
    call.succeeded(s(1));
    assert_eq!(limiter.quota().available(), 500);
    let (call, _) = fail(&limiter, s(2), Class::Timeout);
    drop(call);
    assert_eq!(limiter.quota().available(), 500, "the wait was dropped");
    succeed(&limiter, s(3));
}

/// (B25) The integers stay within the stated bounds of the same in floating point.
#[test]
fn rule_backoff_b25_fixed_point_stays_within_its_bound() {
    let (mut worst, mut latest) = (0.0f64, 0.0f64);
    for seed in 0..200 {
        let (limiter, mut model, mut state) = (limiter(), RateLimiter::default(), seed);
        let gap = [1_000_000, 30_000_000, 1_000_000_000][seed as usize % 3]; // at most, in ns
        let mut now = Duration::ZERO;
        for n in 0..1_000u32 {
            now += uniform(ns(gap), splitmix64(&mut state));
            let throttled = splitmix64(&mut state).is_multiple_of(16);
            let mut call = Call::new(&limiter);
            let wait = match call.admit(now, 0) {
                Admission::At(at) => (at - now).as_secs_f64(),
                _ => 0.0,
            };
            let exact = model.acquire(now);
            // Debts grow without end here, and a wait is as exact as its rate.
            let bound = 1e-8 * f64::from(1 + model.throttlings);
            let late =
                (wait - exact).abs() / (2e-9 * f64::from(n + 1) + 4.0 * bound * exact.max(1.0));
            latest = latest.max(late);
            _ = call.admit(Duration::MAX, 0);
            if throttled {
                call.failed(now, Class::Throttled);
            } else {
                call.succeeded(now);
            }
            model.answered(now, throttled);
            let measured = limiter.measured_rate() as f64 / 1e9;
            assert!(
                (measured - model.measured).abs() < 4e-9,
                "seed {seed}, {n}: {measured}"
            );
            let rate = limiter.fill_rate() as f64 / 1e9;
            let bound = 1e-8 * f64::from(1 + model.throttlings) * model.fill_rate;
            worst = worst.max((rate - model.fill_rate).abs() / bound);
            assert!(
                worst <= 1.0,
                "seed {seed}, {n}: {rate}, not {}",
                model.fill_rate
            );
            assert!(latest <= 1.0, "seed {seed}, {n}: {wait} s, not {exact} s");
        }
        assert!(model.throttlings > 20, "seed {seed}: too few to tell");
    }
}
