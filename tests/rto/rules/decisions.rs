//! Our decisions, where the text leaves room.

use std::num::NonZeroU32;

use rto::{
    Collapse, Config, ConfigError, Estimator, Outcome, PostSyn, Progress, Rejection, Sampler,
};

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

/// (decision 1) max(3 s, RTO) by default, exactly 3 s by name, floor and cap bound either.
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
        timer.handle_data_phase();
        assert_eq!(rto_of(&timer), ms(rto), "{post_syn:?}, {floor} to {cap} ms");
    }
}

/// (decision 2) A valid sample before the data phase wins; an expiry after it counts again.
#[test]
fn rule_rfc6298_d2_a_sample_after_the_lost_handshake_wins() {
    let sampled = |sample: Sample, expire_again: bool| {
        let mut timer = timer(Config::RFC6298, &[]);
        timer.handle_handshake_sent(ms(0));
        expire(&mut timer, ms(1_000));
        timer.handle_sample(sample);
        if expire_again {
            expire(&mut timer, ms(3_000));
        }
        timer.handle_data_phase();
        rto_of(&timer)
    };
    assert_eq!(sampled(rtt(100), false), ms(1_000));
    assert_eq!(sampled(rtt(100), true), ms(3_000)); // from 2 s
    let invalid = Sample::of_transmission(ms(2), ms(1));
    assert_eq!(sampled(invalid, false), ms(3_000));
}

/// (decision 3) 5.7 touches the RTO only: no estimate appears, no floor of 3 s remains.
#[test]
fn rule_rfc6298_d3_the_three_seconds_leave_no_trace() {
    let mut timer = after_lost_handshake(Config::RFC6298, 1);
    timer.handle_data_phase();
    assert_eq!(rto_of(&timer), ms(3_000));
    assert_eq!(timer.estimator().srtt(), None);
    assert_eq!(timer.estimator().rttvar(), None);
    timer.handle_sent(ms(200_000));
    let outcome = timer.handle_acked(ms(200_400), Progress::All, Some(rtt(400)));
    assert_eq!(outcome, Some(Outcome::First));
    assert_eq!(rto_of(&timer), ms(400 + 4 * 200));
}

/// (decision 4) The floor comes before the doubling.
#[test]
fn rule_rfc6298_d4_floor_first_then_double() {
    let mut estimator = fed(Config::RFC6298, &[100]); // raw 300
    for rto in [1_000, 2 * 1_000, 4 * 1_000] {
        assert_eq!(estimator.rto(), ms(rto)); // "double, then floor" gives 1000, 1000, 1200
        estimator.back_off();
    }
}

/// (decision 5) The cap holds where the RTO is computed and after each doubling.
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

/// (decision 6) An ACK of retransmitted data restarts the timer, the RTO still backed off.
#[test]
fn rule_rfc6298_d6_an_ack_of_retransmitted_data_restarts_without_collapse() {
    let mut timer = timer(BARE, &[100]); // RTO 300
    timer.handle_sent(ms(0));
    expire(&mut timer, ms(300));
    timer.handle_acked(ms(400), Progress::Some, None);
    assert_eq!(timer.poll_timeout(), Some(ms(400 + 2 * 300)));
    timer.handle_acked(ms(500), Progress::All, None);
    timer.handle_sent(ms(600));
    assert_eq!(timer.poll_timeout(), Some(ms(600 + 2 * 300))); // also across a stop
}

/// (decision 7) A late call is one expiry, and the next deadline counts from it.
#[test]
fn rule_rfc6298_d7_a_late_call_is_one_expiry_counted_from_now() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    let late = ms(3_600_000); // 1, 3, 7, ... s have passed
    assert_eq!(
        timer.handle_timeout(late).map(|expiry| expiry.backoffs),
        Some(1)
    );
    assert_eq!(timer.handle_timeout(late), None);
    expire(&mut timer, late + ms(2_000));
}

/// (decision 8) A send that the socket refused runs the timer as well: trying is enough.
#[test]
fn rule_rfc6298_d8_an_attempt_to_send_starts_the_timer() {
    let mut timer = timer(Config::RFC6298, &[]);
    let socket_is_full = || Err::<(), _>(std::io::ErrorKind::WouldBlock);
    timer.handle_sent(ms(0)); // told before the outcome is known
    assert_eq!(socket_is_full(), Err(std::io::ErrorKind::WouldBlock));
    expire(&mut timer, ms(1_000)); // so the segment gets its second chance
}

/// (decision 9) After clearing, the backed-off RTO stays until the next sample.
#[test]
fn rule_rfc6298_d9_clearing_keeps_the_rto_in_force() {
    let mut config = BARE;
    config.clear_after = NonZeroU32::new(2);
    let mut estimator = fed(config, &[100]); // RTO 300
    estimator.back_off();
    estimator.back_off();
    assert_eq!(estimator.srtt(), None);
    assert_eq!(estimator.rto(), ms(4 * 300)); // not the initial 1000
    assert_eq!(estimator.base_rto(), ms(4 * 300));
    estimator.back_off();
    assert_eq!(estimator.rto(), ms(8 * 300));
    estimator.sample(rtt(50));
    assert_eq!(estimator.rto(), ms(50 + 4 * 25));
}

/// (decision 10) A fast retransmission is no timeout.
#[test]
fn rule_rfc6298_d10_a_fast_retransmission_is_no_timeout() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    timer.handle_fast_retransmit(ms(400));
    assert_eq!(rto_of(&timer), ms(1_000)); // nothing doubled
    assert_eq!(timer.estimator().backoffs(), 0);
    assert_eq!(timer.poll_timeout(), Some(ms(0 + 1_000))); // nor moved
    timer.stop();
    timer.handle_fast_retransmit(ms(500));
    expire(&mut timer, ms(500 + 1_000)); // but started

    let mut sampler = Sampler::new();
    sampler.handle_sent(ms(0), 0..10);
    sampler.handle_sent(ms(10), 10..20);
    sampler.handle_sent(ms(400), 0..10); // fast: the measurement is void
    assert_eq!(sampler.handle_acked(ms(450), 20), None);
}

/// (decision 11) Zero is a sample, and the RTO is never zero.
#[test]
fn rule_rfc6298_d11_a_round_trip_of_zero_is_a_sample() {
    let mut config = BARE;
    (config.min_rto, config.granularity) = (Duration::ZERO, ms(1));
    let mut estimator = fed(config, &[]);
    assert_eq!(estimator.sample(rtt(0)), Outcome::First);
    assert_eq!(estimator.srtt(), Some(ms(0)));
    assert_eq!(estimator.rto(), ms(0 + 1));
    assert_eq!(estimator.sample(rtt(800)), Outcome::Accepted); // were zero "none yet": First
    assert_eq!(estimator.srtt(), Some(ms(800 / 8)));

    config.granularity = Duration::ZERO;
    assert_eq!(Estimator::new(config), Err(ConfigError::NoFloor));
    config.min_rto = NANOSECOND; // either one is enough
    assert_eq!(fed(config, &[0]).rto(), NANOSECOND);
}

/// (decision 12) An ACK before its send is rejected, the state untouched.
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

/// (decision 13) Larger samples count as `max_sample`, and nothing overflows.
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
    assert_eq!(timer.poll_timeout(), Some(Duration::MAX)); // the end of time
}

/// (decision 14) Exact while no bit is lost; then never early and less than 2 ns late.
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
    // A first sample is exact again.
    estimator.clear();
    sample(&mut estimator, 1_001);
    assert_eq!(estimator.rto(), ns(3 * 1_001));

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

/// (decision 15) An ACK of retransmitted and fresh segments together gives no sample.
#[test]
fn rule_rfc6298_d15_an_ack_of_old_and_fresh_data_gives_no_sample() {
    let acked = |upto: [u64; 2]| {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(0), 0..10);
        sampler.handle_sent(ms(1_000), 0..10);
        sampler.handle_sent(ms(1_010), 10..20); // fresh
        sampler.handle_acked(ms(1_090), upto[0]);
        let sample = sampler.handle_acked(ms(1_100), upto[1]);
        sample.map(|sample| sample.rtt())
    };
    assert_eq!(acked([9, 20]), Some(Err(Rejection::Retransmitted))); // one byte of old data
    assert_eq!(acked([10, 20]), Some(Ok(ms(1_100 - 1_010)))); // apart
}

/// (decision 16) What ends a back-off is a named policy.
#[test]
fn rule_rfc6298_d16_the_collapse_policy_is_named() {
    // RTO in ms after an expiry and an ACK without a sample; before a sample and after 100 ms.
    for (collapse, initial, sampled) in [
        (Collapse::OnSample, 2 * 1_000, 2 * 300),
        (Collapse::OnAnyAck, 1_000, 300),
    ] {
        for (samples, rto) in [(&[][..], initial), (&[100], sampled)] {
            let mut timer = timer(Config { collapse, ..BARE }, samples);
            timer.handle_sent(ms(0));
            let at = timer.poll_timeout().expect("it runs");
            let backed_off = expire(&mut timer, at).next_rto;
            timer.handle_acked(at, Progress::None, None); // of no new data: never
            assert_eq!(rto_of(&timer), backed_off, "{collapse:?}");
            timer.handle_acked(at, Progress::Some, None);
            assert_eq!(rto_of(&timer), ms(rto), "{collapse:?}");
            assert_eq!(timer.poll_timeout(), Some(at + ms(rto)), "{collapse:?}");
        }
    }
    let config = Config {
        collapse: Collapse::OnAnyAck,
        ..Config::RFC6298
    };
    assert!(
        config
            .deviations()
            .any(|deviation| deviation.rule() == "5-N1")
    );
}

/// (decision 17) Due at the deadline itself; early calls and calls after a stop do nothing.
#[test]
fn rule_rfc6298_d17_a_deadline_is_due_at_its_instant() {
    let mut timer = timer(Config::RFC6298, &[]);
    assert_eq!(timer.handle_timeout(Duration::MAX), None); // never started
    timer.handle_sent(ms(0));
    let before = timer;
    for early in [ms(0), ms(500), ms(1_000) - NANOSECOND] {
        assert_eq!(timer.handle_timeout(early), None);
    }
    assert_eq!(timer, before);
    timer.stop();
    assert_eq!(timer.handle_timeout(Duration::MAX), None);
    assert_eq!(timer.poll_timeout(), None);
    // An ACK at the instant of the deadline: whoever is told first decides.
    let (mut acked, mut expired) = (before, before);
    acked.handle_acked(ms(1_000), Progress::Some, None);
    assert_eq!(acked.handle_timeout(ms(1_000)), None);
    expire(&mut expired, ms(1_000));
}

/// (decision 18) A new RTO leaves a running timer's deadline alone.
#[test]
fn rule_rfc6298_d18_a_new_rto_leaves_the_deadline_alone() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_handshake_sent(ms(0));
    timer.handle_sample(rtt(600)); // RTO 1800
    assert_eq!(timer.poll_timeout(), Some(ms(0 + 1_000)));
    timer.handle_acked(ms(700), Progress::None, Some(rtt(600))); // RTO 1500
    expire(&mut timer, ms(1_000));
    assert_eq!(timer.poll_timeout(), Some(ms(1_000 + 2 * 1_500)));

    let mut lost = self::timer(Config::RFC6298, &[]);
    lost.handle_handshake_sent(ms(0));
    expire(&mut lost, ms(1_000));
    lost.handle_data_phase(); // 3 s
    assert_eq!(rto_of(&lost), ms(3_000));
    assert_eq!(lost.poll_timeout(), Some(ms(1_000 + 2_000)));
}
