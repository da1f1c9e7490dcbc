//! Sections 2 and 4: from samples to the RTO.

use rto::{Config, ConfigError, Estimator, Gain};

use super::*;

/// (2.1-1) Until there is a sample, the RTO is 1 s.
#[test]
fn rule_rfc6298_2p1_1_before_a_sample_the_rto_is_one_second() {
    let estimator = fed(Config::RFC6298, &[]);
    assert_eq!(estimator.rto(), ms(1_000));
    assert_eq!(estimator.base_rto(), ms(1_000));
    assert_eq!((estimator.srtt(), estimator.rttvar()), (None, None));

    // The initial value itself, not the floor, which is lower here.
    let mut low = Config::RFC6298;
    low.min_rto = ms(10);
    assert_eq!(fed(low, &[]).rto(), ms(1_000));

    let mut hasty = Config::RFC6298;
    (hasty.min_rto, hasty.initial_rto) = (ms(10), ms(999));
    let broken: Vec<_> = hasty
        .deviations()
        .map(|deviation| deviation.rule())
        .collect();
    assert_eq!(broken, ["2.1-1", "2.4-1"]);
}

/// (2.1-2) The initial RTO is backed off like any other.
#[test]
fn rule_rfc6298_2p1_2_the_initial_rto_is_backed_off_too() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    for (at, next) in [
        (1_000, 2 * 1_000),
        (1_000 + 2_000, 2 * 2_000),
        (3_000 + 4_000, 2 * 4_000),
    ] {
        assert_eq!(expire(&mut timer, ms(at)).next_rto, ms(next));
    }
}

/// (2.1-3) The initial RTO may be larger than 1 s, which deviates from nothing.
#[test]
fn rule_rfc6298_2p1_3_a_larger_initial_rto_is_legal() {
    let mut config = Config::RFC6298;
    config.initial_rto = ms(3_000);
    assert_eq!(config.deviations().count(), 0);
    let mut estimator = fed(config, &[]);
    assert_eq!(estimator.rto(), ms(3_000));
    estimator.sample(rtt(400));
    assert_eq!(estimator.rto(), ms(400 + 4 * 200)); // and then it is over

    // Within floor and cap, both included.
    for (initial, legal) in [(999, false), (1_000, true), (60_000, true), (60_001, false)] {
        config.initial_rto = ms(initial);
        assert_eq!(Estimator::new(config).is_ok(), legal, "{initial} ms");
    }
}

/// (2.2-1) SRTT starts at the first round trip, RTTVAR at half of it, and the RTO is made of both.
#[test]
fn rule_rfc6298_2p2_1_the_first_sample_starts_both_estimates() {
    let us = Duration::from_micros;
    let mut config = BARE;
    (config.min_rto, config.granularity) = (Duration::ZERO, us(10));
    let variance_term = |rttvar: u64| (4 * rttvar).max(10); // one of K x RTTVAR and G is larger
    for half in [0, 1, 2, 3, 50, 1_150_000] {
        let mut estimator = fed(config, &[]);
        estimator.sample(Sample::measured(us(2 * half)));
        assert_eq!(estimator.srtt(), Some(us(2 * half)), "{half}");
        assert_eq!(estimator.rttvar(), Some(us(half)), "{half}");
        let rto = us(2 * half + variance_term(half));
        assert_eq!(estimator.rto(), rto, "{half}");
    }
}

/// (2.3-1) Later samples move RTTVAR by 1/4 of its distance to abs(SRTT - R), SRTT by 1/8 to R.
#[test]
fn rule_rfc6298_2p3_1_later_samples_move_srtt_and_rttvar_by_their_gains() {
    // case, R after a first sample of 800 (so SRTT 800, RTTVAR 400), SRTT, RTTVAR: in ms.
    const CASES: [(&str, u64, u64, u64); 4] = [
        (
            "longer",
            1_600,
            800 * 7 / 8 + 1_600 / 8,
            (400 * 3 + 800) / 4,
        ),
        (
            "shorter: the deviation has no sign",
            0,
            800 * 7 / 8,
            (400 * 3 + 800) / 4,
        ),
        ("the same: RTTVAR still decays", 800, 800, 400 * 3 / 4),
        (
            "a deviation equal to RTTVAR keeps it",
            1_200,
            (800 * 7 + 1_200) / 8,
            400,
        ),
    ];
    for (case, r, srtt, rttvar) in CASES {
        let estimator = fed(BARE, &[800, r]);
        assert_eq!(estimator.srtt(), Some(ms(srtt)), "SRTT: {case}");
        assert_eq!(estimator.rttvar(), Some(ms(rttvar)), "RTTVAR: {case}");
    }
}

/// (2.3-2) RTTVAR is updated first, from the SRTT before this sample.
#[test]
fn rule_rfc6298_2p3_2_rttvar_uses_the_old_srtt() {
    let estimator = fed(BARE, &[1_000, 2_000]);
    // The other order would see abs(1125 - 2000) and give (3 x 500 + 875) / 4 = 593.75.
    assert_eq!(
        estimator.rttvar(),
        Some(ms((3 * 500 + (2_000 - 1_000)) / 4))
    );
    assert_eq!(estimator.srtt(), Some(ms((7 * 1_000 + 2_000) / 8)));
}

/// (2.3-3) alpha is 1/8 and beta 1/4; another gain is used as given, and reported.
#[test]
fn rule_rfc6298_2p3_3_gains_are_an_eighth_and_a_quarter() {
    assert_eq!(Config::RFC6298.alpha, Gain::new(1, 8));
    assert_eq!(Config::RFC6298.beta, Gain::new(1, 4));

    let mut config = BARE;
    (config.alpha, config.beta) = (Gain::new(1, 2), Gain::new(3, 10));
    let estimator = fed(config, &[1_000, 2_000]);
    assert_eq!(estimator.srtt(), Some(ms((1_000 + 2_000) / 2)));
    assert_eq!(estimator.rttvar(), Some(ms((7 * 500 + 3 * 1_000) / 10)));
    let broken = config
        .deviations()
        .filter(|deviation| deviation.rule() == "2.3-3");
    assert_eq!(broken.count(), 2);
}

/// (2.3-4) After each later sample RTO = SRTT + max(G, K x RTTVAR).
#[test]
fn rule_rfc6298_2p3_4_later_samples_recompute_the_rto() {
    // case, G, K, RTO after 800 and 1600 (SRTT 900, RTTVAR 500): in ms.
    const CASES: [(&str, u64, u32, u64); 4] = [
        ("K x RTTVAR", 0, 4, 900 + 4 * 500),
        ("another K", 0, 7, 900 + 7 * 500),
        ("G a millisecond below", 1_999, 4, 900 + 2_000),
        ("G a millisecond above", 2_001, 4, 900 + 2_001),
    ];
    for (case, granularity, k, rto) in CASES {
        let mut config = BARE;
        (config.granularity, config.k) = (ms(granularity), k);
        assert_eq!(fed(config, &[800, 1_600]).rto(), ms(rto), "{case}");
    }
    let mut config = Config::RFC6298;
    config.k = 3;
    assert!(
        config
            .deviations()
            .any(|deviation| deviation.rule() == "2.3-4")
    );
}

/// (2.4-1) A computed RTO below 1 s becomes 1 s.
#[test]
fn rule_rfc6298_2p4_1_a_computed_rto_is_at_least_one_second() {
    // R in ns, RTO in ns: 3 R, unless that is below a second.
    for (r, rto) in [
        (100_000_000, 1_000_000_000),
        (333_333_333, 1_000_000_000), // 3 R is a nanosecond short of a second
        (333_333_334, 3 * 333_333_334),
    ] {
        let mut estimator = fed(Config::RFC6298, &[]);
        estimator.sample(Sample::measured(Duration::from_nanos(r)));
        assert_eq!(estimator.rto(), Duration::from_nanos(rto), "R = {r} ns");
    }
    let mut lan = Config::RFC6298;
    lan.min_rto = ms(10);
    assert_eq!(fed(lan, &[1]).rto(), ms(10));
    let broken: Vec<_> = lan.deviations().map(|deviation| deviation.rule()).collect();
    assert_eq!(broken, ["2.4-1"]);
}

/// (2.5-1) The RTO may have a maximum, of at least 60 s.
#[test]
fn rule_rfc6298_2p5_1_the_maximum_bounds_the_rto() {
    assert_eq!(Config::RFC6298.max_rto, ms(60_000));
    assert_eq!(fed(Config::RFC6298, &[20_000]).rto(), ms(3 * 20_000)); // at the cap
    assert_eq!(fed(Config::RFC6298, &[20_001]).rto(), ms(60_000));
    let mut config = Config::RFC6298;
    (config.max_rto, config.max_sample) = (Duration::MAX, Config::LIMIT); // none
    assert_eq!(fed(config, &[20_001]).rto(), ms(3 * 20_001));
    assert_eq!(config.deviations().count(), 0);
    config.max_rto = ms(59_999);
    let broken: Vec<_> = config
        .deviations()
        .map(|deviation| deviation.rule())
        .collect();
    assert_eq!(broken, ["2.5-1"]);
    config.max_rto = ms(999);
    let refused = ConfigError::MinAboveMax {
        min: ms(1_000),
        max: ms(999),
    };
    assert_eq!(Estimator::new(config), Err(refused));
}

/// (4-2) A variance term below G is raised to G, and G is all there is when it is zero.
#[test]
fn rule_rfc6298_4_2_the_variance_term_is_at_least_the_granularity() {
    let mut config = BARE;
    (config.granularity, config.beta) = (ms(500), Gain::new(1, 1)); // beta 1: no memory
    assert_eq!(fed(config, &[35]).rto(), ms(35 + 500)); // K x RTTVAR = 70
    assert_eq!(fed(config, &[35, 35]).rttvar(), Some(ms(0)));
    assert_eq!(fed(config, &[35, 35]).rto(), ms(35 + 500)); // K x RTTVAR = 0
    assert_eq!(fed(config, &[300]).rto(), ms(300 + 4 * 150)); // K x RTTVAR = 600
    config.granularity = NANOSECOND;
    assert_eq!(fed(config, &[35, 35]).rto(), ms(35) + NANOSECOND);
}
