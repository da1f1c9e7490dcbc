//! Sampling, undoing and seeding: T1 to T6.

use std::num::{NonZeroU16, NonZeroU32};

use rto::{Outcome, Progress, Rejection, Snapshot, expected_samples, is_spurious};

use super::*;

fn of(expected: u16) -> NonZeroU16 {
    NonZeroU16::new(expected).expect("positive")
}

/// (T1) With N samples per round trip both gains are divided by N.
#[test]
fn rule_family_t1_gains_are_divided_by_the_expected_samples() {
    let mut estimator = fed(BARE, &[]);
    estimator.seed(Snapshot {
        srtt: ms(1_000),
        rttvar: ms(1_000),
    });
    estimator.sample(rtt(2_000).one_of(of(2)));
    // RTTVAR = 1000 + (1000 - 1000)/8, SRTT = 1000 + (2000 - 1000)/16.
    assert_estimate(&estimator, 1_062.5, 1_000.0, 1_062.5 + 4.0 * 1_000.0);

    let mut one = fed(BARE, &[600]);
    let mut plain = one;
    one.sample(rtt(700).one_of(of(1)));
    plain.sample(rtt(700));
    assert_eq!(one, plain);

    for (flight, smss, expected) in [
        (0, 1_460, 1),
        (2 * 1_460, 1_460, 1),
        (2 * 1_460 + 1, 1_460, 2),
        (100 * 1_460, 1_460, 50),
        (u64::MAX, 1, u16::MAX),
        (7, 0, 7), // segments of no bytes count as of one half
    ] {
        assert_eq!(
            expected_samples(flight, smss),
            of(expected),
            "{flight} / {smss}"
        );
    }
}

/// (T1) The guard grows with the samples expected, so that the RTO is never early.
#[test]
fn rule_family_t1_the_bound_grows_with_the_samples_expected() {
    let mut many = fed(BARE, &[600]);
    let mut exact = conformance::model::Estimate::first(600_000_000);
    let gain = |den: i64| num_rational::BigRational::new(1.into(), den.into());
    for turn in 0..200_u64 {
        let rtt = Duration::from_nanos(600_000_001 + turn * 7_919 % 1_000);
        many.sample(Sample::measured(rtt).one_of(of(100)));
        exact.update(rtt.as_nanos(), &gain(800), &gain(400));
        let raw = exact.raw_rto(&conformance::settings::Settings::bare());
        let late = conformance::model::whole(many.rto().as_nanos()) - raw;
        assert!(late >= conformance::model::whole(0), "early by {late}");
        assert!(
            late < conformance::model::whole(1 + 2 * 28 * 100 / 256 + 1),
            "late by {late}"
        );
    }
}

/// (T2) The echo of a timestamp from before the retransmission answers the original.
#[test]
fn rule_family_t2_an_echo_from_before_the_retransmission_is_spurious() {
    assert!(is_spurious(ms(0), ms(1_000)));
    assert!(!is_spurious(ms(1_000), ms(1_000)));
    assert!(!is_spurious(ms(1_001), ms(1_000)));
}

/// (T3) One back-off is undone, and the timer counts from the last retransmission.
#[test]
fn rule_family_t3_an_unreachable_path_undoes_one_back_off() {
    let mut timer = expired(RetransmitTimer::new(fed(BARE, &[600])), &[1_800, 5_400]);
    assert_eq!(timer.estimator().rto(), ms(4 * 1_800));
    timer.handle_unreachable(ms(5_500), ms(5_400));
    assert_eq!(timer.estimator().rto(), ms(2 * 1_800));
    assert_eq!(timer.estimator().backoffs(), 1);
    assert_eq!(timer.poll_timeout(), Some(ms(5_400 + 3_600)));
    // A second message about the same retransmission comes late: what is left is due.
    timer.handle_unreachable(ms(8_000), ms(5_400));
    assert_eq!(timer.poll_timeout(), Some(ms(5_400 + 1_800)));
    assert!(timer.handle_timeout(ms(8_000)).is_some());
}

/// (T3) Without a back-off there is nothing to undo, and the timer is not moved: the message is
/// about a transmission that an ACK has overtaken, or about the first one.
#[test]
fn rule_family_t3_without_a_back_off_nothing_happens() {
    let mut fresh = fed(BARE, &[600]);
    fresh.undo_back_off();
    assert_eq!(fresh, fed(BARE, &[600]));
    let mut timer = RetransmitTimer::new(fresh);
    timer.handle_sent(ms(0));
    timer.handle_acked(ms(500), Progress::Some, None);
    let before = timer;
    timer.handle_unreachable(ms(600), ms(0));
    assert_eq!(timer, before); // not 0 + 1800
}

/// (T3) The last retransmission does not lie ahead: a clock that went back moves no deadline away.
#[test]
fn rule_family_t3_a_transmission_ahead_counts_as_one_of_now() {
    let mut timer = expired(RetransmitTimer::new(fed(BARE, &[600])), &[1_800]);
    timer.handle_unreachable(ms(1_900), ms(1_000_000));
    assert_eq!(timer.poll_timeout(), Some(ms(1_900 + 1_800)));
}

/// (T3) What the cap cut off the doublings is not lost: the base counts.
#[test]
fn rule_family_t3_undoing_at_the_cap_gives_the_base_doubled_less_often() {
    let mut estimator = fed(Config::RFC6298, &[600]); // 1.8 s
    (0..6).for_each(|_| estimator.back_off()); // 115.2 s, cut to 60 s
    for (backoffs, rto) in [(5, 57_600), (4, 28_800), (3, 14_400)] {
        estimator.undo_back_off();
        assert_eq!((estimator.backoffs(), estimator.rto()), (backoffs, ms(rto)));
    }
    // Past 64 doublings, and with no sample.
    let mut lost = fed(Config::RFC6298, &[]);
    (0..100).for_each(|_| lost.back_off());
    lost.undo_back_off();
    assert_eq!((lost.backoffs(), lost.rto()), (99, ms(60_000)));
    lost.undo_back_offs();
    assert_eq!((lost.backoffs(), lost.rto()), (0, ms(1_000)));
}

/// (T3) The 3 s after a lost handshake are the base of the data phase, also where the cap cut off
/// what they were doubled to.
#[test]
fn rule_family_t3_undoing_keeps_to_the_three_seconds() {
    let mut timer = RetransmitTimer::new(fed(Config::RFC6298, &[]));
    timer.handle_handshake_sent(ms(0));
    assert!(timer.handle_timeout(ms(1_000)).is_some());
    timer.handle_acked(ms(1_000), Progress::All, None);
    timer.handle_data_phase(ms(1_000));
    timer.handle_sent(ms(1_000));
    for at in [4_000, 10_000, 22_000, 46_000, 94_000] {
        assert!(timer.handle_timeout(ms(at)).is_some());
    }
    assert_eq!(timer.estimator().rto(), ms(60_000)); // 96 s, cut
    for rto in [48_000, 24_000, 12_000, 6_000, 3_000, 3_000] {
        timer.handle_unreachable(ms(94_100), ms(94_000));
        assert_eq!(timer.estimator().rto(), ms(rto));
    }
}

/// (T3) Clearing the estimate keeps the RTO in force (D9), and what it was doubled from.
#[test]
fn rule_family_t3_undoing_goes_on_where_the_estimate_was_cleared() {
    let config = Config {
        clear_after: NonZeroU32::new(2),
        ..BARE
    };
    let mut estimator = fed(config, &[100]); // 300 ms
    (0..3).for_each(|_| estimator.back_off());
    assert_eq!((estimator.srtt(), estimator.rto()), (None, ms(2_400)));
    estimator.undo_back_off();
    assert_eq!(estimator.rto(), ms(1_200));
    estimator.undo_back_offs();
    assert_eq!((estimator.backoffs(), estimator.rto()), (0, ms(300)));
}

/// (T4) A spurious timeout costs no back-off, and the next sample cannot repeat it.
#[test]
fn rule_family_t4_a_spurious_timeout_is_undone_and_the_estimate_re_seeded() {
    let config = Config {
        granularity: ms(10),
        ..BARE
    };
    let mut timer = RetransmitTimer::new(fed(config, &[100])); // 300 ms
    let before = timer.estimator().snapshot().expect("sampled");
    timer = expired(timer, &[300, 900]);
    timer.handle_spurious_timeout(ms(1_000));
    assert_eq!(timer.estimator().rto(), ms(300));
    assert_eq!(timer.poll_timeout(), Some(ms(1_300)));

    // R is the larger: SRTT = R, RTTVAR = R/2.
    let outcome = timer.handle_sample_after_spurious(ms(1_100), before, rtt(1_000));
    assert_eq!(outcome, Outcome::Accepted);
    assert_estimate(timer.estimator(), 1_000.0, 500.0, 1_000.0 + 4.0 * 500.0);
    assert_eq!(timer.poll_timeout(), Some(ms(1_100 + 3_000)));

    // What was before is the larger: SRTT = 100 + 2 x 10, RTTVAR = 50.
    let mut estimator = fed(config, &[100]);
    estimator.reseed(before, rtt(60));
    assert_estimate(&estimator, 120.0, 50.0, 120.0 + 4.0 * 50.0);

    let mut unmoved = fed(config, &[100]);
    let backwards = Sample::of_transmission(ms(2), ms(1));
    let rejected = Outcome::Rejected(Rejection::AckBeforeSend);
    assert_eq!(unmoved.reseed(before, backwards), rejected);
    assert_eq!(unmoved, fed(config, &[100]));
    let unmoved = timer;
    let outcome = timer.handle_sample_after_spurious(ms(2_000), before, backwards);
    assert_eq!((outcome, timer), (rejected, unmoved));
}

/// (T5) A snapshot seeds another estimator as samples would have.
#[test]
fn rule_family_t5_a_snapshot_starts_the_next_connection() {
    let known = fed(BARE, &[600, 800]);
    let cached = known.snapshot().expect("sampled");
    let mut fresh = fed(BARE, &[]);
    assert_eq!(fresh.snapshot(), None);
    fresh.back_off();
    fresh.seed(cached);
    assert_eq!((fresh.rto(), fresh.backoffs()), (known.rto(), 0));
    assert_eq!(fresh.sample(rtt(700)), Outcome::Accepted); // a later one
    let mut on = known;
    on.sample(rtt(700));
    assert_eq!(fresh.rto(), on.rto());

    fresh.seed(Snapshot {
        srtt: Duration::MAX,
        rttvar: Duration::MAX,
    });
    assert_eq!(fresh.srtt(), Some(BARE.max_sample));
}

/// (T6) A restart counts from when the earliest outstanding segment was sent.
#[test]
fn rule_family_t6_a_restart_counts_from_the_earliest_outstanding_send() {
    let restarted = |earliest: u64, now: u64| {
        let mut timer = RetransmitTimer::new(fed(BARE, &[600])); // 1.8 s
        timer.handle_sent(ms(0));
        timer.handle_acked(ms(now), Progress::SomeSince(ms(earliest)), None);
        timer.poll_timeout()
    };
    assert_eq!(restarted(100, 700), Some(ms(100 + 1_800))); // the plain rule: 2500
    assert_eq!(restarted(700, 700), Some(ms(700 + 1_800)));
    assert_eq!(restarted(100, 1_899), Some(ms(1_900)));
    assert_eq!(restarted(100, 1_900), Some(ms(1_900 + 1_800))); // it has passed: from now
    assert_eq!(restarted(9_000, 700), Some(ms(700 + 1_800))); // it lies ahead: from now
}
