use conformance::draws::{Draws, middle};
use conformance::grpc::{actions, fail, machine, started, with};
use conformance::time::{ms, ns, s};
use grpc_backoff::{
    Action, Config, ConfigError, Connection, FirstDelay, FlapGuard, Lint, Ratio, Reset, Timing,
};
use std::time::Duration;

/// The delays of the first attempts, each failing at once.
fn delays<const N: usize>(
    mut connection: Connection,
    mut draw: impl FnMut() -> u64,
) -> [Duration; N] {
    connection.connect(s(0));
    [(); N].map(|()| {
        let now = connection.poll_timeout().expect("wanted");
        let [Action::Start(start)] = actions(&mut connection, now, &mut draw)[..] else {
            panic!("a start")
        };
        fail(&mut connection, now, start.attempt);
        start.backoff
    })
}

/// (D1) The first delay is jittered like any other; `Exact` is INITIAL, and takes its draw all
/// the same.
#[test]
fn rule_grpc_d1_the_first_delay_is_jittered_unless_exact() {
    let [low, _] = delays(machine(), || 0);
    let [high, _] = delays(machine(), || u64::MAX);
    assert_eq!((low, high), (ms(800), ms(1_200)));

    let exact = with(|config| config.first_delay = FirstDelay::Exact);
    let (mut one, mut other) = (Draws::Splitmix64(5), Draws::Splitmix64(5));
    let jittered: [_; 4] = delays(machine(), || one.draw());
    let exact: [_; 4] = delays(exact, || other.draw());
    assert_eq!(exact[0], s(1));
    assert_ne!(jittered[0], s(1));
    assert_eq!(exact[1..], jittered[1..], "no draw is skipped");
}

/// (D1) After a constant delay (multiplier 1) only the first one of a series is exact.
#[test]
fn rule_grpc_d1_exact_means_the_first_delay_only() {
    let constant = with(|config| {
        config.first_delay = FirstDelay::Exact;
        config.multiplier = Ratio::new(1, 1);
    });
    assert_eq!(delays(constant, || 0), [s(1), ms(800), ms(800)]);
}

/// (D2) Delays count from the attempt's start; with `FromFailure` from its failure.
#[test]
fn rule_grpc_d2_delays_count_from_the_start_unless_told_otherwise() {
    for (timing, next) in [
        (Timing::FromStart, ms(1_000)),
        (Timing::FromFailure, ms(1_300)),
    ] {
        let mut connection = with(|config| config.timing = timing);
        connection.connect(s(0));
        let first = started(&mut connection, s(0));
        fail(&mut connection, ms(300), first.attempt);
        assert_eq!(connection.poll_timeout(), Some(next), "{timing:?}");
    }
}

/// (D3) What makes no sense is refused with its value; nothing is clamped.
#[test]
fn rule_grpc_d3_a_senseless_config_is_refused() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 9] = [
        (|c| c.initial_backoff = s(0), "initial_backoff is zero (D3)"),
        (
            |c| c.max_backoff = ms(999),
            "max_backoff 999ms is below initial_backoff 1s (D3)",
        ),
        (
            |c| c.multiplier = Ratio::new(4, 5),
            "the multiplier 4/5 is not 1 or more (B1) (D3)",
        ),
        (
            |c| c.multiplier = Ratio::new(8, 0),
            "the multiplier 8/0 is not 1 or more (B1) (D3)",
        ),
        (
            |c| c.jitter = Ratio::new(6, 5),
            "the jitter 6/5 is not in 0..=1 (B1) (D3)",
        ),
        (
            |c| c.jitter = Ratio::new(0, 0),
            "the jitter 0/0 is not in 0..=1 (B1) (D3)",
        ),
        (
            |c| c.min_connect_timeout = s(0),
            "min_connect_timeout is zero (D3)",
        ),
        (
            |c| c.reset = Reset::AfterStable(s(0)),
            "reset: AfterStable of zero; say OnSettings (D3)",
        ),
        (
            |c| c.max_elapsed = Some(s(0)),
            "max_elapsed is zero; say None for no limit (D3)",
        ),
    ];
    for (change, message) in cases {
        let mut config = Config::GRPC;
        change(&mut config);
        let error: ConfigError = Connection::new(config).expect_err(message);
        assert_eq!(error.to_string(), message);
    }
    // Both ends of each range are fine.
    let edge: [Change; 4] = [
        |c| c.max_backoff = s(1),
        |c| c.multiplier = Ratio::new(1, 1),
        |c| c.jitter = Ratio::new(1, 1),
        |c| c.min_connect_timeout = ns(1),
    ];
    for change in edge {
        with(change);
    }
}

/// (D3) What is legal but risky is listed.
#[test]
fn rule_grpc_d3_risky_settings_are_listed() {
    let lints = |change: fn(&mut Config)| {
        let mut config = Config::GRPC;
        change(&mut config);
        config
            .lint()
            .map(|lint| lint.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(lints(|_| {}), Vec::<String>::new());
    let faster = "may connect more often than the document's value (S2, S13)";
    assert_eq!(
        lints(|c| c.initial_backoff = ms(999)),
        [format!("initial_backoff {faster}")]
    );
    assert_eq!(
        lints(|c| c.multiplier = Ratio::new(3, 2)),
        [format!("multiplier {faster}")]
    );
    assert_eq!(
        lints(|c| c.multiplier = Ratio::new(16, 10)),
        Vec::<String>::new()
    );
    assert_eq!(
        lints(|c| c.max_backoff = s(119)),
        [format!("max_backoff {faster}")]
    );
    assert_eq!(
        lints(|c| c.min_connect_timeout = s(19)),
        [format!("min_connect_timeout {faster}")]
    );
    assert_eq!(
        lints(|c| c.min_connect_timeout = ms(999)).len(),
        2,
        "short, and faster"
    );
    for jitter in [Ratio::new(0, 1), Ratio::new(199, 1_000)] {
        let mut config = Config::GRPC;
        config.jitter = jitter;
        assert!(config.lint().eq([Lint::NotDispersing("jitter")]));
    }
    assert_eq!(
        lints(|c| c.jitter = Ratio::new(201, 1_000)),
        [format!("jitter {faster}")]
    );
    let exact = lints(|c| c.first_delay = FirstDelay::Exact);
    assert!(exact[0].contains("first_delay is not dispersing"));
    assert!(lints(|c| c.flap_guard = FlapGuard::Off)[0].contains("without a pause"));
    let damped = lints(|c| (c.flap_guard, c.reset) = (FlapGuard::Off, Reset::AfterStable(s(1))));
    assert_eq!(
        damped,
        Vec::<String>::new(),
        "what is lost early waits all the same"
    );
    let hardly = lints(|c| (c.flap_guard, c.reset) = (FlapGuard::Off, Reset::AfterStable(ms(999))));
    assert!(hardly[0].contains("without a pause"));
}

/// (D3) A setting is accused by the schedule that comes of it, not by its number alone.
#[test]
fn rule_grpc_d3_what_is_never_faster_is_not_accused() {
    let constant = Config {
        initial_backoff: s(120),
        multiplier: Ratio::new(1, 1),
        min_connect_timeout: ms(1),
        ..Config::GRPC
    };
    assert_eq!(constant.lint().count(), 0, "120 s, for good");
    let slow_growth = Config {
        initial_backoff: s(60),
        multiplier: Ratio::new(11, 10),
        ..Config::GRPC
    };
    assert_eq!(
        slow_growth.lint().count(),
        0,
        "at 120 s before the document"
    );
    let slower_growth = Config {
        multiplier: Ratio::new(101, 100),
        ..slow_growth
    };
    let multiplier = [Lint::Faster("multiplier")]; // 66.9 s where the document has 120 s
    assert!(slower_growth.lint().eq(multiplier));
}

/// (D4) The nominal delays are these integers on every platform, the eleventh rounded down.
#[test]
fn rule_grpc_d4_nominal_delays_are_exact_integers() {
    let nominal = [
        1_000_000_000,
        1_600_000_000,
        2_560_000_000,
        4_096_000_000,
        6_553_600_000,
        10_485_760_000,
        16_777_216_000,
        26_843_545_600,
        42_949_672_960,
        68_719_476_736,
        109_951_162_777,
        120_000_000_000,
        120_000_000_000,
    ];
    assert_eq!(delays(machine(), middle), nominal.map(ns));
}
