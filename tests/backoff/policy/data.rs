//! Classes, and what presets are made of.

use super::Run;
use backoff_policy::{Class, FirstDelay, Idempotency, Jitter, Policy, Ratio, Schedule};
use conformance::time::{ms, s};
use std::io::ErrorKind;

/// (B13) An HTTP status, a gRPC code and an I/O error have a class.
#[test]
fn rule_backoff_b13_statuses_codes_and_errors_have_a_class() {
    for status in 0..=u16::MAX {
        let class = match status {
            100..=399 => None,
            408 | 504 => Some(Class::Timeout),
            429 => Some(Class::Throttled),
            500..=599 => Some(Class::Transient),
            _ => Some(Class::Permanent),
        };
        assert_eq!(Class::of_http(status), class, "{status}");
    }
    let retried: Vec<_> = (-1..=17)
        .filter(|&code| !matches!(Class::of_grpc(code), None | Some(Class::Permanent)))
        .collect();
    assert_eq!(retried, [4, 8, 14]);
    for (kind, class) in [
        (ErrorKind::ConnectionRefused, Class::Unsent),
        (ErrorKind::AddrNotAvailable, Class::Unsent),
        (ErrorKind::ConnectionReset, Class::Transient),
        // Linux ends a connection whose request has been sent with these, too.
        (ErrorKind::HostUnreachable, Class::Transient),
        (ErrorKind::NetworkUnreachable, Class::Transient),
        (ErrorKind::NetworkDown, Class::Transient),
        (ErrorKind::NotConnected, Class::Transient),
        (ErrorKind::TimedOut, Class::Timeout),
        (ErrorKind::NotFound, Class::Permanent),
        (ErrorKind::PermissionDenied, Class::Permanent),
    ] {
        assert_eq!(Class::of_io(kind), class, "{kind}");
    }
}

/// (B13) What RFC 9110 says of methods.
#[test]
fn rule_backoff_b13_methods_are_idempotent_or_not() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        assert_eq!(Idempotency::of_method(method), Idempotency::Always);
    }
    for method in ["POST", "PATCH", "get", ""] {
        assert_eq!(Idempotency::of_method(method), Idempotency::Conditionally);
    }
}

/// (B16) The AWS SDKs' 2.1: from 50 ms, or from 1 s where throttled, and 20 s at most.
#[test]
fn rule_backoff_b16_throttling_raises_the_ceiling() {
    let policy = Policy {
        attempts: None,
        ..Policy::AWS_SDK_2_1
    };
    let ceilings = |class: Class| {
        let mut retry = backoff_policy::Retry::new(s(0));
        [(); 11].map(
            |()| match retry.handle_failed(&policy, class.into(), s(0), u64::MAX) {
                backoff_policy::Decision::Retry(wait) => wait.delay.as_millis(),
                backoff_policy::Decision::GiveUp(end) => panic!("{end}"),
            },
        )
    };
    assert_eq!(
        ceilings(Class::Transient),
        [
            50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000, 20_000
        ]
    );
    assert_eq!(
        ceilings(Class::Throttled)[..6],
        [1_000, 2_000, 4_000, 8_000, 16_000, 20_000]
    );
}

/// (B16) An exact first delay after throttling is that higher ceiling, and at most the cap.
#[test]
fn rule_backoff_b16_throttling_raises_an_exact_first_delay() {
    for (factor, delay) in [(1, s(1)), (20, s(20)), (100, s(60)), (u32::MAX, s(60))] {
        let policy = format!("base=1s,cap=60s,first=exact,throttle-factor={factor}");
        let mut run = Run::of(policy.parse().expect("valid"));
        assert_eq!(run.fails_and_waits(s(0), Class::Throttled).delay, delay);
        let next = run.fails_and_waits(s(0), Class::Transient).delay;
        assert_eq!(next, s(1), "half of 2 s");
    }
}

/// (B3) The first delay as its option says; what follows is the same.
#[test]
fn rule_backoff_b3_a_first_delay_of_its_own_takes_its_draw() {
    let delays = |first_delay| {
        let mut run = Run::of(Policy {
            first_delay,
            ..Policy::CALLS
        });
        [(); 4].map(|()| run.fails_and_waits(s(0), Class::Transient).delay)
    };
    assert_eq!(delays(FirstDelay::Jittered), [ms(500), s(1), s(2), s(4)]);
    assert_eq!(delays(FirstDelay::Exact), [s(1), s(1), s(2), s(4)]);
    assert_eq!(delays(FirstDelay::Immediate), [s(0), ms(500), s(1), s(2)]);
}

/// (B2) Clipping is only where it is published: with factor 1/2 and a cap of 10 s everybody is at
/// the cap from the 11th wait on, with factor 1 never.
#[test]
fn rule_backoff_b2_a_clipped_draw_piles_up() {
    let bounds = |factor, n| {
        let jitter = Jitter::ProportionalClipped(factor);
        let schedule = Schedule::new(ms(500), Ratio::new(3, 2), s(10), jitter).expect("valid");
        schedule.bounds(n)
    };
    assert!(*bounds(Ratio::new(1, 2), 9).start() < s(10));
    assert_eq!(bounds(Ratio::new(1, 2), 10), s(10)..=s(10));
    assert_eq!(bounds(Ratio::new(1, 1), 10), s(0)..=s(10));
}

/// (B2) A window that is scaled into the cap instead of clipped: nobody is above the cap, and
/// nobody piles up at it.
#[test]
fn rule_backoff_b2_a_window_is_scaled_into_the_cap() {
    let grpc = Policy::GRPC_CONNECT.schedule;
    let within = grpc.within_cap().expect("1 s is below 100 s");
    assert_eq!(within.bounds(20), s(80)..=s(120));
    assert_eq!(grpc.bounds(20), s(96)..=s(144));
    let tight = Schedule::new(s(119), Ratio::new(2, 1), s(120), grpc.jitter()).expect("valid");
    assert_eq!(
        tight.within_cap().expect_err("no room").to_string(),
        "the cap 100s is below the base 119s (B1)"
    );
}
