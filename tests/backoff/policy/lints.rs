//! What is legal but risky.

use backoff_policy::{Lint, Policy};
use conformance::time::{ms, s};

fn lints(text: &str) -> Vec<Lint> {
    let policy: Policy = text.parse().expect("valid");
    policy.lint().collect()
}

/// (B17) Each lint on one side of its border, and not on the other.
#[test]
fn rule_backoff_b17_lints_name_what_is_risky() {
    let cap = |first_at_cap, waits| Lint::CapNeverReached {
        first_at_cap,
        waits,
    };
    assert_eq!(lints("webhooks"), [cap(Some(10), 4)]);
    assert_eq!(lints("base=10s,cap=1h,attempts=10"), [cap(Some(10), 9)]);
    assert_eq!(lints("base=10s,cap=1h,attempts=11"), []);
    assert_eq!(lints("multiplier=1,attempts=3"), [cap(None, 2)]);
    for unlimited_constant_or_once in [
        "client-go",
        "resilience4j",
        "base=60s,attempts=2",
        "attempts=1",
    ] {
        assert_eq!(lints(unlimited_constant_or_once), []);
    }

    let early = Lint::DeadlineBeforeFirstWait {
        deadline: s(1),
        first_wait: s(1),
    };
    assert_eq!(lints("base=1s,deadline=1s"), [early]);
    assert_eq!(lints("base=1s,deadline=1001ms"), []);
    let early = Lint::DeadlineBeforeFirstWait {
        deadline: ms(1_100),
        first_wait: ms(1_200),
    };
    assert_eq!(lints("jitter=proportional:0.2,deadline=1.1s"), [early]);

    assert_eq!(
        lints("jitter=proportional:0.2,deadline=1.1s,first=exact"),
        []
    );
    assert_eq!(
        lints("deadline=1ms,first=immediate"),
        [Lint::ImmediateFirstRetry]
    );

    assert_eq!(
        lints("jitter=decorrelated,deadline=1h"),
        [Lint::PileUpAtCap]
    );
    assert_eq!(
        lints("jitter=between-ceilings,deadline=1h"),
        [Lint::PileUpAtCap]
    );
    assert_eq!(
        lints("jitter=proportional-clipped:0.5,deadline=1h"),
        [Lint::PileUpAtCap]
    );
    assert_eq!(lints("jitter=none,deadline=1h"), [Lint::NoJitter]);
    assert_eq!(
        lints("first=immediate,deadline=1h"),
        [Lint::ImmediateFirstRetry]
    );
    assert_eq!(lints("jitter=full"), [Lint::NoLimit]);
}

/// (B17) Draws pile up if the last wait is one that the cap decides, and not if none is.
#[test]
fn rule_backoff_b17_a_pile_up_takes_as_many_waits_as_it_takes() {
    for (text, waits) in [
        ("base=1s,cap=4s,jitter=between-ceilings", 3),
        ("base=1s,cap=9s,jitter=decorrelated", 2),
        ("base=1s,cap=3s,jitter=proportional-clipped:1/2", 2),
        ("base=1s,cap=1s,jitter=decorrelated", 1),
    ] {
        let piles_up = |attempts: u32| {
            lints(&format!("{text},attempts={attempts}")).contains(&Lint::PileUpAtCap)
        };
        assert!(!piles_up(waits), "{text}: {} waits", waits - 1);
        assert!(piles_up(waits + 1), "{text}: {waits} waits");
    }
    assert!(!lints("base=1s,cap=1s,attempts=9").contains(&Lint::PileUpAtCap));
}

/// (B17) Whoever takes a preset's name and is faster is told so; slower is fine.
#[test]
fn rule_backoff_b17_faster_than_its_name_is_told() {
    let faster = |text: &str| {
        let is =
            |lint: &Lint| matches!(lint, Lint::FasterThanNamed(name) if text.starts_with(name));
        lints(text).iter().any(is)
    };
    for text in [
        "hint=exact",
        "hint=within:5s",
        "hint=capped:1h",
        "hint=ignore",
        "repeats=everything",
        "base=500ms",
        "multiplier=1.5",
        "attempts=6",
        "first=immediate",
        "cap=4s",
    ] {
        assert!(faster(&format!("calls,{text}")), "{text}");
    }
    for text in [
        "base=2s",
        "multiplier=3",
        "attempts=4",
        "deadline=1m",
        "cap=1m",
        "jitter=equal",
        "throttle-factor=2",
        "from=start",
    ] {
        assert!(!faster(&format!("calls,{text}")), "{text}");
    }
    for (text, expected) in [
        ("aws-sdk-2.1,throttle-factor=19", true),
        ("aws-sdk-2.1,throttle-factor=21", false),
        ("aws-sdk-2.1,base=1s,throttle-factor=1", false), // as late as before
        ("aws-sdk-2.1,hint=within:4s", true),
        ("aws-sdk-2.1,hint=within:6s", false),
        ("grpc-connect,jitter=proportional:1/4", true), // sooner, and later
        ("grpc-call,hint=at-least", false),
        ("gcs-cpp,repeats=idempotent", false),
        ("gcs-cpp,deadline=899s", false),
        ("gcs-python,from=first-failure", true),
        ("gcs-python,deadline=119s", false),
        ("gcs-python,deadline=121s", true),
        ("gcs-python,deadline=none", true),
    ] {
        assert_eq!(faster(text), expected, "{text}");
    }
    assert_eq!(
        Lint::FasterThanNamed("calls").to_string(),
        "it retries sooner, or more often, than calls, whose name it has"
    );
}

/// (B15, B17) k layers of a attempts make a^k calls.
#[test]
fn rule_backoff_b15_layers_multiply() {
    let layers = [Policy::CALLS; 3];
    let multiply = |calls| Some(Lint::LayersMultiply { calls });
    assert_eq!(Policy::lint_layers(&layers), multiply(125));
    assert_eq!(Policy::lint_layers(&layers[..1]), None);
    let once = "attempts=1".parse().expect("valid");
    assert_eq!(Policy::lint_layers(&[Policy::CALLS, once]), None);
    assert_eq!(
        Policy::lint_layers(&[Policy::CALLS, Policy::TEMPORAL]),
        multiply(u64::MAX)
    );
}
