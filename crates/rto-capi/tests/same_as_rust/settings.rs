//! Settings of any kind, most of them legal, as C writes them and as Rust does.

use std::num::NonZeroU32;

use rto::{
    Collapse, Config, ConfigError, Estimator, Gain, Limits, PostSyn, Threshold, VarianceFloor,
};
use rto_capi::*;

use super::*;

pub(crate) fn configs() -> impl Strategy<Value = rto_config> {
    let time = |usual: std::ops::Range<u64>| prop_oneof![30 => usual.prop_map(|ms| ms * 1_000_000), 1 => instant(), 1 => Just(0)];
    let gain = || {
        let odd = (0_u16..9, 0_u16..9).prop_map(|(num, den)| rto_gain { num, den });
        prop_oneof![20 => (1_u16..20).prop_map(|den| rto_gain { num: 1, den }), 1 => odd]
    };
    let times = (
        time(500..3_000),
        time(1..500),
        prop_oneof![9 => time(3_000..90_000), 1 => Just(RTO_NONE)],
        prop_oneof![Just(0), time(0..100)],
        prop_oneof![3 => Just(3_600_000_000_000), 1 => time(1..60_000)],
    );
    let usual_gains = Just((rto_gain { num: 1, den: 8 }, rto_gain { num: 1, den: 4 }, 4));
    let gains = prop_oneof![3 => usual_gains, 1 => (gain(), gain(), number(34))];
    let rest = (
        prop_oneof![2 => Just(0), 1 => 0_u32..6],
        number(2),
        number(3),
        number(2),
    );
    (times, gains, rest).prop_map(|(times, (alpha, beta, k), rest)| {
        let (initial_rto_ns, min_rto_ns, max_rto_ns, granularity_ns, max_sample_ns) = times;
        let (clear_after, variance_floor, post_syn, collapse) = rest;
        rto_config {
            initial_rto_ns,
            min_rto_ns,
            max_rto_ns,
            granularity_ns,
            max_sample_ns,
            alpha,
            beta,
            k,
            clear_after,
            variance_floor,
            post_syn,
            collapse,
        }
    })
}

pub(crate) fn limits() -> impl Strategy<Value = rto_limits> {
    let threshold = || {
        (number(3), 0_u32..8, 0_u64..90_000).prop_map(|(kind, retransmissions, ms)| rto_threshold {
            kind,
            retransmissions,
            after_ns: ms * 1_000_000,
        })
    };
    let user_timeout = prop_oneof![3 => Just(RTO_NONE), 3 => instant(), 1 => 0_u64..2];
    (threshold(), threshold(), threshold(), user_timeout).prop_map(
        |(r1, r2, handshake_r2, user_timeout_ns)| rto_limits {
            r1,
            r2,
            handshake_r2,
            user_timeout_ns,
        },
    )
}

/// `None` where a number is none of its enum's.
pub(crate) fn config(config: &rto_config) -> Option<Config> {
    let time = |ns| time(ns).unwrap_or(Duration::MAX);
    let gain = |gain: rto_gain| Gain::new(gain.num, gain.den);
    Some(Config {
        initial_rto: time(config.initial_rto_ns),
        min_rto: time(config.min_rto_ns),
        max_rto: time(config.max_rto_ns),
        granularity: time(config.granularity_ns),
        alpha: gain(config.alpha),
        beta: gain(config.beta),
        k: config.k,
        max_sample: time(config.max_sample_ns),
        clear_after: NonZeroU32::new(config.clear_after),
        variance_floor: *[VarianceFloor::Term, VarianceFloor::ZeroRttvar]
            .get(config.variance_floor as usize)?,
        post_syn: *[PostSyn::Raise, PostSyn::Replace, PostSyn::Keep]
            .get(config.post_syn as usize)?,
        collapse: *[Collapse::OnSample, Collapse::OnAnyAck].get(config.collapse as usize)?,
    })
}

/// `None` where a number is none of its enum's, or the user timeout 0.
pub(crate) fn meant(limits: &rto_limits) -> Option<Limits> {
    let threshold = |threshold: rto_threshold| match threshold.kind {
        0 => Some(Threshold::Never),
        1 => Some(Threshold::Retransmissions(threshold.retransmissions)),
        2 => Some(Threshold::After(Duration::from_nanos(threshold.after_ns))),
        _ => None,
    };
    (limits.user_timeout_ns > 0).then_some(())?;
    Some(Limits {
        r1: threshold(limits.r1)?,
        r2: threshold(limits.r2)?,
        handshake_r2: threshold(limits.handshake_r2)?,
        user_timeout: time(limits.user_timeout_ns),
    })
}

pub(crate) fn status(error: &ConfigError) -> rto_status {
    match error {
        ConfigError::MinAboveMax { .. } => rto_status::MinAboveMax,
        ConfigError::InitialOutOfBounds { .. } => rto_status::InitialOutOfBounds,
        ConfigError::NoFloor => rto_status::NoFloor,
        ConfigError::Granularity(_) => rto_status::Granularity,
        ConfigError::Alpha(_) => rto_status::Alpha,
        ConfigError::Beta(_) => rto_status::Beta,
        ConfigError::K(_) => rto_status::K,
        ConfigError::MaxSample(_) => rto_status::MaxSample,
        other => panic!("{other}: a status of its own?"),
    }
}

#[test]
fn presets_are_those_of_rust() {
    let presets = [
        (rto_config_rfc6298(), Config::RFC6298),
        (rto_config_rfc2988(), Config::RFC2988),
        (rto_config_rfc9002(), Config::RFC9002),
        (rto_config_rfc9260(), Config::RFC9260),
        (rto_config_games(), Config::GAMES),
    ];
    for (ours, rust) in presets {
        assert_eq!(config(&ours), Some(rust));
    }
    assert_eq!(meant(&rto_limits_none()), Some(Limits::NONE));
    assert_eq!(meant(&rto_limits_rfc9293()), Some(Limits::RFC9293));
}

/// A status without words would be told as one that does not exist.
#[test]
fn every_status_of_the_header_has_words_of_its_own() {
    let words = |status| {
        // SAFETY: It is always text.
        let words = unsafe { CStr::from_ptr(rto_strerror(status)) };
        words.to_str().expect("UTF-8")
    };
    let mut all = vec![words(u32::MAX)];
    for line in include_str!("../../include/rto.h").lines() {
        let Some(status) = line.trim().strip_prefix("RTO_STATUS_") else {
            continue;
        };
        let (_, number) = status.split_once(" = ").expect("NAME = NUMBER,");
        let words = words(number.trim_end_matches(',').parse().expect("a number"));
        assert!(!all.contains(&words), "{status} {words}");
        all.push(words);
    }
    assert!(all.len() > 20, "{all:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Settings are refused where Rust refuses them, with its status and in its words.
    #[test]
    fn settings_are_refused_alike(ours in configs(), ours_limits in limits()) {
        let mut timer = rto_timer::default();
        let got = rto_timer_init(Some(&mut timer), Some(&ours), Some(&ours_limits), None);
        let mut checked = None;
        let message = text(|buffer, size| {
            // SAFETY: The buffer has that size.
            let status = unsafe {
                rto_config_check(Some(&ours), Some(&ours_limits), buffer, size)
            };
            checked = Some(status);
        });
        prop_assert_eq!(checked, Some(got));
        match (config(&ours).map(Estimator::new), meant(&ours_limits)) {
            (Some(Ok(_)), Some(_)) => {
                prop_assert_eq!(got, rto_status::Ok);
                prop_assert_eq!(rto_timer_sent(Some(&mut timer), 0), rto_status::Ok);
                return Ok(());
            }
            (Some(Ok(_)), None) => prop_assert!(
                matches!(got, rto_status::ThresholdKind | rto_status::UserTimeout)
            ),
            (Some(Err(error)), _) => {
                prop_assert_eq!(got, status(&error));
                prop_assert_eq!(message, error.to_string());
            }
            (None, _) => {
                let number = match got {
                    rto_status::VarianceFloor => ours.variance_floor,
                    rto_status::PostSyn => ours.post_syn,
                    rto_status::Collapse => ours.collapse,
                    other => panic!("{other:?}: {message}"),
                };
                prop_assert!(message.contains(&format!(" {number} is no rto_")), "{message}");
            }
        }
        prop_assert_eq!(rto_timer_sent(Some(&mut timer), 0), rto_status::Uninitialised);
    }
}
