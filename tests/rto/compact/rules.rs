//! One test per rule P70 to P77, named by its id; (P79) is the vectors' and the machine's.

use std::num::NonZeroU32;

use rto::{
    Gain, Outcome, Rejection,
    compact::{Progress, Unsupported, elapsed},
};

use super::*;

const HALF: u32 = 1 << 31;

/// (P70) Half the range of differences is "after", wherever the two instants lie.
#[test]
fn rule_family_p70_half_the_range_of_differences_is_after() {
    for start in STARTS {
        for span in [0, 1, 1_000_000, HALF - 1] {
            assert_eq!(elapsed(start, start.wrapping_add(span)), Some(span));
        }
        for span in [HALF, HALF + 1, u32::MAX] {
            assert_eq!(elapsed(start, start.wrapping_add(span)), None);
        }
    }
}

/// (P71) An ACK before its send gives no sample, at the wrap of the clock neither.
#[test]
fn rule_family_p71_an_ack_before_its_send_is_rejected_and_changes_nothing() {
    let params = params(BARE);
    let mut estimator = fed(&params, &[700_000, 900_000]);
    estimator.back_off(&params);
    let before = estimator;
    for start in STARTS {
        for span in [HALF, u32::MAX] {
            let sample = Sample::of_transmission(start, start.wrapping_add(span));
            assert_eq!(
                estimator.sample(&params, sample),
                Outcome::Rejected(Rejection::AckBeforeSend)
            );
            assert_eq!(estimator, before);
        }
        // The longest round trip that can be told from one.
        let sample = Sample::from_timestamp(start, start.wrapping_add(HALF - 1));
        assert_eq!(sample.rtt_us(), Ok(HALF - 1));
    }
}

/// (P72) A deadline is due at its instant and for half the range after it.
#[test]
fn rule_family_p72_a_deadline_is_due_for_half_the_range() {
    let params = params(Config::RFC6298);
    for start in STARTS {
        let mut armed = timer(&params);
        armed.handle_sent(start);
        let deadline = start.wrapping_add(1_000_000);
        assert_eq!(armed.poll_timeout(), Some(deadline));
        for (late, due) in [
            (0_u32.wrapping_sub(1), false),
            (0, true),
            (1, true),
            (HALF - 1, true),
            (HALF, false), // looks like one to come,
            (0_u32.wrapping_sub(1_000_000), false),
        ] {
            let mut timer = armed;
            let now = deadline.wrapping_add(late);
            assert_eq!(timer.handle_timeout(&params, now).is_some(), due, "{late}");
            if due {
                assert_eq!(timer.poll_timeout(), Some(now.wrapping_add(2_000_000)));
            } else {
                assert_eq!(timer, armed); // and is not lost
            }
        }
    }
}

/// (P73) What 32 bits have no room for is refused, by value and rule; the edges are legal.
#[test]
fn rule_family_p73_caps_beyond_half_the_range_and_other_gains_are_refused() {
    let max_rto = |us| Config {
        max_rto: Duration::from_micros(us),
        ..Config::RFC6298
    };
    let rfc = Config::RFC6298;
    let gains = |alpha, beta, k| Config {
        alpha,
        beta,
        k,
        ..rfc
    };
    let (eighth, quarter) = (Gain::new(1, 8), Gain::new(1, 4));
    for (config, text) in [
        (max_rto(HALF.into()), "max_rto 2147.483648s is not below"),
        (max_rto(u64::MAX), "max_rto 18446744073709.551615s"),
        (gains(Gain::new(1, 16), quarter, 4), "alpha 1/16"),
        (gains(eighth, Gain::new(1, 2), 4), "beta 1/2"),
        (gains(eighth, quarter, 8), "k 8"),
        (Config::RFC9260, "cannot become G 1ms"),
    ] {
        let message = Params::new(config).expect_err(text).to_string();
        assert!(message.contains(text), "{message}");
        assert!(message.ends_with("(P73)"), "{message}");
    }
    assert!(Params::new(max_rto(u64::from(HALF) - 1)).is_ok());
    assert!(Params::new(gains(Gain::new(2, 16), Gain::new(25, 100), 4)).is_ok());

    // What the full estimator refuses is refused with its words.
    let illegal = Config { k: 0, ..rfc };
    let (full, compact) = (rto::Estimator::new(illegal), Params::new(illegal));
    let error = full.expect_err("k is 0");
    assert_eq!(compact, Err(Unsupported::Config(error)));
    assert_eq!(compact.expect_err("k is 0").to_string(), error.to_string());

    // The deadline of the longest RTO still lies ahead.
    let params = params(max_rto(u64::from(HALF) - 1));
    let mut timer = timer(&params);
    timer.handle_sent(0);
    let mut now = 1_000_000;
    for _ in 0..20 {
        assert!(timer.handle_timeout(&params, now).is_some());
        assert_eq!(timer.handle_timeout(&params, now), None);
        now = timer.poll_timeout().expect("it runs");
    }
    assert_eq!(timer.estimator().rto_us(), HALF - 1);
}

/// (P74) Settings are rounded up to whole microseconds.
#[test]
fn rule_family_p74_settings_are_rounded_up() {
    let config = Config {
        initial_rto: Duration::from_nanos(2_000_001),
        min_rto: Duration::from_nanos(999_001),
        max_rto: Duration::from_nanos(2_999_999),
        granularity: Duration::from_nanos(1_001),
        max_sample: Duration::from_nanos(1_500_000_001),
        ..Config::RFC6298
    };
    let rounded = params(config);
    let mut estimator = fed(&rounded, &[]);
    assert_eq!(estimator.rto_us(), 2_001);
    estimator.back_off(&rounded);
    assert_eq!(estimator.rto_us(), 3_000);
    assert_eq!(fed(&rounded, &[0]).rto_us(), 1_000);

    let low = params(Config {
        min_rto: Duration::ZERO,
        ..config
    });
    assert_eq!(fed(&low, &[0]).rto_us(), 2); // G
    assert_eq!(fed(&low, &[u32::MAX]).srtt_us(), Some(1_500_001));
}

/// (P75) 16 bytes of estimator and 8 more of timer, one set of parameters for all.
#[test]
fn rule_family_p75_the_state_is_16_and_8_bytes_and_back_offs_saturate() {
    assert!(size_of::<Estimator>() <= 16);
    assert!(size_of::<RetransmitTimer>() <= 16 + 8);

    let clear_after = |times| Config {
        clear_after: NonZeroU32::new(times),
        ..Config::RFC6298
    };
    let error = Params::new(clear_after(65_536)).expect_err("16 bits");
    assert_eq!(error.to_string(), "clear_after 65536 is above 65535 (P75)");

    let last = params(clear_after(65_535));
    let mut estimator = fed(&last, &[1_000_000]);
    (0..65_534).for_each(|_| estimator.back_off(&last));
    assert_eq!(estimator.srtt_us(), Some(1_000_000));
    (0..2).for_each(|_| estimator.back_off(&last));
    assert_eq!((estimator.backoffs(), estimator.srtt_us()), (65_535, None));
    assert_eq!(estimator.rto_us(), 60_000_000);
}

/// (P76) Exact while no bit is lost, then rounded up past the guard. That the bound holds for
/// any samples is a property of its own.
#[test]
fn rule_family_p76_the_rto_is_exact_until_a_bit_is_lost_then_up_to_3_us_late() {
    let params = params(BARE);
    assert_eq!(fed(&params, &[1]).rto_us(), 3); // R/2 keeps its half
    // 4 x RTTVAR = 2 + 2, then 3/4 of 4 + 1, SRTT = 1.25 and so on: 8.09375, rounded up.
    assert_eq!(fed(&params, &[1, 3, 5]).rto_us(), 9);
    // RTTVAR = 500 x (3/4)^n: from the fourth update on it has bits below 2^-5.
    for n in 0..12 {
        let rto_us = fed(&params, &vec![1_000; n + 1]).rto_us();
        let exact = 1_000.0 + 2_000.0 * 0.75_f64.powi(i32::try_from(n).expect("small"));
        let late = f64::from(rto_us) - exact;
        assert!(
            (0.0..if n < 4 { 1.0 } else { 2.75 }).contains(&late),
            "{n}: {late}"
        );
    }
}

/// (P77) Larger samples count as the largest.
#[test]
fn rule_family_p77_larger_samples_count_as_the_largest() {
    assert_eq!(Estimator::MAX_SAMPLE_US, (1 << 27) - 1);
    let bare = params(BARE);
    let largest = fed(&bare, &[Estimator::MAX_SAMPLE_US; 3]);
    assert_eq!(
        largest,
        fed(&bare, &[Estimator::MAX_SAMPLE_US, HALF, u32::MAX])
    );
    assert_eq!(largest.srtt_us(), Some((1 << 27) - 1));
    assert_ne!(largest, fed(&bare, &[Estimator::MAX_SAMPLE_US - 1; 3]));
    // Good samples take the estimate back.
    let mut recovered = largest;
    for _ in 0..150 {
        recovered.sample(&bare, Sample::measured(100_000));
    }
    assert!(recovered.rto_us() < 110_000);

    let cut = params(Config {
        max_sample: Duration::from_millis(500),
        ..BARE
    });
    assert_eq!(fed(&cut, &[500_001]), fed(&cut, &[500_000]));
}

/// (P79) A whole life by the rules of RFC 6298, over the wrap of the clock: a lost handshake
/// (5.7-1), Karn (5-N1), restart (5.3-1), stop (5.2-1).
#[test]
fn rule_family_p79_the_timer_lives_by_the_rules_of_rfc6298() {
    let params = params(Config::RFC6298);
    for start in STARTS {
        let at = |ms: u32| start.wrapping_add(ms * 1_000);
        let mut timer = timer(&params);
        timer.handle_handshake_sent(at(0));
        let expiry = timer.handle_timeout(&params, at(1_000)).expect("due");
        assert_eq!((expiry.rto_us, expiry.next_rto_us), (1_000_000, 2_000_000));
        assert_eq!(expiry.backoffs, 1);
        timer.handle_acked(&params, at(1_100), Progress::All, None);
        assert_eq!(timer.poll_timeout(), None);
        timer.handle_data_phase(&params);
        timer.handle_sent(at(1_200));
        assert_eq!(timer.poll_timeout(), Some(at(4_200)));
        timer.handle_acked(&params, at(1_300), Progress::None, None); // a duplicate
        assert_eq!(timer.poll_timeout(), Some(at(4_200)));
        let sample = Sample::of_transmission(at(1_200), at(1_800));
        timer.handle_acked(&params, at(1_800), Progress::Some, Some(sample));
        assert_eq!(timer.poll_timeout(), Some(at(1_800 + 600 + 4 * 300)));
        assert_eq!(timer.handle_timeout(&params, at(3_599)), None);
        assert!(timer.handle_timeout(&params, at(3_600)).is_some());
        timer.handle_acked(&params, at(3_700), Progress::All, None); // Karn: still backed off
        assert_eq!(timer.estimator().rto_us(), 2 * 1_800_000);
        assert_eq!(timer.estimator().base_rto_us(&params), 1_800_000);
    }
}

/// (P79) A restart may count from the earliest outstanding send (T6), never to a deadline that
/// has passed or lies more than an RTO ahead (5-1).
#[test]
fn rule_family_p79_a_restart_counts_from_the_earliest_outstanding_send() {
    let params = params(Config::RFC6298);
    for start in STARTS {
        let now = start.wrapping_add(5_000_000);
        let restarted = |sent_us: u32| {
            let mut timer = timer(&params);
            timer.handle_sent(start);
            timer.handle_acked(&params, now, Progress::SomeSince(sent_us), None);
            timer.poll_timeout().map(|due| due.wrapping_sub(now))
        };
        for (age, left) in [
            (0, 1_000_000),
            (1, 999_999),
            (999_999, 1),
            (1_000_000, 1_000_000), // over
            (5_000_000, 1_000_000),
            (0_u32.wrapping_sub(1), 1_000_000), // ahead
            (HALF, 1_000_000),
        ] {
            assert_eq!(restarted(now.wrapping_sub(age)), Some(left), "{age}");
        }
    }
}
