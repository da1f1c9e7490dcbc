//! QUIC's probe timeout: P1 to P19.

use rto::{
    Outcome, Progress, Rejection,
    quic::{Pause, Probe, ProbeTimer, RoundTrip, Space},
};

use super::*;

const INITIAL: Space = Space::Initial;
const HANDSHAKE: Space = Space::Handshake;
const DATA: Space = Space::ApplicationData;

fn client() -> ProbeTimer {
    ProbeTimer::client(fed(Config::RFC9002, &[]))
}

fn server() -> ProbeTimer {
    ProbeTimer::server(fed(Config::RFC9002, &[]))
}

/// A round trip and the delay that its ACK states, in ms.
fn round_trip(rtt_ms: u64, delay_ms: u64) -> Option<RoundTrip> {
    Some(RoundTrip {
        latest: rtt(rtt_ms),
        ack_delay: ms(delay_ms),
    })
}

/// A server, its handshake confirmed at 0 by a peer that delays its ACKs by so much at most.
fn confirmed(max_ack_delay: u64) -> ProbeTimer {
    let mut timer = server();
    timer.handle_confirmed(ms(max_ack_delay));
    timer
}

/// The samples that come of these round trips with their delays.
fn samples(mut timer: ProbeTimer, space: Space, round_trips: &[(u64, u64)]) -> Estimator {
    for &(rtt, delay) in round_trips {
        timer.handle_acked(ms(0), space, Progress::All, round_trip(rtt, delay));
    }
    *timer.estimator()
}

/// The estimate is that of these samples.
#[track_caller]
fn assert_samples(estimator: Estimator, rtts_ms: &[u64]) {
    let expected = fed(Config::RFC9002, rtts_ms);
    let shown = |it: Estimator| (it.srtt(), it.rttvar(), it.rto());
    assert_eq!(shown(estimator), shown(expected));
}

fn expire(timer: &mut ProbeTimer, at: u64) -> Probe {
    assert_eq!(timer.handle_timeout(ms(at) - NANOSECOND), None, "early");
    timer.handle_timeout(ms(at)).expect("due")
}

fn spaces(probe: Probe) -> Vec<Space> {
    probe.spaces().collect()
}

/// (P1) An ACK of nothing new gives no sample, ends no back-off and moves no deadline.
#[test]
fn rule_family_p1_an_ack_of_nothing_new_changes_nothing() {
    let mut timer = server();
    timer.handle_sent(ms(0), HANDSHAKE);
    expire(&mut timer, 999);
    let before = timer;
    let outcome = timer.handle_acked(ms(1_000), HANDSHAKE, Progress::None, round_trip(50, 0));
    assert_eq!(outcome, None);
    assert_eq!(timer, before);
}

/// (P1) An ACK without a round trip gives none, and one from before the send is refused.
#[test]
fn rule_family_p1_only_a_valid_round_trip_is_a_sample() {
    let mut timer = server();
    timer.handle_sent(ms(0), HANDSHAKE);
    assert_eq!(
        timer.handle_acked(ms(9), HANDSHAKE, Progress::Some, None),
        None
    );
    assert_eq!((timer.min_rtt(), timer.estimator().srtt()), (None, None));

    let back = RoundTrip {
        latest: Sample::of_transmission(ms(10), ms(9)),
        ack_delay: ms(0),
    };
    let outcome = timer.handle_acked(ms(9), HANDSHAKE, Progress::All, Some(back));
    assert_eq!(outcome, Some(Outcome::Rejected(Rejection::AckBeforeSend)));
    assert_eq!((timer.min_rtt(), timer.estimator().srtt()), (None, None));
    assert_eq!(timer.poll_timeout(), None); // it was an ACK all the same
}

/// (P2) The least round trip is as measured, whatever the peer says of its delay.
#[test]
fn rule_family_p2_min_rtt_is_the_least_with_its_delay() {
    let mut timer = confirmed(100);
    let mut after = |rtt, delay| {
        timer.handle_acked(ms(0), DATA, Progress::All, round_trip(rtt, delay));
        (timer.min_rtt(), timer.latest_rtt())
    };
    assert_eq!(after(120, 0), (Some(ms(120)), Some(ms(120))));
    assert_eq!(after(150, 20), (Some(ms(120)), Some(ms(150))));
    assert_eq!(after(110, 100), (Some(ms(110)), Some(ms(110))));
}

/// (P3) Nothing is subtracted from the first sample.
#[test]
fn rule_family_p3_the_first_sample_is_whole() {
    assert_samples(samples(confirmed(100), DATA, &[(120, 50)]), &[120]);
}

/// (P4) ACKs of Initial packets come at once: what they state does not count.
#[test]
fn rule_family_p4_the_delay_of_initial_packets_is_ignored() {
    let round_trips = [(100, 0), (160, 20)];
    assert_samples(samples(server(), INITIAL, &round_trips), &[100, 160]);
    assert_samples(samples(server(), HANDSHAKE, &round_trips), &[100, 140]);
}

/// (P5) Confirmed, the peer's promise bounds what it states; before, there is none.
#[test]
fn rule_family_p5_a_stated_delay_is_capped_once_the_handshake_is_confirmed() {
    let round_trips = [(100, 0), (160, 40)];
    assert_samples(samples(server(), DATA, &round_trips), &[100, 120]);
    assert_samples(samples(confirmed(40), DATA, &round_trips), &[100, 120]);
    assert_samples(samples(confirmed(39), DATA, &round_trips), &[100, 121]);
    assert_samples(samples(confirmed(0), DATA, &round_trips), &[100, 160]);
}

/// (P6) A delay counts only if the least round trip remains, both sides of the edge.
#[test]
fn rule_family_p6_a_delay_is_subtracted_if_min_rtt_remains() {
    for (rtt, delay, sample) in [
        (110, 10, 100), // exactly
        (109, 10, 109),
        (111, 10, 101),
        (100, 500, 100), // more than all of it
        (90, 1, 90),     // a new least round trip
    ] {
        let got = samples(confirmed(1_000), DATA, &[(100, 0), (rtt, delay)]);
        assert_samples(got, &[100, sample]);
    }
    let endless = RoundTrip {
        latest: rtt(200),
        ack_delay: Duration::MAX,
    };
    let mut timer = server();
    timer.handle_acked(ms(0), DATA, Progress::All, round_trip(100, 0));
    timer.handle_acked(ms(0), DATA, Progress::All, Some(endless));
    assert_samples(*timer.estimator(), &[100, 200]);
}

/// (P7) The newest round trip is the least one from now on, though it is larger.
#[test]
fn rule_family_p7_persistent_congestion_forgets_the_least() {
    let mut timer = confirmed(100);
    timer.handle_persistent_congestion();
    assert_eq!(timer.min_rtt(), None);
    timer.handle_acked(ms(0), DATA, Progress::All, round_trip(100, 0));
    timer.handle_acked(ms(0), DATA, Progress::All, round_trip(300, 0));
    timer.handle_persistent_congestion();
    assert_eq!(timer.min_rtt(), Some(ms(300)));
    timer.handle_acked(ms(0), DATA, Progress::All, round_trip(320, 50));
    assert_samples(*timer.estimator(), &[100, 300, 320]); // 270 would be below it
}

/// (P8) The timeout before any sample, with one, with a small variance, and doubled.
#[test]
fn rule_family_p8_the_timeout_is_srtt_and_its_variance_and_the_delay_of_data() {
    let mut timer = confirmed(25);
    assert_eq!(timer.pto(INITIAL), ms(3 * 333));
    assert_eq!(timer.pto(DATA), ms(3 * 333 + 25));

    timer.handle_acked(ms(0), DATA, Progress::All, round_trip(100, 0));
    assert_eq!(timer.pto(INITIAL), ms(100 + 4 * 50));
    assert_eq!(timer.pto(HANDSHAKE), ms(100 + 4 * 50));
    assert_eq!(timer.pto(DATA), ms(100 + 4 * 50 + 25));

    timer.handle_sent(ms(0), DATA);
    expire(&mut timer, 325);
    assert_eq!(timer.pto(INITIAL), 2 * ms(100 + 4 * 50));
    assert_eq!(timer.pto(DATA), 2 * ms(100 + 4 * 50 + 25)); // the delay doubles too

    let mut close = server();
    close.handle_acked(ms(0), DATA, Progress::All, round_trip(0, 0));
    assert_eq!(
        close.pto(DATA),
        ms(1),
        "G; and no delay before the confirmation"
    );
}

/// (P9) Every send moves the deadline of its space, every ACK counts from the last send.
#[test]
fn rule_family_p9_the_timeout_counts_from_the_last_send() {
    let mut timer = server();
    timer.handle_sent(ms(0), HANDSHAKE);
    timer.handle_sent(ms(50), HANDSHAKE);
    assert_eq!(timer.poll_timeout(), Some(ms(50 + 999)));
    timer.handle_acked(ms(100), HANDSHAKE, Progress::Some, round_trip(100, 0));
    assert_eq!(timer.poll_timeout(), Some(ms(50 + 300)));
    timer.handle_acked(ms(150), HANDSHAKE, Progress::All, round_trip(100, 0));
    assert_eq!(timer.poll_timeout(), None);
}

/// (P9) Without an ACK, packets may leave the flight: the timer has nothing to wait for.
#[test]
fn rule_family_p9_packets_declared_lost_are_not_waited_for() {
    let mut timer = confirmed(25);
    timer.handle_sent(ms(0), DATA);
    timer.handle_none_in_flight(ms(10), DATA);
    assert_eq!(timer.poll_timeout(), None);
    timer.handle_none_in_flight(ms(10), DATA); // again: nothing
    timer.handle_sent(ms(20), DATA);
    assert_eq!(timer.poll_timeout(), Some(ms(20 + 999 + 25)));
}

/// (P10) The earliest space counts; Application Data not before the confirmation.
#[test]
fn rule_family_p10_the_earliest_space_sets_the_timer() {
    let mut timer = server();
    timer.handle_sent(ms(0), DATA);
    assert_eq!(timer.poll_timeout(), None);
    assert_eq!(timer.handle_timeout(ms(60_000)), None);
    timer.handle_sent(ms(20), HANDSHAKE);
    timer.handle_sent(ms(10), INITIAL);
    assert_eq!(timer.poll_timeout(), Some(ms(10 + 999)));
    timer.handle_acked(ms(100), INITIAL, Progress::All, None);
    assert_eq!(timer.poll_timeout(), Some(ms(20 + 999)));
    timer.handle_confirmed(ms(19));
    assert_eq!(timer.poll_timeout(), Some(ms(999 + 19)));
    assert_eq!(expire(&mut timer, 1_018).space, DATA);
}

/// (P11) One space expires: a probe in it, and everything waits twice as long.
#[test]
fn rule_family_p11_an_expiry_asks_for_a_probe_and_doubles() {
    let mut timer = server();
    timer.handle_sent(ms(0), INITIAL);
    timer.handle_sent(ms(10), HANDSHAKE);
    let probe = expire(&mut timer, 999);
    assert_eq!((probe.space, probe.pto_count), (INITIAL, 1));
    assert!(!probe.anti_deadlock);
    assert_eq!(spaces(probe), [INITIAL]);
    timer.handle_sent(ms(999), INITIAL);
    assert_eq!(timer.poll_timeout(), Some(ms(10 + 2 * 999)));
}

/// (P11) Two spaces expire in one call: twice as long, not four times.
#[test]
fn rule_family_p11_spaces_that_expire_together_double_once() {
    let mut timer = server();
    timer.handle_sent(ms(1), INITIAL);
    timer.handle_sent(ms(0), HANDSHAKE);
    let probe = timer.handle_timeout(ms(1_000)).expect("both are due");
    assert_eq!((probe.space, probe.pto_count), (HANDSHAKE, 1));
    assert_eq!(spaces(probe), [INITIAL, HANDSHAKE]);
    assert_eq!(timer.handle_timeout(ms(1_000)), None);
    assert_eq!(timer.poll_timeout(), Some(ms(1_000 + 2 * 999)));
}

/// (P12) An ACK without a sample ends the back-off, of a server at once.
#[test]
fn rule_family_p12_any_ack_ends_the_back_off() {
    let mut timer = server();
    timer.handle_sent(ms(0), INITIAL);
    expire(&mut timer, 999);
    timer.handle_sent(ms(999), INITIAL);
    timer.handle_acked(ms(1_000), INITIAL, Progress::Some, None);
    assert_eq!(timer.pto_count(), 0);
    assert_eq!(timer.poll_timeout(), Some(ms(999 + 999)));
}

/// (P12) A client waits for a Handshake ACK or the confirmation.
#[test]
fn rule_family_p12_a_client_keeps_the_back_off_until_its_address_is_valid() {
    let backed_off = || {
        let mut timer = client();
        timer.handle_sent(ms(0), INITIAL);
        expire(&mut timer, 999);
        timer.handle_sent(ms(999), INITIAL);
        timer.handle_acked(ms(1_099), INITIAL, Progress::Some, round_trip(100, 0));
        assert_eq!(timer.pto_count(), 1);
        assert_eq!(timer.poll_timeout(), Some(ms(999 + 2 * 300))); // the sample counts
        timer
    };
    let mut timer = backed_off();
    timer.handle_acked(ms(1_100), DATA, Progress::Some, None); // of 0-RTT: proves nothing
    assert_eq!(timer.pto_count(), 1);
    timer.handle_acked(ms(1_100), HANDSHAKE, Progress::Some, None);
    assert_eq!(timer.pto_count(), 0);

    let mut timer = backed_off();
    timer.handle_confirmed(ms(25));
    assert_eq!(timer.pto_count(), 1, "no ACK yet");
    timer.handle_acked(ms(1_100), INITIAL, Progress::Some, None);
    assert_eq!(timer.pto_count(), 0);
}

/// (P13) With nothing in flight a client probes with what keys it has.
#[test]
fn rule_family_p13_a_client_with_nothing_in_flight_keeps_the_server_going() {
    let acked = |mut timer: ProbeTimer| {
        assert_eq!(timer.poll_timeout(), None, "nothing was sent yet");
        timer.handle_sent(ms(0), INITIAL);
        timer.handle_acked(ms(100), INITIAL, Progress::All, round_trip(100, 0));
        timer
    };
    assert_eq!(acked(server()).poll_timeout(), None);

    let mut timer = acked(client());
    let probe = expire(&mut timer, 100 + 300);
    assert_eq!((spaces(probe), probe.anti_deadlock), (vec![INITIAL], true));
    assert_eq!(timer.poll_timeout(), Some(ms(400 + 2 * 300)));

    timer.handle_handshake_keys();
    let probe = expire(&mut timer, 1_000);
    assert_eq!((probe.space, probe.pto_count), (HANDSHAKE, 2));
    timer.handle_sent(ms(1_000), HANDSHAKE);
    assert!(!expire(&mut timer, 1_000 + 4 * 300).anti_deadlock);
    timer.handle_acked(ms(2_300), HANDSHAKE, Progress::All, None);
    assert_eq!(timer.poll_timeout(), None); // now it knows

    let mut timer = acked(client());
    timer.handle_confirmed(ms(25));
    assert_eq!(timer.poll_timeout(), None);
}

/// (P13) Initial keys are discarded for Handshake keys: those are what it probes with.
#[test]
fn rule_family_p13_without_initial_keys_the_probe_is_a_handshake_packet() {
    let mut timer = client();
    timer.handle_sent(ms(0), INITIAL);
    timer.handle_discarded(ms(100), INITIAL);
    let probe = expire(&mut timer, 100 + 999);
    assert_eq!((probe.space, probe.anti_deadlock), (HANDSHAKE, true));
    timer.handle_none_in_flight(ms(1_200), INITIAL);
    assert_eq!(timer.poll_timeout(), Some(ms(1_099 + 2 * 999)));
    timer.handle_discarded(ms(1_300), HANDSHAKE);
    assert_eq!(timer.poll_timeout(), None);
}

/// (P14) Each reason holds the timer back by itself; a deadline that passes is due afterwards.
#[test]
fn rule_family_p14_a_pause_holds_the_timer_back_and_does_not_move_it() {
    let mut timer = server();
    timer.handle_sent(ms(0), HANDSHAKE);
    timer.handle_paused(Pause::AmplificationLimit);
    timer.handle_paused(Pause::LossTimer);
    timer.handle_resumed(ms(10), Pause::LossTimer);
    assert_eq!(timer.poll_timeout(), None);
    assert_eq!(timer.handle_timeout(ms(1_500)), None);
    timer.handle_resumed(ms(1_500), Pause::AmplificationLimit);
    assert_eq!(timer.poll_timeout(), Some(ms(999)));
    assert!(timer.handle_timeout(ms(1_500)).is_some());
    assert_eq!(timer.poll_timeout(), Some(ms(1_500 + 2 * 999)));
}

/// (P14) A client's own probe counts from the end of the pause, when its timer is set.
#[test]
fn rule_family_p14_a_resumed_client_counts_from_then() {
    let mut timer = client();
    timer.handle_sent(ms(0), INITIAL);
    timer.handle_acked(ms(100), INITIAL, Progress::All, round_trip(100, 0));
    timer.handle_resumed(ms(150), Pause::LossTimer); // it was not paused
    assert_eq!(timer.poll_timeout(), Some(ms(100 + 300)));
    timer.handle_paused(Pause::LossTimer);
    assert_eq!(timer.poll_timeout(), None);
    timer.handle_resumed(ms(200), Pause::LossTimer);
    assert_eq!(timer.poll_timeout(), Some(ms(200 + 300)));
}

/// (P15) What was sent under discarded keys is forgotten, and so is the back-off.
#[test]
fn rule_family_p15_discarded_keys_end_flight_and_back_off() {
    let mut timer = server();
    timer.handle_sent(ms(0), INITIAL);
    timer.handle_sent(ms(500), HANDSHAKE);
    expire(&mut timer, 999);
    timer.handle_discarded(ms(1_000), INITIAL);
    assert_eq!(timer.pto_count(), 0);
    assert_eq!(timer.poll_timeout(), Some(ms(500 + 999)));

    // Nothing happens in that space any more.
    expire(&mut timer, 500 + 999);
    let before = timer;
    timer.handle_sent(ms(1_500), INITIAL);
    timer.handle_acked(ms(1_500), INITIAL, Progress::All, round_trip(9, 0));
    timer.handle_none_in_flight(ms(1_500), INITIAL);
    timer.handle_discarded(ms(1_500), INITIAL);
    timer.handle_discarded(ms(1_500), DATA); // those keys stay
    assert_eq!(timer, before);
}

/// (P16) After a Retry the client begins again: no timer until it has sent.
#[test]
fn rule_family_p16_a_retry_starts_over() {
    let mut timer = client();
    timer.handle_sent(ms(0), INITIAL);
    timer.handle_sent(ms(0), DATA);
    expire(&mut timer, 999);
    timer.handle_retry();
    assert_eq!((timer.pto_count(), timer.poll_timeout()), (0, None));
    timer.handle_confirmed(ms(25));
    assert_eq!(timer.poll_timeout(), None, "0-RTT is void too");

    let mut timer = client();
    timer.handle_retry();
    timer.handle_sent(ms(1_100), INITIAL);
    assert_eq!(timer.poll_timeout(), Some(ms(1_100 + 999)));
}

/// (P16) A new path knows no round trip; what is in flight stays.
#[test]
fn rule_family_p16_a_new_path_begins_without_samples() {
    let mut timer = confirmed(25);
    timer.handle_acked(ms(0), DATA, Progress::All, round_trip(100, 0));
    timer.handle_sent(ms(0), DATA);
    expire(&mut timer, 325);
    timer.handle_new_path(fed(Config::RFC9002, &[]));
    assert_eq!((timer.min_rtt(), timer.latest_rtt()), (None, None));
    assert_eq!(timer.poll_timeout(), Some(ms(325 + 2 * (999 + 25))));
    timer.handle_acked(ms(900), DATA, Progress::All, round_trip(400, 300));
    assert_samples(*timer.estimator(), &[400]);
}

/// (P17) However late, one expiry; the next deadline is a whole timeout after it.
#[test]
fn rule_family_p17_a_late_call_is_one_expiry() {
    let mut timer = server();
    timer.handle_sent(ms(0), HANDSHAKE);
    assert!(timer.handle_timeout(ms(60_000)).is_some());
    assert_eq!(timer.handle_timeout(ms(60_000)), None);
    assert_eq!(timer.poll_timeout(), Some(ms(60_000 + 2 * 999)));
    timer.handle_sent(ms(60_005), HANDSHAKE); // the probe, when it left
    assert_eq!(timer.poll_timeout(), Some(ms(60_005 + 2 * 999)));
}

/// (P18) Expiries without end: the timeout grows until the clock's end, where nothing comes.
#[test]
fn rule_family_p18_back_off_and_deadline_saturate() {
    let end = Duration::from_nanos(u64::MAX);
    let mut timer = server();
    timer.handle_sent(ms(0), HANDSHAKE);
    let mut last = timer.pto(HANDSHAKE);
    for n in 1..=40_u32 {
        let due = timer.poll_timeout().expect("in flight");
        if due == end {
            assert_eq!((n, timer.handle_timeout(Duration::MAX)), (35, None));
            break;
        }
        assert_eq!(timer.handle_timeout(due).expect("due").pto_count, n);
        assert_eq!(timer.pto(HANDSHAKE), (2 * last).min(end));
        last = timer.pto(HANDSHAKE);
    }
    // A count beyond the width of the clock: the instants are the host's to get wrong.
    let mut timer = server();
    for n in 1..=200 {
        timer.handle_sent(ms(0), HANDSHAKE);
        let now = Duration::from_nanos(u64::MAX - 1);
        let probe = timer.handle_timeout(now).is_some();
        assert_eq!(probe, n <= 35, "{n}");
    }
    assert_eq!(timer.pto(HANDSHAKE), end);
}

/// (P19) 0-RTT in flight and 0-RTT sent keep no client from its own probe.
#[test]
fn rule_family_p19_early_data_does_not_keep_a_client_from_probing() {
    let mut timer = client();
    timer.handle_sent(ms(0), INITIAL);
    timer.handle_sent(ms(0), DATA);
    timer.handle_acked(ms(100), INITIAL, Progress::All, round_trip(100, 0));
    timer.handle_sent(ms(350), DATA);
    let probe = expire(&mut timer, 100 + 300);
    assert_eq!((probe.space, probe.anti_deadlock), (INITIAL, true));
    assert_eq!(spaces(probe), [INITIAL]);
}

/// The line says which space expires, why then, and what holds it back.
#[test]
fn the_explanation_names_space_reason_and_time_left() {
    let mut timer = client();
    let line = |timer: &ProbeTimer, at| timer.explain(ms(at)).to_string();
    assert_eq!(line(&timer, 0), "no PTO: nothing is in flight");
    timer.handle_sent(ms(0), INITIAL);
    assert_eq!(
        line(&timer, 499),
        "PTO 999 ms for Initial = 999 ms initial, expires in 0.5 s"
    );
    timer.handle_acked(ms(100), INITIAL, Progress::All, round_trip(100, 0));
    timer.handle_handshake_keys();
    assert_eq!(
        line(&timer, 400),
        "PTO 300 ms for Handshake = SRTT 100 ms + 4 x 50 ms, nothing is in flight, due"
    );
    timer.handle_confirmed(ms(25));
    timer.handle_sent(ms(400), DATA);
    expire(&mut timer, 725);
    assert_eq!(
        line(&timer, 725),
        "PTO 650 ms for Application Data = 2 x (SRTT 100 ms + 4 x 50 ms + max_ack_delay 25 ms), \
         expires in 0.65 s"
    );
    timer.handle_paused(Pause::LossTimer);
    assert_eq!(line(&timer, 725), "no PTO while a loss timer is set");
    timer.handle_paused(Pause::AmplificationLimit);
    assert_eq!(line(&timer, 725), "no PTO at the anti-amplification limit");

    let mut early = server();
    early.handle_sent(ms(0), DATA);
    let why = "no PTO for Application Data before the handshake is confirmed";
    assert_eq!(line(&early, 0), why);
    let capped = Config {
        max_rto: ms(1_500),
        ..Config::RFC9002
    };
    let mut capped = ProbeTimer::server(fed(capped, &[]));
    capped.handle_sent(ms(0), HANDSHAKE);
    expire(&mut capped, 999);
    assert_eq!(
        line(&capped, 999),
        "PTO 1500 ms for Handshake = cap, expires in 1.5 s"
    );
    // A cap that is a multiple of the timeout is a cap all the same.
    let threefold = Config {
        max_rto: ms(3 * 999),
        ..Config::RFC9002
    };
    let mut capped = ProbeTimer::server(fed(threefold, &[]));
    capped.handle_sent(ms(0), HANDSHAKE);
    expire(&mut capped, 999);
    expire(&mut capped, 3 * 999);
    assert_eq!(
        line(&capped, 3 * 999),
        "PTO 2997 ms for Handshake = cap, expires in 3 s"
    );
}
