//! What is refused, and with which words.

use conformance::time::{ms, s, us};
use rto::linux::ConfigError;

use super::*;

/// (P67) A jiffy, a cap, a floor or an initial RTO out of bounds is refused, with the value and
/// the rule; the bounds themselves are not.
#[test]
fn rule_family_p67_bad_settings_are_refused_by_name() {
    let usual = Config::LINUX;
    for (config, error) in [
        (
            Config {
                jiffy: us(0),
                ..usual
            },
            "jiffy 0ns must be whole microseconds and a whole part of 1s (P67)",
        ),
        (
            Config {
                jiffy: Duration::from_nanos(500),
                ..usual
            },
            "jiffy 500ns",
        ),
        (
            Config {
                jiffy: Duration::from_nanos(3_333_333),
                ..usual
            },
            "jiffy 3.333333ms",
        ),
        (
            Config {
                jiffy: ms(3),
                ..usual
            },
            "jiffy 3ms",
        ),
        (
            Config {
                jiffy: s(2),
                ..usual
            },
            "jiffy 2s",
        ),
        (
            Config {
                rto_max: us(999_999),
                ..usual
            },
            "rto_max 999.999ms is not in 1s to 120s (P67)",
        ),
        (
            Config {
                rto_max: us(120_000_001),
                ..usual
            },
            "rto_max 120.000001s",
        ),
        (
            Config {
                rto_max: Duration::MAX,
                ..usual
            },
            "rto_max 18446744073709551615.999999999s",
        ),
        (
            Config {
                rto_min: us(0),
                ..usual
            },
            "rto_min 0ns must be positive and at most rto_max 120s (P67)",
        ),
        (
            Config {
                rto_min: us(120_000_001),
                ..usual
            },
            "rto_min 120.000001s",
        ),
        (
            Config {
                initial_rto: us(0),
                ..usual
            },
            "initial_rto 0ns must be positive and at most rto_max 120s (P67)",
        ),
        (
            Config {
                initial_rto: s(3),
                rto_max: s(2),
                ..usual
            },
            "initial_rto 3s",
        ),
    ] {
        let refused = Estimator::new(config).expect_err(error).to_string();
        assert!(refused.starts_with(error), "{refused}, not {error}");
    }
    for config in [
        usual,
        Config {
            jiffy: MICROSECOND,
            rto_min: Duration::from_nanos(1),
            ..usual
        },
        Config {
            jiffy: s(1),
            initial_rto: Duration::from_nanos(1),
            ..usual
        },
        Config {
            rto_max: s(1),
            rto_min: s(1),
            syn_linear_timeouts: u8::MAX,
            ..usual
        },
        Config {
            rto_min: s(120),
            initial_rto: s(120),
            ..usual
        },
    ] {
        assert!(Estimator::new(config).is_ok(), "{config:?}");
    }
    assert_eq!(
        Estimator::new(Config {
            rto_max: s(121),
            ..usual
        }),
        Err(ConfigError::RtoMax(s(121)))
    );
}

/// (P65) Floor, cap and initial RTO are rounded up to a jiffy.
#[test]
fn rule_family_p65_settings_count_in_whole_jiffies() {
    let config = |jiffy| Config {
        initial_rto: us(1_000_001),
        rto_min: us(8_001),
        rto_max: us(1_500_001),
        jiffy,
        ..Config::LINUX
    };
    for (jiffy, initial, min, max) in [
        (ms(4), 1_004_000, 12_000, 1_504_000),
        (ms(10), 1_010_000, 10_000, 1_510_000),
        (us(1), 1_000_001, 8_001, 1_500_001),
    ] {
        let mut estimator = linux(config(jiffy));
        assert_eq!(estimator.rto(), us(initial));
        estimator.back_off();
        assert_eq!(estimator.rto(), us(max));
        estimator.sample(us(0), Round::Ends);
        assert_eq!(estimator.rttvar(), Some(us(min) / 4));
    }
    // Less than a nanosecond above a jiffy does not exist; a nanosecond counts.
    let estimator = linux(Config {
        initial_rto: ms(1_000) + Duration::from_nanos(1),
        ..Config::LINUX
    });
    assert_eq!(estimator.rto(), ms(1_004));
}
