//! Our decisions about the timer, and about which ACK gives a sample.

use std::num::NonZeroU32;

use rto::{Collapse, Config, Progress, Rejection, Sampler};

use super::*;

/// (D6) An ACK of retransmitted data restarts the timer, the RTO still backed off.
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

/// (D7) A late call is one expiry, and the next deadline counts from it.
#[test]
fn rule_rfc6298_d7_a_late_call_is_one_expiry_counted_from_now() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    let late = ms(3_600_000); // 1, 3, 7, ... s have passed
    assert_eq!(
        timer
            .handle_timeout(late)
            .map(|_| timer.estimator().backoffs()),
        Some(1)
    );
    assert_eq!(timer.handle_timeout(late), None);
    expire(&mut timer, late + ms(2_000));
}

/// (D8) A send that the socket refused runs the timer as well: trying is enough.
#[test]
fn rule_rfc6298_d8_an_attempt_to_send_starts_the_timer() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0)); // tried: the socket is full
    timer.handle_sent(ms(300)); // tried again, and it went
    expire(&mut timer, ms(1_000)); // counted from the first attempt
}

/// (D10) A fast retransmission is no timeout.
#[test]
fn rule_rfc6298_d10_a_fast_retransmission_is_no_timeout() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    timer.handle_fast_retransmit(ms(400));
    assert_eq!(rto_of(&timer), ms(1_000)); // nothing doubled
    assert_eq!(timer.estimator().backoffs(), 0);
    assert_eq!(timer.poll_timeout(), Some(ms(1_000))); // nor moved
    timer.stop(ms(0));
    timer.handle_fast_retransmit(ms(500));
    expire(&mut timer, ms(500 + 1_000)); // but started

    let mut sampler = Sampler::new();
    sampler.handle_sent(ms(0), 0..10);
    sampler.handle_sent(ms(10), 10..20);
    sampler.handle_sent(ms(400), 0..10); // fast: the measurement is void
    assert_eq!(sampler.handle_acked(ms(450), 20), None);
}

/// (D15) An ACK of retransmitted and fresh segments together gives no sample.
#[test]
fn rule_rfc6298_d15_an_ack_of_old_and_fresh_data_gives_no_sample() {
    let acked = |upto: [u64; 2]| {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(0), 0..10);
        sampler.handle_sent(ms(1_000), 0..10);
        sampler.handle_sent(ms(1_010), 10..20); // fresh
        let _ = sampler.handle_acked(ms(1_090), upto[0]);
        let sample = sampler.handle_acked(ms(1_100), upto[1]);
        sample.map(|sample| sample.rtt())
    };
    assert_eq!(acked([9, 20]), Some(Err(Rejection::Retransmitted))); // one byte of old data
    assert_eq!(acked([10, 20]), Some(Ok(ms(1_100 - 1_010)))); // apart
}

/// (D16) What ends a back-off is a named policy.
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
    // After clearing only a sample helps (D9), and an ACK takes no doubling for the base.
    let cleared = Config {
        collapse: Collapse::OnAnyAck,
        clear_after: NonZeroU32::new(2),
        ..BARE
    };
    let mut timer = timer(cleared, &[100]);
    timer.handle_sent(ms(0));
    expire(&mut timer, ms(300));
    expire(&mut timer, ms(900));
    timer.handle_acked(ms(1_000), Progress::Some, None);
    assert_eq!(
        (rto_of(&timer), timer.estimator().backoffs()),
        (ms(1_200), 2)
    );
    assert_eq!(timer.estimator().base_rto(), ms(300));

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

/// (D17) Due at the deadline itself; early calls and calls after a stop do nothing.
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
    timer.stop(ms(0));
    assert_eq!(timer.handle_timeout(Duration::MAX), None);
    assert_eq!(timer.poll_timeout(), None);
    // An ACK at the instant of the deadline: whoever is told first decides.
    let (mut acked, mut expired) = (before, before);
    acked.handle_acked(ms(1_000), Progress::Some, None);
    assert_eq!(acked.handle_timeout(ms(1_000)), None);
    expire(&mut expired, ms(1_000));
}

/// (D18) A new RTO leaves a running timer's deadline alone.
#[test]
fn rule_rfc6298_d18_a_new_rto_leaves_the_deadline_alone() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_handshake_sent(ms(0));
    timer.handle_sample(ms(0), rtt(600)); // RTO 1800
    assert_eq!(timer.poll_timeout(), Some(ms(1_000)));
    timer.handle_acked(ms(700), Progress::None, Some(rtt(600))); // RTO 1500
    expire(&mut timer, ms(1_000));
    assert_eq!(timer.poll_timeout(), Some(ms(1_000 + 2 * 1_500)));

    let mut lost = self::timer(Config::RFC6298, &[]);
    lost.handle_handshake_sent(ms(0));
    expire(&mut lost, ms(1_000));
    lost.handle_data_phase(ms(0)); // 3 s
    assert_eq!(rto_of(&lost), ms(3_000));
    assert_eq!(lost.poll_timeout(), Some(ms(1_000 + 2_000)));
}
