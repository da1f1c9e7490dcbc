//! Messages and answers: P30 to P47.

use std::num::{NonZeroU8, NonZeroU32};

use rto::{
    Rejection,
    transaction::{
        Config, Failure, LastWait, NextTimeout, Ratio, Retransmission, StaleAfter, Timeout,
        TransactionTimer,
    },
};

use super::{Duration, Estimator, NANOSECOND, Sample, ms};

fn timer(config: Config) -> TransactionTimer {
    TransactionTimer::new(config).expect("the settings are legal")
}

/// A message left at 0.
fn sent(config: Config, draw: u64) -> TransactionTimer {
    let mut timer = timer(config);
    timer.handle_sent(ms(0), draw);
    timer
}

fn expire(timer: &mut TransactionTimer, at: Duration) -> Timeout {
    assert_eq!(timer.poll_timeout(), Some(at));
    assert_eq!(timer.handle_timeout(at - NANOSECOND), None, "early");
    timer.handle_timeout(at).expect("due")
}

fn retransmit(timer: &mut TransactionTimer, at: u64) -> Retransmission {
    match expire(timer, ms(at)) {
        Timeout::Retransmit(again) => again,
        Timeout::Failed(failure) => panic!("{failure:?}"),
    }
}

/// The sends of a message that left at 0, in ms, and when it fails.
fn run(mut timer: TransactionTimer, most: usize) -> (Vec<u64>, Option<(u64, Failure)>) {
    let mut sends = vec![0];
    while sends.len() < most {
        let at = timer.poll_timeout().expect("it runs");
        let at_ms = u64::try_from(at.as_millis()).expect("small");
        match expire(&mut timer, at) {
            Timeout::Retransmit(_) => sends.push(at_ms),
            Timeout::Failed(failure) => {
                assert_eq!(timer.poll_timeout(), None, "it is over");
                return (sends, Some((at_ms, failure)));
            }
        }
    }
    (sends, None)
}

/// (P30) The first send starts the timer, an expiry doubles the wait, an answer stops it.
#[test]
fn rule_family_p30_the_wait_doubles_up_to_a_cap_until_the_answer() {
    let config = Config {
        max_timeout: ms(3_500),
        ..Config::RFC6347
    };
    let mut timer = sent(config, 0);
    timer.handle_sent(ms(500), 0); // it waits already
    let again = retransmit(&mut timer, 1_000);
    assert_eq!((again.transmissions, again.wait), (2, ms(2_000)));
    assert_eq!(retransmit(&mut timer, 3_000).wait, ms(3_500));
    assert_eq!(retransmit(&mut timer, 6_500).wait, ms(3_500));
    assert_eq!(timer.transmissions(), 4);
    assert!(timer.handle_answered(ms(7_000)).is_some());
    assert_eq!((timer.poll_timeout(), timer.transmissions()), (None, 0));
    assert_eq!(timer.handle_timeout(ms(60_000)), None);
    assert_eq!(timer.handle_answered(ms(60_000)), None);
}

/// (P30) A request that is cancelled stops the timer and changes nothing else.
#[test]
fn rule_family_p30_a_cancelled_message_waits_no_more() {
    let mut timer = sent(Config::RFC6347, 0);
    retransmit(&mut timer, 1_000);
    timer.stop(ms(1_100));
    assert_eq!((timer.poll_timeout(), timer.timeout()), (None, ms(2_000)));
    assert_eq!(timer.handle_timeout(ms(3_000)), None);
}

/// (P31) The factor is 1 + 1/2 x draw / 2^64, rounded up.
#[test]
fn rule_family_p31_the_draw_stretches_the_first_wait() {
    let wait = |config: Config, draw| sent(config, draw).poll_timeout().expect("it waits");
    assert_eq!(wait(Config::RFC7252, 0), ms(2_000));
    assert_eq!(wait(Config::RFC7252, 1), ms(2_000) + NANOSECOND);
    assert_eq!(wait(Config::RFC7252, 1 << 62), ms(2_250));
    assert_eq!(wait(Config::RFC7252, 1 << 63), ms(2_500));
    assert_eq!(wait(Config::RFC7252, u64::MAX), ms(3_000));
    assert_eq!(wait(Config::RFC8489, u64::MAX), ms(500)); // without a factor
    let third = Config {
        spread: Ratio::new(1, 3),
        initial_timeout: ms(1),
        ..Config::RFC7252
    };
    assert_eq!(wait(third, u64::MAX), Duration::from_nanos(1_333_334));
    assert_eq!(wait(third, 1 << 63), Duration::from_nanos(1_166_667));
    let capped = Config {
        max_timeout: ms(2_100),
        ..Config::RFC7252
    };
    assert_eq!(wait(capped, u64::MAX), ms(2_100));
}

/// (P32) The last transmission waits once more, and the message has failed.
#[test]
fn rule_family_p32_after_the_last_wait_the_message_has_failed() {
    let twice = Config {
        transmissions: NonZeroU8::new(2),
        ..Config::RFC6347
    };
    let mut timer = sent(twice, 0);
    let again = retransmit(&mut timer, 1_000);
    assert!(again.is_last);
    let failure = Failure {
        transmissions: 2,
        elapsed: ms(3_000),
    };
    assert_eq!(expire(&mut timer, ms(3_000)), Timeout::Failed(failure));
    assert_eq!(timer.poll_timeout(), None);

    let once = Config {
        transmissions: NonZeroU8::MIN.into(),
        ..twice
    };
    assert!(matches!(
        expire(&mut sent(once, 0), ms(1_000)),
        Timeout::Failed(_)
    ));
    let five = LastWait::Times(NonZeroU32::new(5).expect("positive"));
    let once_for_long = Config {
        last_wait: five,
        ..once
    };
    let mut timer = sent(once_for_long, 0);
    assert!(matches!(expire(&mut timer, ms(5_000)), Timeout::Failed(_)));
}

/// (P33) The preview and the run agree, for each protocol and draw, also with a kept timeout.
#[test]
fn rule_family_p33_the_preview_is_what_happens() {
    for config in [
        Config::RFC7252,
        Config::RFC8489,
        Config::RFC6347,
        Config::RFC9147,
    ] {
        for draw in [0, 1 << 63, u64::MAX] {
            let schedule = timer(config).schedule(draw);
            assert_eq!(schedule, config.schedule(draw));
            let (sends, failed) = run(sent(config, draw), 12);
            let seen: Vec<_> = schedule.sends().take(12).collect();
            assert_eq!(seen, sends.iter().map(|&at| ms(at)).collect::<Vec<_>>());
            assert_eq!(schedule.fails_after(), failed.map(|(at, _)| ms(at)));
            let last = failed.and_then(|_| sends.last().map(|&at| ms(at)));
            assert_eq!(schedule.last_send(), last);
        }
    }
    let mut kept = sent(Config::RFC6347, 0);
    retransmit(&mut kept, 1_000);
    let sends: Vec<_> = kept.schedule(0).sends().take(3).collect();
    assert_eq!(sends, [ms(0), ms(2_000), ms(6_000)]);
}

/// (P34) CoAP with the least, the middle and the greatest factor.
#[test]
fn rule_family_p34_coap_sends_five_times_and_fails() {
    let (sends, failed) = run(sent(Config::RFC7252, 0), 9);
    assert_eq!(sends, [0, 2_000, 6_000, 14_000, 30_000]);
    let (at, failure) = failed.expect("an end");
    assert_eq!((at, failure.transmissions), (62_000, 5));
    let (sends, failed) = run(sent(Config::RFC7252, 1 << 63), 9);
    assert_eq!(sends, [0, 2_500, 7_500, 17_500, 37_500]);
    assert_eq!(failed.expect("an end").0, 77_500);
    let (sends, failed) = run(sent(Config::RFC7252, u64::MAX), 9);
    assert_eq!(sends, [0, 3_000, 9_000, 21_000, 45_000]);
    assert_eq!(failed.expect("an end").0, 93_000);
}

/// (P35) The two spans of CoAP are constants; who has no end has none.
#[test]
fn rule_family_p35_coap_spans_45_seconds_and_waits_93() {
    const SPAN: Option<Duration> = Config::RFC7252.max_transmit_span();
    const WAIT: Option<Duration> = Config::RFC7252.max_transmit_wait();
    assert_eq!((SPAN, WAIT), (Some(ms(45_000)), Some(ms(93_000))));
    assert_eq!(Config::RFC8489.max_transmit_wait(), Some(ms(39_500)));
    assert_eq!(Config::RFC6347.max_transmit_span(), None);
    assert_eq!(Config::RFC6347.max_transmit_wait(), None);
    // Settings that no timer takes do no harm.
    let wild = Config {
        initial_timeout: Duration::MAX,
        max_timeout: Duration::MAX,
        spread: Ratio::new(u16::MAX, 0),
        transmissions: NonZeroU8::new(u8::MAX),
        ..Config::RFC7252
    };
    assert_eq!(
        wild.max_transmit_wait(),
        Some(Duration::from_nanos(u64::MAX))
    );
}

/// (P36) STUN: seven requests, the last one waits 16 times the first wait.
#[test]
fn rule_family_p36_stun_sends_seven_requests() {
    let (sends, failed) = run(sent(Config::RFC8489, 0), 9);
    assert_eq!(sends, [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500]);
    let (at, failure) = failed.expect("an end");
    assert_eq!((at, failure.transmissions), (39_500, 7));
}

/// (P37) A timeout from elsewhere serves every request until ten minutes bring none.
#[test]
fn rule_family_p37_stun_keeps_a_timeout_from_elsewhere_for_ten_minutes() {
    let (limit, second) = (ms(600_000), ms(1_000));
    let mut timer = timer(Config::RFC8489);
    timer.begin_with(ms(0), ms(800));
    timer.handle_sent(limit - NANOSECOND, 0);
    assert_eq!(timer.poll_timeout(), Some(limit - NANOSECOND + ms(800)));
    assert!(timer.handle_answered(limit).is_some());
    timer.handle_sent(limit + second, 0); // the request in between counts
    assert_eq!(timer.poll_timeout(), Some(limit + second + ms(800)));
    assert!(timer.handle_answered(2 * limit).is_some());
    timer.handle_sent(3 * limit, 0);
    assert_eq!(timer.poll_timeout(), Some(3 * limit + ms(500)));
}

/// (P37) A timeout from elsewhere keeps to the bounds and leaves a waiting message alone.
#[test]
fn rule_family_p37_a_timeout_from_elsewhere_is_bounded() {
    let mut timer = sent(Config::RFC6347, 0);
    timer.begin_with(ms(10), Duration::MAX);
    assert_eq!(timer.timeout(), ms(60_000));
    assert_eq!(timer.poll_timeout(), Some(ms(1_000)));
    timer.begin_with(ms(10), ms(0));
    assert_eq!(timer.timeout(), ms(1));
}

/// (P38) One transmission: a round trip. Several: whose answer is it?
#[test]
fn rule_family_p38_only_a_message_sent_once_gives_a_round_trip() {
    for config in [
        Config::RFC7252,
        Config::RFC8489,
        Config::RFC6347,
        Config::RFC9147,
    ] {
        let mut timer = sent(config, 0);
        assert_eq!(
            timer.handle_answered(ms(123)),
            Some(Sample::measured(ms(123)))
        );
        let due = sent(config, 0).poll_timeout().expect("it waits");
        let mut timer = sent(config, 0);
        expire(&mut timer, due);
        let sample = timer.handle_answered(due + ms(100)).expect("it waited");
        assert_eq!(sample.rtt(), Err(Rejection::Retransmitted));
    }
    let mut back = timer(Config::RFC9147);
    back.handle_sent(ms(10), 0);
    let sample = back.handle_answered(ms(9)).expect("it waited");
    assert_eq!(sample.rtt(), Err(Rejection::AckBeforeSend));
    assert_eq!(back.timeout(), ms(1_000)); // nothing was measured
}

/// (P39) DTLS: 1 s, doubled up to 60 s, for ever.
#[test]
fn rule_family_p39_dtls_begins_with_a_second_and_goes_on() {
    let expected = [
        0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000, 183_000,
    ];
    for config in [Config::RFC6347, Config::RFC9147] {
        let (sends, failed) = run(sent(config, u64::MAX), 9);
        assert_eq!((sends, failed), (expected.to_vec(), None));
    }
}

/// A flight that leaves at `at`, is sent again `losses` times, and is answered 100 ms later.
fn flight(timer: &mut TransactionTimer, at: u64, losses: usize) -> u64 {
    timer.handle_sent(ms(at), 0);
    let mut last = ms(at);
    for _ in 0..losses {
        last = timer.poll_timeout().expect("it waits");
        expire(timer, last);
    }
    timer.handle_answered(last + ms(100));
    u64::try_from((last + ms(100)).as_millis()).expect("small")
}

/// (P40) A doubled timeout is kept over flights, in both versions.
#[test]
fn rule_family_p40_dtls_keeps_the_doubled_timeout_until_a_flight_is_clean() {
    for config in [Config::RFC6347, Config::RFC9147] {
        let mut timer = timer(config);
        let at = flight(&mut timer, 0, 2);
        assert_eq!(timer.timeout(), ms(4_000));
        let at = flight(&mut timer, at, 1);
        assert_eq!(timer.timeout(), ms(8_000));
        let at = flight(&mut timer, at, 9);
        assert_eq!(timer.timeout(), ms(60_000), "the cap");
        flight(&mut timer, at, 0);
        assert!(timer.timeout() <= ms(1_000));
    }
    let mut coap = timer(Config::RFC7252);
    flight(&mut coap, 0, 2);
    assert_eq!(coap.timeout(), ms(2_000), "each message for itself");
}

/// (P41) DTLS 1.2 goes back to its initial timeout.
#[test]
fn rule_family_p41_dtls_1_2_goes_back_to_a_second() {
    let mut timer = timer(Config::RFC6347);
    let at = flight(&mut timer, 0, 3);
    assert_eq!(timer.timeout(), ms(8_000));
    flight(&mut timer, at, 0);
    assert_eq!(timer.timeout(), ms(1_000));
}

/// (P42) DTLS 1.3 takes one and a half round trips, up or down, rounded up.
#[test]
fn rule_family_p42_dtls_1_3_takes_one_and_a_half_round_trips() {
    let after = |rtt: Duration| {
        let mut timer = sent(Config::RFC9147, 0);
        timer.handle_answered(rtt);
        timer.timeout()
    };
    assert_eq!(after(ms(100)), ms(150));
    assert_eq!(after(ms(900)), ms(1_350));
    assert_eq!(after(ms(1) + NANOSECOND), Duration::from_nanos(1_500_002));
    assert_eq!(after(ms(0)), ms(1));
    assert_eq!(
        after(Duration::from_nanos(666_667)),
        Duration::from_nanos(1_000_001)
    );
    assert_eq!(after(ms(40_001)), ms(60_000), "the cap");
    assert_eq!(after(Duration::MAX), ms(60_000));

    let mut timer = timer(Config::RFC9147);
    let at = flight(&mut timer, 0, 3);
    let at = flight(&mut timer, at, 0);
    timer.handle_sent(ms(at), 0);
    assert_eq!(timer.poll_timeout(), Some(ms(at + 150)));
}

/// (P43) Ten timeouts of idleness, and not a nanosecond less.
#[test]
fn rule_family_p43_dtls_starts_over_after_ten_timeouts_of_idleness() {
    for config in [Config::RFC6347, Config::RFC9147] {
        let begins_with = |idle: Duration| {
            let mut timer = timer(config);
            let end = ms(flight(&mut timer, 0, 2)); // it ends with 4 s
            timer.handle_sent(end + idle, 0);
            timer.poll_timeout().expect("it waits") - end - idle
        };
        assert_eq!(begins_with(ms(40_000) - NANOSECOND), ms(4_000));
        assert_eq!(begins_with(ms(40_000)), ms(1_000));
    }
    let mut small = sent(Config::RFC9147, 0);
    small.handle_answered(ms(20));
    small.handle_sent(ms(20 + 10 * 30), 0);
    assert_eq!(small.poll_timeout(), Some(ms(320 + 1_000)));
    let never = Config {
        stale_after: StaleAfter::Never,
        ..Config::RFC6347
    };
    let mut timer = timer(never);
    let end = flight(&mut timer, 0, 2);
    timer.handle_sent(ms(end + 4_000_000), 0);
    assert_eq!(timer.poll_timeout(), Some(ms(end + 4_004_000)));
}

/// (P44) The peer asks again: the flight leaves, the timer restarts, nothing doubles.
#[test]
fn rule_family_p44_a_flight_repeated_for_the_peer_restarts_the_timer() {
    let mut timer = sent(Config::RFC9147, 0);
    timer.handle_retransmitted(ms(400));
    assert_eq!(timer.poll_timeout(), Some(ms(1_400)));
    assert_eq!((timer.timeout(), timer.transmissions()), (ms(1_000), 1));
    retransmit(&mut timer, 1_400);
    timer.handle_retransmitted(ms(2_000));
    assert_eq!(timer.poll_timeout(), Some(ms(4_000)));

    let mut timer = sent(Config::RFC9147, 0);
    timer.handle_retransmitted(ms(400));
    let sample = timer.handle_answered(ms(500)).expect("it waited");
    assert_eq!(sample.rtt(), Err(Rejection::Retransmitted));
    assert_eq!(timer.timeout(), ms(1_000));
    timer.handle_retransmitted(ms(600)); // none waits
    assert_eq!(timer.poll_timeout(), None);
}

/// (P45) Each bad value has its error, which names value and rule; the edges are legal.
#[test]
fn rule_family_p45_bad_settings_are_refused_with_value_and_rule() {
    let dtls = Config::RFC9147;
    let above = Config::LIMIT + NANOSECOND;
    let with = |change: fn(&mut Config)| {
        let mut config = dtls;
        change(&mut config);
        config
    };
    let max_timeout = above;
    for (config, text) in [
        (
            with(|it| it.min_timeout = ms(0)),
            "min_timeout is 0: it must be positive (P45)",
        ),
        (
            Config {
                max_timeout,
                ..dtls
            },
            "max_timeout 140737.488355329s is above",
        ),
        (
            with(|it| it.min_timeout = ms(60_001)),
            "min_timeout 60.001s is above max_timeout 60s (P45)",
        ),
        (
            with(|it| it.initial_timeout = ms(60_001)),
            "initial_timeout 60.001s is not within 1ms to 60s (P45)",
        ),
        (
            with(|it| it.initial_timeout = Duration::ZERO),
            "initial_timeout 0ns is not within 1ms to 60s (P45)",
        ),
        (
            with(|it| it.spread = Ratio::new(1, 0)),
            "spread 1/0 has no denominator (P31)",
        ),
        (
            with(|it| it.next_timeout = NextTimeout::RoundTrip(Ratio::new(0, 2))),
            "next_timeout of 0/2 round trips is not positive (P42)",
        ),
        (
            with(|it| it.next_timeout = NextTimeout::RoundTrip(Ratio::new(3, 0))),
            "next_timeout of 3/0 round trips is not positive (P42)",
        ),
        (
            with(|it| it.stale_after = StaleAfter::Timeouts(9)),
            "stale_after 9 timeouts is below 10 (P43)",
        ),
    ] {
        let message = TransactionTimer::new(config).expect_err(text).to_string();
        assert!(message.contains(text), "{message}");
    }
    let max_timeout = Config::LIMIT;
    for config in [
        Config {
            max_timeout,
            ..dtls
        },
        with(|it| it.min_timeout = it.initial_timeout),
        with(|it| it.initial_timeout = it.max_timeout),
        with(|it| it.spread = Ratio::new(u16::MAX, 1)),
        with(|it| it.stale_after = StaleAfter::Idle(Duration::ZERO)),
    ] {
        assert!(TransactionTimer::new(config).is_ok(), "{config:?}");
    }
}

/// (P46) A late call is one expiry, and the next wait counts from it.
#[test]
fn rule_family_p46_a_late_call_is_one_expiry() {
    let mut timer = sent(Config::RFC7252, 0);
    assert!(timer.handle_timeout(ms(50_000)).is_some());
    assert_eq!(timer.handle_timeout(ms(50_000)), None);
    assert_eq!(timer.poll_timeout(), Some(ms(54_000)));
}

/// (P46) The end of the clock never comes, and the largest settings stay in range.
#[test]
fn rule_family_p46_sums_saturate() {
    let end = Duration::from_nanos(u64::MAX);
    let mut timer = timer(Config::RFC8489);
    timer.handle_sent(Duration::MAX, u64::MAX);
    assert_eq!(timer.poll_timeout(), Some(end));
    assert_eq!(timer.handle_timeout(Duration::MAX), None);

    let wide = Config {
        initial_timeout: Config::LIMIT,
        max_timeout: Config::LIMIT,
        spread: Ratio::new(u16::MAX, 1),
        transmissions: NonZeroU8::new(3),
        last_wait: LastWait::Times(NonZeroU32::MAX),
        ..Config::RFC7252
    };
    let schedule = wide.schedule(u64::MAX);
    assert_eq!(schedule.last_send(), Some(2 * Config::LIMIT));
    assert_eq!(schedule.fails_after(), Some(end));
}

/// (P47) A round trip known from elsewhere, one and a half times.
#[test]
fn rule_family_p47_dtls_1_3_begins_with_a_known_round_trip() {
    let known = ms(80); // from ICE, say
    let mut timer = timer(Config::RFC9147);
    timer.begin_with(ms(0), known * 3 / 2);
    timer.handle_sent(ms(100), 0);
    assert_eq!(timer.poll_timeout(), Some(ms(100 + 120)));
}

/// (P37) An estimator beside the timer: the answers feed it, it gives the next timeout.
#[test]
fn rule_family_p37_an_estimator_gives_the_next_timeout() {
    let mut estimator = Estimator::new(rto::Config {
        initial_rto: ms(500),
        min_rto: ms(500),
        ..rto::Config::RFC6298
    })
    .expect("legal");
    let mut timer = timer(Config::RFC8489);
    let mut now = ms(0);
    for rtt in [400, 400, 400] {
        timer.handle_sent(now, 0);
        now += ms(rtt);
        estimator.sample(timer.handle_answered(now).expect("it waited"));
        timer.begin_with(now, estimator.rto());
    }
    assert_eq!(
        timer.timeout(),
        Duration::from_micros(400_000 + 4 * 112_500)
    );
}

/// The line says how far the message has come and what it waits for.
#[test]
fn the_explanation_counts_transmissions() {
    let mut stun = sent(Config::RFC8489, 0);
    retransmit(&mut stun, 500);
    let line = |timer: &TransactionTimer, at| timer.explain(ms(at)).to_string();
    assert_eq!(
        line(&stun, 600),
        "transmission 2 of 7 waits 1 s, expires in 0.9 s"
    );
    assert_eq!(line(&stun, 1_500), "transmission 2 of 7 waits 1 s, due");
    stun.handle_answered(ms(700));
    assert_eq!(
        line(&stun, 700),
        "nothing waits, the next message begins with 0.5 s"
    );
    let mut dtls = sent(Config::RFC6347, 0);
    assert_eq!(line(&dtls, 0), "transmission 1 waits 1 s, expires in 1 s");
    retransmit(&mut dtls, 1_000);
    dtls.stop(ms(1_000));
    // The doubled timeout lasts for less than ten times as long (P43).
    for (at, begins_with) in [(20_999, "2 s"), (21_000, "1 s")] {
        let expected = format!("nothing waits, the next message begins with {begins_with}");
        assert_eq!(line(&dtls, at), expected);
        let mut next = dtls;
        next.handle_sent(ms(at), 0);
        let waits = format!("transmission 1 waits {begins_with}, expires in {begins_with}");
        assert_eq!(line(&next, at), waits);
    }
}
