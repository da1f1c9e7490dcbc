use super::succeed;
use backoff_policy::{Admission, Budget, BudgetError, Call, Class, Ratio, SreThrottle};
use conformance::draws::splitmix64;
use conformance::time::{ms, s};
use num_bigint::BigUint;

/// A throttle that has seen so many requests and accepts in this second.
fn seen(k: Ratio, requests: u32, accepts: u32) -> SreThrottle {
    let throttle = SreThrottle::new(k).expect("valid");
    for n in 0..requests {
        let mut call = Call::new(&throttle);
        assert_eq!(call.admit(s(0), u64::MAX), Admission::Now);
        if n < accepts {
            call.succeeded(s(0));
        } else {
            call.failed(s(0), Class::Throttled);
        }
    }
    assert_eq!(throttle.counts(s(0)), (requests, accepts));
    throttle
}

/// (B24) Exactly the draws below 2^64 x (requests - K accepts) / (requests + 1) are rejected.
#[test]
fn rule_backoff_b24_the_probability_is_exact() {
    for (num, den, requests, accepts) in [
        (2, 1, 1, 0),
        (2, 1, 3, 1),
        (2, 1, 1_000, 0),
        (2, 1, 1_000, 499),
        (11, 10, 1_000, 909),
        (u32::MAX, u32::MAX - 1, 777, 700),
    ] {
        let excess = BigUint::from(requests) * den - BigUint::from(num) * accepts;
        let whole = BigUint::from(requests + 1) * den;
        let threshold = ((excess << 64) + &whole - 1u32) / whole;
        let threshold = u64::try_from(threshold).expect("below one");
        let admits = |draw| {
            let throttle = seen(Ratio::new(num, den), requests, accepts);
            throttle.admit(s(0), draw) == Admission::Now
        };
        let case = format!("K = {num}/{den}, {accepts} of {requests}");
        assert!(threshold > 0 && !admits(threshold - 1), "{case}");
        assert!(admits(threshold), "{case}");
    }
}

/// (B24) Nothing is rejected while the server accepts one request in K.
#[test]
fn rule_backoff_b24_nothing_is_rejected_while_enough_is_accepted() {
    for (requests, accepts) in [(0, 0), (2, 1), (1_000, 500), (1_000, 1_000)] {
        let throttle = seen(Ratio::new(2, 1), requests, accepts);
        assert_eq!(
            throttle.admit(s(0), 0),
            Admission::Now,
            "{accepts} of {requests}"
        );
    }
}

/// (B24) What is rejected counts as a request, a permanent failure as accepted, a drop as neither.
#[test]
fn rule_backoff_b24_requests_and_accepts_are_counted() {
    let throttle = seen(Ratio::new(2, 1), 10, 0);
    assert_eq!(throttle.admit(s(0), 0), Admission::Rejected);
    assert_eq!(throttle.counts(s(0)), (11, 0));
    for (class, accepts) in [
        (Class::Permanent, 1),
        (Class::Transient, 0),
        (Class::Timeout, 0),
        (Class::Unsent, 0),
    ] {
        let throttle = SreThrottle::standard();
        let mut call = Call::new(&throttle);
        assert_eq!(call.admit(s(0), 0), Admission::Now);
        call.failed(s(0), class);
        assert_eq!(throttle.counts(s(0)), (1, accepts), "{class:?}");
    }
    let throttle = SreThrottle::standard();
    let mut call = Call::new(&throttle);
    assert_eq!(call.admit(s(0), 0), Admission::Now);
    drop(call);
    assert_eq!(throttle.counts(s(0)), (1, 0));
}

/// (B24) Two minutes later, in steps of 5 s, nothing is remembered.
#[test]
fn rule_backoff_b24_the_window_is_two_minutes() {
    let throttle = SreThrottle::standard();
    succeed(&throttle, ms(4_999));
    succeed(&throttle, s(5));
    assert_eq!(throttle.counts(ms(119_999)), (2, 2));
    assert_eq!(throttle.counts(s(120)), (1, 1));
    assert_eq!(throttle.counts(s(125)), (0, 0));
}

/// (B24) Since 1970 too.
#[test]
fn rule_backoff_b24_any_epoch_will_do() {
    let (throttle, now) = (SreThrottle::standard(), s(1_796_000_000));
    succeed(&throttle, now);
    assert_eq!(throttle.counts(now + s(100)), (1, 1));
    assert_eq!(throttle.counts(now + s(125)), (0, 0));
}

/// (B24) A server that accepts 10 requests per second gets about 20, of 100 that are wanted; once
/// it accepts all again, so does the client.
#[test]
fn rule_backoff_b24_an_overloaded_server_gets_k_times_what_it_accepts() {
    const SEED: u64 = 24;
    let (throttle, mut state) = (SreThrottle::standard(), SEED);
    let mut sent = [0u32; 900];
    for second in 0..900u64 {
        let capacity = if second < 600 { 10 } else { 100 };
        for n in 0..100 {
            let now = ms(second * 1_000 + n * 10);
            let mut call = Call::new(&throttle);
            if call.admit(now, splitmix64(&mut state)) == Admission::Now {
                let count = &mut sent[second as usize];
                *count += 1;
                if *count <= capacity {
                    call.succeeded(now);
                } else {
                    call.failed(now, Class::Throttled);
                }
            }
        }
    }
    let overloaded = sent[300..600].iter().sum::<u32>();
    assert!(
        (5_700..6_300).contains(&overloaded),
        "seed {SEED}: {overloaded} in 300 s"
    );
    assert!(sent[899] == 100, "seed {SEED}: {sent:?}");
}

/// (B24) A multiple below 1 is refused.
#[test]
fn rule_backoff_b24_a_multiple_below_one_is_refused() {
    assert!(SreThrottle::new(Ratio::new(1, 1)).is_ok());
    for k in [Ratio::new(9, 10), Ratio::new(2, 0)] {
        let error = SreThrottle::new(k).expect_err("out of range");
        assert_eq!(error, BudgetError::AcceptsRatio(k));
    }
}
