//! R1, R2, the user timeout, and the preview: T7 to T10.

use rto::{Expiry, GiveUp, Limit, Limits, Progress, Threshold};

use super::*;

fn limited(limits: Limits) -> RetransmitTimer {
    RetransmitTimer::new(fed(Config::RFC6298, &[])).with_limits(limits)
}

/// The expiries of data sent at 0 until the timer gives up, in ms, and the end.
fn run(mut timer: RetransmitTimer) -> (Vec<(u64, Expiry)>, u64, GiveUp) {
    let mut expiries = Vec::new();
    loop {
        let at = timer.poll_timeout().expect("it runs");
        assert_eq!(timer.handle_timeout(at - NANOSECOND), None, "early");
        let at_ms = u64::try_from(at.as_millis()).expect("small");
        match timer.handle_timeout(at) {
            Some(Timeout::Retransmit(expiry)) => expiries.push((at_ms, expiry)),
            Some(Timeout::GiveUp(give_up)) => {
                assert_eq!(timer.poll_timeout(), None, "it is over");
                return (expiries, at_ms, give_up);
            }
            None => panic!("due at {at:?}"),
        }
    }
}

fn sent(mut timer: RetransmitTimer) -> RetransmitTimer {
    timer.handle_sent(ms(0));
    timer
}

/// (T7) R1 is told with the expiry that reaches it, and once.
#[test]
fn rule_family_t7_r1_is_told_once() {
    let r1_at = |r1| {
        let limits = Limits {
            r1,
            ..Limits::RFC9293
        };
        let (expiries, _, _) = run(sent(limited(limits)));
        let told = expiries.into_iter().filter(|(_, expiry)| expiry.r1);
        told.map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(r1_at(Threshold::Retransmissions(3)), [7_000]);
    assert_eq!(r1_at(Threshold::After(ms(10_000))), [15_000]);
    assert_eq!(r1_at(Threshold::After(ms(15_000))), [15_000]); // both sides of the instant
    assert_eq!(r1_at(Threshold::After(ms(15_001))), [31_000]);
    assert_eq!(r1_at(Threshold::Never), [0; 0]);
}

/// (T7) The peer answers: R1 may be reached again.
#[test]
fn rule_family_t7_an_ack_of_new_data_begins_the_count_anew() {
    let mut timer = expired(limited(Limits::RFC9293), &[1_000, 3_000, 7_000]);
    timer.handle_acked(ms(7_100), Progress::None, None); // a duplicate does not
    assert_eq!(timer.poll_timeout(), Some(ms(15_000)));
    timer.handle_acked(ms(7_200), Progress::Some, Some(rtt(100)));
    let r1: Vec<_> = [1_000, 3_000, 7_000]
        .map(|after| match timer.handle_timeout(ms(7_200 + after)) {
            Some(Timeout::Retransmit(expiry)) => expiry.r1,
            other => panic!("{other:?}"),
        })
        .into();
    assert_eq!(r1, [false, false, true]);
}

/// (T8) R2 of 100 s closes a connection at 123 s; of a SYN, 180 s, at 183 s.
#[test]
fn rule_family_t8_r2_gives_up_at_the_expiry_that_reaches_it() {
    let (expiries, at, give_up) = run(sent(limited(Limits::RFC9293)));
    assert_eq!(expiries.len(), 6);
    assert_eq!(at, 123_000);
    let expected = GiveUp {
        limit: Limit::R2,
        retransmissions: 6,
        elapsed: ms(123_000),
    };
    assert_eq!(give_up, expected);

    let mut syn = limited(Limits::RFC9293);
    syn.handle_handshake_sent(ms(0));
    assert_eq!(run(syn).1, 183_000);

    let r2 = Threshold::Retransmissions(4);
    let (expiries, at, give_up) = run(sent(limited(Limits { r2, ..Limits::NONE })));
    assert_eq!(
        (expiries.len(), at, give_up.retransmissions),
        (4, 31_000, 4)
    );
}

/// (T8) What the limits count survives a stop and ends with the connection.
#[test]
fn rule_family_t8_a_stop_does_not_begin_the_count_anew() {
    let r2 = Threshold::After(ms(6_000));
    let mut timer = expired(limited(Limits { r2, ..Limits::NONE }), &[1_000]);
    timer.stop(ms(1_500));
    timer.handle_sent(ms(4_000));
    let timeout = timer.handle_timeout(ms(4_000 + 2_000));
    assert!(matches!(timeout, Some(Timeout::GiveUp(_))), "{timeout:?}");
    // Nor does one before the first expiry.
    let mut timer = sent(limited(Limits { r2, ..Limits::NONE }));
    timer.stop(ms(500));
    timer.handle_sent(ms(4_000));
    assert!(timer.handle_timeout(ms(5_000)).is_some());
    let timeout = timer.handle_timeout(ms(7_000));
    let Some(Timeout::GiveUp(give_up)) = timeout else {
        panic!("{timeout:?}");
    };
    assert_eq!(give_up.elapsed, ms(7_000));
    // What is sent after that is another matter.
    timer.handle_sent(ms(7_000));
    let timeout = timer.handle_timeout(ms(9_000));
    assert!(
        matches!(timeout, Some(Timeout::Retransmit(_))),
        "{timeout:?}"
    );
}

/// (T8) Time counts from the earliest outstanding send where it is known.
#[test]
fn rule_family_t8_time_counts_from_the_earliest_send() {
    let r2 = Threshold::After(ms(5_000));
    let given_up_at = |progress| {
        let mut timer = sent(limited(Limits { r2, ..Limits::NONE }));
        timer.handle_acked(ms(900), progress, Some(rtt(900)));
        run(timer).1
    };
    // RTO 2.7 s: expiries 2.7 and 8.1 s after the start that counts.
    assert_eq!(given_up_at(Progress::Some), 900 + 8_100);
    assert_eq!(given_up_at(Progress::SomeSince(ms(100))), 100 + 8_100);
}

/// (T9) The user timeout bounds the deadline, not the RTO.
#[test]
fn rule_family_t9_the_user_timeout_clamps_the_timer_and_not_the_rto() {
    let with = |timeout: u64| {
        let user_timeout = Some(ms(timeout));
        sent(limited(Limits {
            user_timeout,
            ..Limits::RFC9293
        }))
    };
    for (timeout, expiries, end) in [
        (3_000, 1, 3_000),
        (2_500, 1, 2_500),
        (500, 0, 500),
        (3_001, 2, 3_001),
    ] {
        let (got, at, give_up) = run(with(timeout));
        assert_eq!((got.len(), at), (expiries, end), "{timeout}");
        assert_eq!(give_up.limit, Limit::UserTimeout);
        assert_eq!(give_up.elapsed, ms(timeout));
    }
    let mut timer = with(2_500);
    assert!(timer.handle_timeout(ms(1_000)).is_some());
    assert_eq!(timer.poll_timeout(), Some(ms(2_500)));
    assert_eq!(timer.estimator().rto(), ms(2_000)); // as without it
}

/// (T9) A user timeout that changes holds at once, also for a running timer: one that is lifted
/// leaves no deadline behind that would come before the RTO is over (5-1).
#[test]
fn rule_family_t9_a_changed_user_timeout_holds_at_once() {
    let limits = |timeout: u64| Limits {
        user_timeout: Some(ms(timeout)),
        ..Limits::NONE
    };
    let timer = expired(limited(limits(2_500)), &[1_000]);
    for (changed, deadline) in [
        (Limits::NONE, 3_000),
        (limits(10_000), 3_000),
        (limits(2_200), 2_200),
        (limits(500), 500), // long over
    ] {
        assert_eq!(timer.poll_timeout(), Some(ms(2_500)));
        let mut timer = timer.with_limits(changed);
        assert_eq!(timer.poll_timeout(), Some(ms(deadline)), "{changed:?}");
        let timeout = timer.handle_timeout(ms(2_500));
        match deadline {
            3_000 => assert_eq!(timeout, None, "{changed:?}"),
            _ => assert!(matches!(timeout, Some(Timeout::GiveUp(_))), "{timeout:?}"),
        }
    }
}

/// (T10) The preview is what the timer then does.
#[test]
fn rule_family_t10_the_schedule_is_known_beforehand() {
    let seconds = [1, 3, 7, 15, 31, 63, 123, 183, 243].map(|s| ms(s * 1_000));
    let estimator = fed(Config::RFC6298, &[]);
    assert!(estimator.schedule().take(9).eq(seconds));

    let mut timer = sent(RetransmitTimer::new(fed(BARE, &[600])));
    for at in fed(BARE, &[600]).schedule().take(60) {
        assert_eq!(timer.poll_timeout(), Some(at));
        let _ = timer.handle_timeout(at);
    }
}
