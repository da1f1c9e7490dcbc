//! What the server's first bytes make of an attempt (S11), and when (S5).

use super::{TARGET, call, endpoint, over, retry_delay, settled, virtual_now};
use conformance::time::{ms, s};
use grpc_backoff::{State, Wait};
use grpc_faults::{Fault, GoAway, Memory};
use std::time::Duration;
use tokio::time::sleep_until;
use tonic::Code;

/// What a channel to a server with this fault is doing after so long, in words, and the dials.
async fn after(time: Duration, fault: Fault) -> (String, Vec<Duration>) {
    let server = Memory::new(fault);
    let channel = over(&server)
        .channel(TARGET.parse().expect("a URI"))
        .expect("valid");
    sleep_until(virtual_now() + time).await;
    (channel.status().to_string(), server.starts())
}

#[tokio::test(start_paused = true)]
async fn settings_byte_by_byte_is_acceptance_at_its_ninth_byte() {
    let fault = Fault::SettingsByteByByte(s(1));
    let (status, starts) = after(ms(8_999), fault).await;
    assert_eq!((&*status, starts), ("CONNECTING", vec![s(0)]));
    let (status, starts) = after(ms(9_001), fault).await;
    assert_eq!((&*status, starts), ("READY", vec![s(0)]));
}

#[tokio::test(start_paused = true)]
async fn late_settings_count_until_the_connect_deadline() {
    let (status, starts) = after(ms(19_999), Fault::SettingsLate(ms(19_998))).await;
    assert_eq!((&*status, starts), ("READY", vec![s(0)]));
    let (status, starts) = after(ms(20_500), Fault::SettingsLate(ms(20_001))).await;
    let told = "CONNECTING after 1 failure; last: no SETTINGS within 20 s";
    assert_eq!((&*status, starts), (told, vec![s(0), s(20)]));
}

#[tokio::test(start_paused = true)]
async fn another_first_frame_is_a_failed_attempt_that_says_what_came() {
    let (status, starts) = after(ms(500), Fault::WrongFirstFrame).await;
    let told = "TRANSIENT_FAILURE after 1 failure; last: SETTINGS: the first bytes, \
                00 00 08 06 00 00 00 00 00, begin no SETTINGS frame (S11); next attempt in 0.5 s";
    assert_eq!((&*status, starts), (told, vec![s(0)]));

    let (status, _) = after(ms(500), Fault::AcceptThenClose).await;
    assert!(
        status.contains("last: SETTINGS: closed before SETTINGS (S11)"),
        "{status}"
    );
    let (status, _) = after(ms(500), Fault::Http1).await;
    assert!(
        status.contains("the first bytes, 48 54 54 50 2f 31 2e 31 20"),
        "{status}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_accepts_and_closes_is_dialled_as_a_closed_port_is() {
    for fault in [
        Fault::Refuse,
        Fault::AcceptThenClose,
        Fault::WrongFirstFrame,
    ] {
        let (_, starts) = after(s(16), fault).await;
        // Tokio wakes at whole milliseconds.
        assert_eq!(
            starts,
            [0, 1_000, 2_600, 5_160, 9_256, 15_810].map(ms),
            "{fault:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_black_hole_is_dialled_at_its_connect_deadlines() {
    let (_, starts) = after(s(61), Fault::BlackHole).await;
    assert_eq!(starts, [0, 20, 40, 60].map(s));
}

/// (D13) A server behind a protocol sniffer says SETTINGS after the first request: the call goes
/// out before, and the reset waits for SETTINGS.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d13_calls_do_not_wait_for_settings_and_the_reset_does() {
    let server = Memory::new(Fault::SettingsAfterRequest);
    let channel = over(&server)
        .channel(TARGET.parse().expect("a URI"))
        .expect("valid");
    settled().await;
    assert!(matches!(channel.status().state, State::Connecting { .. }));
    call(&mut channel.clone()).await.expect("it answers");
    assert!(matches!(channel.status().state, State::Ready { .. }));

    let mut tonic = over(&server).build().expect("valid").lazy(endpoint());
    call(&mut tonic).await.expect("it answers");
}

/// (D13) Until SETTINGS a call is under way on a connection that may never be accepted. It fails
/// with the attempt.
#[tokio::test(start_paused = true)]
async fn a_call_to_a_black_hole_fails_with_the_attempt() {
    let server = Memory::new(Fault::BlackHole);
    let channel = over(&server)
        .channel(TARGET.parse().expect("a URI"))
        .expect("valid");
    let begun = virtual_now();
    let failed = call(&mut channel.calls(Wait::FailFast))
        .await
        .expect_err("no answer");
    assert_eq!(begun.elapsed(), s(20));
    assert_eq!(failed.code(), Code::Unavailable, "{failed}");
    assert!(
        failed
            .message()
            .contains("no SETTINGS by the connect deadline"),
        "{failed}"
    );
    assert_eq!(
        retry_delay(&failed),
        Some(s(0)),
        "the next attempt is in flight"
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_a_loss_and_the_next_one_follows_by_itself() {
    let up = s(5);
    for fault in [
        Fault::SettingsThenClose(up),
        Fault::GoAway(GoAway::MaxAge, up),
        Fault::GoAway(GoAway::TooManyPings, up),
    ] {
        let (status, starts) = after(ms(12_500), fault).await;
        assert_eq!(
            (&*status, starts),
            ("READY", [0, 5, 10].map(s).to_vec()),
            "{fault:?}"
        );
    }
}
