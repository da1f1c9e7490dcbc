//! What callers are told, and what a suspend does: the rules that only a driver can keep.

use super::{Server, client, limited, since, virtual_now};
use conformance::grpc::FAILING;
use conformance::time::{assert_close, ms, s};
use grpc_backoff::{
    Attempt, Config, Error, Failure, LastFailure, Phase, Reason, Reconnector, State,
};
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// (D14) The state, the last failure with its phase, the next attempt: in one piece, and in one
/// line.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_a_caller_is_told_the_state_the_last_failure_and_the_next_attempt() {
    let epoch = virtual_now();
    let times = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&times);
    let mut client = Reconnector::new(Config::GRPC, |attempt: Attempt| async move {
        attempt.enter(Phase::Tcp);
        sleep(ms(5)).await;
        attempt.enter(Phase::Tls);
        if attempt.id().get() == 0 {
            return Err(Failure::Retry("bad certificate"));
        }
        sleep(ms(5)).await;
        attempt.enter(Phase::Settings);
        pending::<Result<(), _>>().await
    })
    .expect("valid")
    .with_draws(conformance::draws::middle)
    .on_attempt(move |report| observed.lock().expect("sound").push(report.times));

    assert!(timeout(ms(500), client.connect()).await.is_err());
    let status = client.handle().status();
    assert!(matches!(status.state, State::TransientFailure { .. }));
    assert_eq!(status.failures, 1);
    let failed_in_tls = LastFailure {
        phase: Some(Phase::Tls),
        reason: Reason::Error("bad certificate".into()),
    };
    assert_eq!(status.last_failure, Some(failed_in_tls));
    assert_eq!(status.next_attempt_at, Some(epoch + s(1)));
    assert_eq!(
        status.to_string(),
        "TRANSIENT_FAILURE after 1 failure; last: TLS: bad certificate; next attempt in 0.5 s"
    );

    assert!(timeout(s(21), client.connect()).await.is_err());
    let failed = "; last: no SETTINGS within 20 s";
    assert!(client.handle().status().to_string().contains(failed));
    let times = times.lock().expect("sound");
    let times: Vec<Vec<_>> = times.iter().map(|times| times.iter().collect()).collect();
    let (tcp, tls) = ((Phase::Tcp, ms(5)), (Phase::Tls, ms(5)));
    assert_eq!(times[0], [tcp, (Phase::Tls, ms(0))]);
    assert_eq!(times[1], [tcp, tls, (Phase::Settings, s(20) - ms(10))]);
}

/// (D16) Case 30: waiting for 110 s more, and the system sleeps for an hour.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d16_after_a_suspend_an_attempt_starts_within_15_s_of_a_slice() {
    let suspended = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&suspended);
    let (client, reports) = client(Config::GRPC, [Server::Refuses]);
    let mut client =
        client.with_suspend_clock(move || Duration::from_secs(clock.load(Ordering::Relaxed)));
    let epoch = virtual_now();
    // At 411.5 s begins a wait of 120 s, in slices; the caller waits through all of it.
    tokio::spawn(async move {
        sleep(ms(411_536 + 10_000)).await;
        suspended.store(3_600, Ordering::Relaxed);
    });
    assert!(timeout(ms(449_500), client.connect()).await.is_err());
    let starts = since(epoch, &reports);
    let (slice, dispersed) = (s(30), ms(7_500)); // by a draw in the middle of 15 s
    let last = FAILING[12] + slice + dispersed;
    assert_close(&starts, &[&FAILING[..13], &[last]].concat());
}

/// (D16) (D11) A suspend is no reset that somebody asked for: what gave up stays so.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d16_a_suspend_does_not_lead_out_of_gave_up() {
    let suspended = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&suspended);
    let (client, reports) = client(limited(1), [Server::Refuses]);
    let mut client =
        client.with_suspend_clock(move || Duration::from_secs(clock.load(Ordering::Relaxed)));
    for hours in 0..2 {
        suspended.store(hours * 3_600, Ordering::Relaxed);
        assert!(matches!(client.connect().await, Err(Error::GaveUp(_))));
    }
    assert_eq!(reports.lock().expect("sound").len(), 1);
}

/// (D18) It waits for attempts, and never for a backoff.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d18_a_caller_that_fails_fast_waits_for_attempts_and_for_no_backoff() {
    let epoch = virtual_now();
    let (mut client, reports) = client(
        Config::GRPC,
        [
            Server::RefusesAfter(ms(300)),
            Server::RefusesAfter(ms(10)),
            Server::AcceptsAfter(ms(10)),
        ],
    );
    let Err(Error::Unavailable(status)) = client.try_connect().await else {
        panic!("it failed");
    };
    assert_eq!(epoch.elapsed(), ms(300), "its attempt");
    assert_eq!(status.next_attempt_at, Some(epoch + s(1)));
    for _ in 0..100 {
        assert!(matches!(
            client.try_connect().await,
            Err(Error::Unavailable(_))
        ));
    }
    assert_eq!(epoch.elapsed(), ms(300), "no backoff");
    sleep(ms(700)).await;
    assert!(matches!(
        client.try_connect().await,
        Err(Error::Unavailable(_))
    ));
    assert_eq!(epoch.elapsed(), ms(1_010), "the second attempt");
    assert_eq!(client.connect().await, Ok("connection"), "this one waits");
    assert_close(&since(epoch, &reports), &[0, 1_000, 2_600].map(ms));
}

/// (D18) Each end has its own error.
#[tokio::test(start_paused = true)]
async fn every_end_is_told_to_the_caller_who_waits() {
    let (mut limited, _) = client(limited(1), [Server::Refuses]);
    assert!(matches!(limited.connect().await, Err(Error::GaveUp(_))));
    assert!(matches!(limited.try_connect().await, Err(Error::GaveUp(_))));

    let (mut client, _) = client(Config::GRPC, [Server::Hangs]);
    let handle = client.handle().clone();
    let caller = tokio::spawn(async move {
        let first = client.connect().await;
        (first, client.connect().await)
    });
    sleep(s(1)).await;
    handle.withdraw();
    sleep(s(1)).await;
    handle.shutdown();
    let (first, second) = caller.await.expect("no panic");
    assert!(matches!(first, Err(Error::Withdrawn(_))), "{first:?}");
    assert_eq!(second, Err(Error::Shutdown));
}
