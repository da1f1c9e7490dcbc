//! Our decisions about samples and the RTO.

use std::num::NonZeroU32;

use rto::{Config, ConfigError, Estimator, Gain, Outcome, PostSyn, Progress, Rejection, Sampler};

use super::*;

/// A timer whose handshake was lost `expiries` times and then answered without a sample.
fn after_lost_handshake(config: Config, expiries: u32) -> RetransmitTimer {
    let mut timer = timer(config, &[]);
    timer.handle_handshake_sent(ms(0));
    for _ in 0..expiries {
        let at = timer.poll_timeout().expect("it runs");
        expire(&mut timer, at);
    }
    timer.handle_acked(ms(100_000), Progress::All, None);
    timer
}

/// (D1) max(3 s, RTO) by default, exactly 3 s by name, floor and cap bound either.
#[test]
fn rule_rfc6298_d1_three_seconds_never_shorten_a_back_off_unless_asked() {
    // policy, floor and initial, cap, RTO after two expiries and the data phase: in ms.
    for (post_syn, floor, cap, rto) in [
        (PostSyn::Raise, 500, 60_000, 3_000), // from 4 x 500
        (PostSyn::Raise, 1_000, 60_000, 4 * 1_000),
        (PostSyn::Raise, 500, 2_500, 2_500),
        (PostSyn::Replace, 500, 60_000, 3_000),
        (PostSyn::Replace, 1_000, 60_000, 3_000), // from 4 x 1000
        (PostSyn::Replace, 5_000, 60_000, 5_000),
        (PostSyn::Replace, 500, 2_500, 2_500),
        (PostSyn::Keep, 500, 60_000, 4 * 500),
    ] {
        let config = Config {
            initial_rto: ms(floor),
            min_rto: ms(floor),
            max_rto: ms(cap),
            post_syn,
            ..Config::RFC6298
        };
        let mut timer = after_lost_handshake(config, 2);
        timer.handle_data_phase(ms(0));
        assert_eq!(rto_of(&timer), ms(rto), "{post_syn:?}, {floor} to {cap} ms");
    }
}

/// (D2) A valid sample before the data phase wins; an expiry after it counts again.
#[test]
fn rule_rfc6298_d2_a_sample_after_the_lost_handshake_wins() {
    let sampled = |sample: Sample, expire_again: bool| {
        let mut timer = timer(Config::RFC6298, &[]);
        timer.handle_handshake_sent(ms(0));
        expire(&mut timer, ms(1_000));
        timer.handle_sample(ms(0), sample);
        if expire_again {
            expire(&mut timer, ms(3_000));
        }
        timer.handle_data_phase(ms(0));
        rto_of(&timer)
    };
    assert_eq!(sampled(rtt(100), false), ms(1_000));
    assert_eq!(sampled(rtt(100), true), ms(3_000)); // from 2 s
    let invalid = Sample::of_transmission(ms(2), ms(1));
    assert_eq!(sampled(invalid, false), ms(3_000));
}

/// (D3) 5.7 touches the RTO only: no estimate appears, no floor of 3 s remains.
#[test]
fn rule_rfc6298_d3_the_three_seconds_leave_no_trace() {
    let mut timer = after_lost_handshake(Config::RFC6298, 1);
    timer.handle_data_phase(ms(0));
    assert_eq!(rto_of(&timer), ms(3_000));
    assert_eq!(timer.estimator().srtt(), None);
    assert_eq!(timer.estimator().rttvar(), None);
    timer.handle_sent(ms(200_000));
    let outcome = timer.handle_acked(ms(200_400), Progress::All, Some(rtt(400)));
    assert_eq!(outcome, Some(Outcome::First));
    assert_eq!(rto_of(&timer), ms(400 + 4 * 200));
}

/// (D4) The floor comes before the doubling.
#[test]
fn rule_rfc6298_d4_floor_first_then_double() {
    let mut estimator = fed(Config::RFC6298, &[100]); // raw 300
    for rto in [1_000, 2 * 1_000, 4 * 1_000] {
        assert_eq!(estimator.rto(), ms(rto)); // "double, then floor" gives 1000, 1000, 1200
        estimator.back_off();
    }
}

/// (D5) The cap holds where the RTO is computed and after each doubling.
#[test]
fn rule_rfc6298_d5_the_cap_holds_when_computing_and_when_doubling() {
    let mut estimator = fed(Config::RFC6298, &[30_000]); // raw 90 s
    assert_eq!(estimator.rto(), ms(60_000));
    assert_eq!(estimator.base_rto(), ms(60_000));
    estimator.back_off();
    assert_eq!(estimator.rto(), ms(60_000));

    let mut estimator = fed(Config::RFC6298, &[10_000]); // 30 s
    estimator.back_off();
    assert_eq!(estimator.rto(), ms(60_000)); // the cap itself
    estimator.back_off();
    assert_eq!(estimator.rto(), ms(60_000));
}

/// (D9) After clearing, the backed-off RTO stays until the next sample.
#[test]
fn rule_rfc6298_d9_clearing_keeps_the_rto_in_force() {
    let mut config = BARE;
    config.clear_after = NonZeroU32::new(2);
    let mut estimator = fed(config, &[100]); // RTO 300
    estimator.back_off();
    estimator.back_off();
    assert_eq!(estimator.srtt(), None);
    assert_eq!(estimator.rto(), ms(4 * 300)); // not the initial 1000
    assert_eq!(estimator.base_rto(), ms(300));
    estimator.back_off();
    assert_eq!(estimator.rto(), ms(8 * 300));
    estimator.sample(rtt(50));
    assert_eq!(estimator.rto(), ms(50 + 4 * 25));

    let mut unsampled = fed(config, &[]); // has nothing to clear
    (0..2).for_each(|_| unsampled.back_off());
    assert_eq!(unsampled.rto(), ms(4 * 1_000));
    assert_eq!(unsampled.base_rto(), ms(1_000));
}

/// (D11) Zero is a sample, and the RTO is never zero.
#[test]
fn rule_rfc6298_d11_a_round_trip_of_zero_is_a_sample() {
    let mut config = BARE;
    (config.min_rto, config.granularity) = (Duration::ZERO, ms(1));
    let mut estimator = fed(config, &[]);
    assert_eq!(estimator.sample(rtt(0)), Outcome::First);
    assert_eq!(estimator.srtt(), Some(ms(0)));
    assert_eq!(estimator.rto(), ms(1));
    assert_eq!(estimator.sample(rtt(800)), Outcome::Accepted); // were zero "none yet": First
    assert_eq!(estimator.srtt(), Some(ms(800 / 8)));

    config.granularity = Duration::ZERO;
    assert_eq!(Estimator::new(config), Err(ConfigError::NoFloor));
    config.min_rto = NANOSECOND; // either one is enough
    assert_eq!(fed(config, &[0]).rto(), NANOSECOND);
}

/// (D12) An ACK before its send is rejected, the state untouched.
#[test]
fn rule_rfc6298_d12_an_ack_before_its_send_is_rejected() {
    let mut estimator = fed(BARE, &[700]);
    estimator.back_off();
    let before = estimator;
    let (sent, now) = (ms(11_000), ms(10_000));
    let rejected = Outcome::Rejected(Rejection::AckBeforeSend);
    assert_eq!(
        estimator.sample(Sample::of_transmission(sent, now)),
        rejected
    );
    assert_eq!(
        estimator.sample(Sample::from_timestamp(sent, sent - NANOSECOND)),
        rejected
    );
    assert_eq!(estimator, before);
    assert_eq!(Sample::of_transmission(sent, sent).rtt(), Ok(ms(0))); // at once is legal

    let mut sampler = Sampler::new();
    sampler.handle_sent(sent, 0..1);
    let sample = sampler.handle_acked(now, 1).expect("ends the measurement");
    assert_eq!(sample.rtt(), Err(Rejection::AckBeforeSend));
}

/// (D13) Larger samples count as `max_sample`, and nothing overflows.
#[test]
fn rule_rfc6298_d13_huge_samples_saturate() {
    const HOUR: u64 = 3_600_000;
    let estimator = |sample| {
        let mut estimator = fed(BARE, &[]);
        estimator.sample(Sample::measured(sample));
        estimator
    };
    assert_eq!(
        estimator(ms(HOUR) - NANOSECOND).srtt(),
        Some(ms(HOUR) - NANOSECOND)
    );
    assert_eq!(estimator(ms(HOUR)), estimator(Duration::MAX));
    assert_eq!(estimator(Duration::MAX).rto(), ms(HOUR + 4 * (HOUR / 2)));

    let mut widest = BARE;
    (widest.max_sample, widest.k, widest.granularity) = (Config::LIMIT, 32, Config::LIMIT);
    let mut estimator = fed(widest, &[]);
    estimator.sample(Sample::measured(Duration::MAX));
    assert_eq!(estimator.rto(), Config::LIMIT * (1 + 32 / 2));
    (0..1_000).for_each(|_| estimator.back_off());
    assert_eq!(estimator.rto(), Duration::from_nanos(u64::MAX));
    let mut timer = RetransmitTimer::new(estimator);
    timer.handle_sent(Duration::MAX);
    assert_eq!(timer.poll_timeout(), Some(Duration::from_nanos(u64::MAX))); // the end of time
}

/// (D14) Exact while no bit is lost; then never early and less than 2 ns late.
#[test]
fn rule_rfc6298_d14_the_rto_is_exact_until_an_update_rounds_and_then_guarded() {
    let ns = Duration::from_nanos;
    let sample = |estimator: &mut Estimator, r| estimator.sample(Sample::measured(ns(r)));
    // Shares with bits above u only: exact, and rounded up to whole nanoseconds.
    let mut estimator = fed(BARE, &[]);
    sample(&mut estimator, 8_000);
    sample(&mut estimator, 8_001); // SRTT 8000 + 1/8, RTTVAR 3000 + 1/4
    assert_eq!(estimator.rto(), ns(8_000 + 4 * 3_000 + 2)); // 1/8 + 4 x 1/4 = 1 + 1/8
    sample(&mut estimator, 8_000); // SRTT 8000 + 7/64, RTTVAR 2250 + 7/32
    assert_eq!(estimator.rto(), ns(8_000 + 4 * 2_250 + 1)); // 7/64 + 4 x 7/32 = 63/64
    // SRTT 7998 + 113/512, a bit below u: RTTVAR 1691 + 113/256. 113/512 + 4 x 113/256 is
    // 1 + 505/512; rounding up gives 2, and the guard of 28/256 carries it to 3.
    sample(&mut estimator, 7_985);
    assert_eq!(estimator.rto(), ns(7_998 + 4 * 1_691 + 2 + 1));
    // The guard is on as well where only RTTVAR rounds: here SRTT stays 1005, and RTTVAR is
    // 502.5 x (3/4)^4 = 158 + 254.5/256. 4 x 254.5/256 is below 4, with the guard above.
    let mut steady = fed(BARE, &[]);
    (0..5).for_each(|_| _ = sample(&mut steady, 1_005));
    assert_eq!(steady.rto(), ns(1_005 + 4 * 158 + 4 + 1));
    // A first sample is exact again.
    estimator.clear();
    sample(&mut estimator, 1_001);
    assert_eq!(estimator.rto(), ns(3 * 1_001));

    // Other gains round to nearest too: 0.499 ns is 127.7 u, kept as 128 u, shown as 1 ns.
    let mut config = BARE;
    config.alpha = Gain::new(499, 1_000);
    let mut estimator = fed(config, &[]);
    sample(&mut estimator, 1_000);
    sample(&mut estimator, 1_001);
    assert_eq!(estimator.srtt(), Some(ns(1_001)));

    // A unit of whole nanoseconds would stick: 4 samples of 1 ns more than SRTT move it.
    let mut estimator = fed(BARE, &[1]);
    (0..4).for_each(|_| _ = sample(&mut estimator, 1_000_001));
    assert_eq!(estimator.srtt(), Some(ns(1_000_000))); // 0.41 of the way
    (0..2).for_each(|_| _ = sample(&mut estimator, 1_000_001));
    assert_eq!(estimator.srtt(), Some(ns(1_000_001))); // 0.55
    // And RTTVAR does not stop above zero: with no deviation left only the guard remains.
    (0..200).for_each(|_| _ = sample(&mut estimator, 1_000_001));
    assert_eq!(estimator.rttvar(), Some(ns(0)));
    assert!(estimator.rto() <= ns(1_000_001 + 2));
}
