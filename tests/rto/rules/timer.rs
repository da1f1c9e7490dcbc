//! Sections 1 and 5: managing the timer.

use std::num::NonZeroU32;

use conformance::{
    model::{Model, whole},
    rto_vectors::{Event, Subject},
    settings::Settings,
};
use rto::{Config, Outcome, PostSyn, Progress};

use super::*;

/// (1-1) Nothing is earlier than the exact RTO, and what a setting makes earlier is named.
#[test]
fn rule_rfc6298_1_1_never_more_aggressive() {
    // Round trips whose shares have bits below any fraction; the model has all of them.
    let settings = Settings::bare();
    let mut estimator = fed(Config::from(&settings), &[]);
    let mut model = Model::new(&settings);
    for n in 1..200_u64 {
        let rtt = Duration::from_nanos(n % 5 * 1_000_000 / 7);
        estimator.sample(Sample::measured(rtt));
        model.apply(&Event::sample(rtt));
        let exact = model.estimate().expect("sampled").raw_rto(&settings);
        let rto = whole(estimator.rto().as_nanos());
        assert!(rto >= exact, "sample {n}: {rto} is early, {exact} is exact");
        assert!(rto < exact + whole(2), "sample {n}");
    }

    let mut slow = Config::RFC6298;
    (slow.initial_rto, slow.min_rto, slow.k) = (ms(3_000), ms(2_000), 8);
    (slow.max_rto, slow.max_sample) = (Duration::MAX, Config::LIMIT);
    slow.granularity = ms(500);
    assert_eq!(slow.deviations().count(), 0);
}

/// (5-1) The timer asks for a retransmission no sooner than the RTO after the send that armed it.
#[test]
fn rule_rfc6298_5_1_no_retransmission_within_an_rto_of_the_last() {
    let mut timer = timer(Config::RFC6298, &[600]);
    let (mut last_send, mut rto) = (ms(0), ms(600 + 4 * 300));
    timer.handle_sent(last_send);
    for _ in 0..10 {
        let at = last_send + rto;
        let expiry = expire(&mut timer, at);
        assert_eq!(expiry.rto, rto); // the one that ran out
        timer.handle_sent(at); // the retransmission
        (last_send, rto) = (at, (2 * rto).min(ms(60_000)));
    }
}

/// (5.1-1) Sending starts a stopped timer and leaves a running one alone.
#[test]
fn rule_rfc6298_5p1_1_sending_starts_a_stopped_timer_only() {
    let mut timer = timer(Config::RFC6298, &[]);
    assert_eq!(timer.poll_timeout(), None);
    timer.handle_sent(ms(100));
    timer.handle_sent(ms(500));
    timer.handle_handshake_sent(ms(600));
    timer.handle_fast_retransmit(ms(700));
    expire(&mut timer, ms(100 + 1_000));
    timer.handle_sent(ms(1_100)); // the retransmission
    assert_eq!(timer.poll_timeout(), Some(ms(1_100 + 2_000)));
}

/// (5.2-1) The timer stops when everything is acknowledged.
#[test]
fn rule_rfc6298_5p2_1_the_timer_stops_when_nothing_is_outstanding() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    timer.handle_acked(ms(50), Progress::All, None);
    assert_eq!(timer.poll_timeout(), None);
    assert_eq!(timer.handle_timeout(ms(100_000)), None);
    timer.handle_sent(ms(150));
    expire(&mut timer, ms(150 + 1_000));
}

/// (5.3-1) An ACK of new data restarts the timer for the RTO in force; other ACKs do not.
#[test]
fn rule_rfc6298_5p3_1_only_acks_of_new_data_restart_the_timer() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    timer.handle_acked(ms(900), Progress::None, None); // a duplicate
    assert_eq!(timer.poll_timeout(), Some(ms(1_000)));
    timer.handle_acked(ms(950), Progress::Some, None);
    assert_eq!(timer.poll_timeout(), Some(ms(950 + 1_000)));
    // The RTO after the sample of this very ACK, not the one before it.
    timer.handle_acked(ms(1_000), Progress::Some, Some(rtt(600)));
    expire(&mut timer, ms(1_000 + 600 + 4 * 300));
}

/// (5.4-1) An expiry asks for one retransmission, of the earliest segment, now.
#[test]
fn rule_rfc6298_5p4_1_an_expiry_asks_for_one_retransmission() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    timer.handle_sent(ms(10)); // two segments outstanding
    expire(&mut timer, ms(1_000));
    assert_eq!(timer.handle_timeout(ms(1_000)), None); // the other one is not asked for
    assert_eq!(timer.handle_timeout(ms(1_000 + 2_000) - NANOSECOND), None);
}

/// (5.5-1) On expiry the RTO doubles, up to the maximum.
#[test]
fn rule_rfc6298_5p5_1_each_expiry_doubles_the_rto_up_to_the_maximum() {
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_sent(ms(0));
    let mut at = ms(0);
    let doubled = (0..8).map(|n| ms((1_000 << n).min(60_000)));
    for (count, rto) in doubled.enumerate() {
        assert_eq!(rto_of(&timer), rto);
        at += rto;
        let expiry = expire(&mut timer, at);
        assert_eq!(expiry.rto, rto);
        assert_eq!(expiry.next_rto, (2 * rto).min(ms(60_000)));
        assert_eq!(expiry.backoffs as usize, count + 1);
    }
}

/// (5.6-1) On expiry the timer starts for the doubled RTO.
#[test]
fn rule_rfc6298_5p6_1_the_timer_restarts_with_the_doubled_rto() {
    let mut timer = timer(BARE, &[100]); // RTO 300
    timer.handle_sent(ms(0));
    expire(&mut timer, ms(300));
    assert_eq!(timer.poll_timeout(), Some(ms(300 + 2 * 300)));
    expire(&mut timer, ms(900));
    assert_eq!(timer.poll_timeout(), Some(ms(900 + 4 * 300)));
}

/// (5.7-1) After a lost SYN an RTO below 3 s becomes 3 s when data transmission begins.
#[test]
fn rule_rfc6298_5p7_1_a_lost_handshake_raises_the_rto_to_three_seconds() {
    // The RTO when data transmission begins, after this many expiries of the handshake.
    let begin = |config: Config, expiries: usize, handshake: bool| {
        let mut timer = timer(config, &[]);
        if handshake {
            timer.handle_handshake_sent(ms(0));
        } else {
            timer.handle_sent(ms(0));
        }
        for _ in 0..expiries {
            let at = timer.poll_timeout().expect("it runs");
            expire(&mut timer, at);
            if handshake {
                timer.handle_handshake_sent(at); // the SYN again
            }
        }
        timer.handle_acked(ms(10_000), Progress::All, None);
        timer.handle_data_phase(ms(0));
        rto_of(&timer)
    };
    assert_eq!(begin(Config::RFC6298, 0, true), ms(1_000)); // nothing was lost
    assert_eq!(begin(Config::RFC6298, 1, true), ms(3_000)); // 2 s is below 3 s
    assert_eq!(begin(Config::RFC6298, 2, true), ms(4_000)); // 4 s is not
    assert_eq!(begin(Config::RFC6298, 1, false), ms(2_000)); // it was no handshake
    let keep = Config {
        post_syn: PostSyn::Keep,
        ..Config::RFC6298
    };
    assert_eq!(begin(keep, 1, true), ms(2_000));
    assert!(
        keep.deviations()
            .any(|deviation| deviation.rule() == "5.7-1")
    );

    // Only where data transmission begins: neither before it nor a second time.
    let mut timer = timer(Config::RFC6298, &[]);
    timer.handle_handshake_sent(ms(0));
    expire(&mut timer, ms(1_000));
    assert_eq!(rto_of(&timer), ms(2_000));
    timer.handle_data_phase(ms(0));
    timer.handle_acked(ms(1_200), Progress::All, Some(rtt(100)));
    timer.handle_data_phase(ms(0));
    assert_eq!(rto_of(&timer), ms(1_000));
    timer.handle_sent(ms(2_000));
    expire(&mut timer, ms(2_000 + 1_000)); // of data, not of the handshake
    timer.handle_data_phase(ms(0));
    assert_eq!(rto_of(&timer), ms(2 * 1_000));
}

/// (5-N1) A valid sample ends the back-off; an ACK without one does not.
#[test]
fn rule_rfc6298_5_n1_only_a_valid_sample_ends_the_back_off() {
    let mut timer = timer(BARE, &[800]); // RTO 2400
    timer.handle_sent(ms(0));
    expire(&mut timer, ms(2_400));
    timer.handle_acked(ms(2_500), Progress::Some, None);
    assert_eq!(rto_of(&timer), ms(2 * 2_400));
    let backwards = Some(Sample::of_transmission(ms(9), ms(8)));
    timer.handle_acked(ms(2_600), Progress::Some, backwards); // not valid
    assert_eq!(rto_of(&timer), ms(2 * 2_400));
    assert_eq!(timer.estimator().backoffs(), 1);
    timer.handle_acked(ms(2_700), Progress::Some, Some(rtt(800)));
    assert_eq!(rto_of(&timer), ms(800 + 4 * 300)); // by section 2, not halved
    assert_eq!(timer.estimator().backoffs(), 0);
}

/// (5-N2) SRTT and RTTVAR may be cleared after several back-offs; then 2.2-1 applies.
#[test]
fn rule_rfc6298_5_n2_after_clearing_the_next_sample_is_a_first_one() {
    let mut config = BARE;
    config.clear_after = NonZeroU32::new(3);
    let mut estimator = fed(config, &[100, 100]);
    for backoffs in 1..=3 {
        assert!(estimator.srtt().is_some(), "before back-off {backoffs}");
        estimator.back_off();
    }
    assert_eq!((estimator.srtt(), estimator.rttvar()), (None, None));
    assert_eq!(estimator.sample(rtt(500)), Outcome::First);
    assert_eq!(estimator.srtt(), Some(ms(500)));
    assert_eq!(estimator.rto(), ms(500 + 4 * 250));

    let mut never = fed(BARE, &[100]);
    (0..100).for_each(|_| never.back_off());
    assert_eq!(never.sample(rtt(500)), Outcome::Accepted);
    never.clear();
    assert_eq!(never.sample(rtt(500)), Outcome::First);
}
