//! What dropping the future of `connect`, and what ending an attempt, keeps and loses.

use super::{Connecting, Dial, Server, client, limited, outcomes, since, virtual_now};
use conformance::time::{assert_close, ms, s};
use grpc_backoff::{Config, Error, Failure, Limit, Outcome, Reconnector, State};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::{sleep, timeout};

/// (S5) The connect deadline drops the future that connects, however it is stuck.
#[tokio::test(start_paused = true)]
async fn the_connect_deadline_drops_the_attempt() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (dropped, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (Arc::clone(&dropped), Arc::clone(&begun));
    let mut client = Reconnector::new(Config::GRPC, move |_| {
        let in_flight =
            counters.1.fetch_add(1, Ordering::Relaxed) - counters.0.load(Ordering::Relaxed);
        assert_eq!(in_flight, 0, "never two at once");
        let guard = Dropped(Arc::clone(&counters.0));
        async move {
            pending::<()>().await;
            drop(guard);
            Ok::<(), Failure<&str>>(())
        }
    })
    .expect("valid");
    assert!(timeout(ms(19_990), client.connect()).await.is_err());
    assert_eq!(
        (
            begun.load(Ordering::Relaxed),
            dropped.load(Ordering::Relaxed)
        ),
        (1, 0),
        "not with our future"
    );
    assert!(timeout(s(30), client.connect()).await.is_err());
    assert_eq!(
        (
            begun.load(Ordering::Relaxed),
            dropped.load(Ordering::Relaxed)
        ),
        (3, 2),
        "at 20 s and at 40 s"
    );
    client.withdraw();
    assert_eq!(dropped.load(Ordering::Relaxed), 3, "nobody wants it");
}

/// (C3) A caller that waits keeps its own deadline; one that does not reads the state.
#[tokio::test(start_paused = true)]
async fn rule_grpc_c3_waiting_callers_keep_their_deadline_and_others_see_the_failure() {
    let epoch = virtual_now();
    let (mut client, _) = client(Config::GRPC, [Server::Refuses]);
    let watch = client.handle().watch();
    assert!(timeout(s(2), client.connect()).await.is_err());
    assert_eq!(epoch.elapsed(), s(2));

    let status = watch.borrow().clone();
    assert!(
        matches!(status.state, State::TransientFailure { .. }),
        "fail fast: {status:?}"
    );
    assert_eq!(
        status.to_string(),
        "TRANSIENT_FAILURE after 2 failures; last: refused; next attempt in 0.6 s"
    );
    assert_eq!(
        client.handle().explain().to_string(),
        "TRANSIENT_FAILURE after 2 failures; next attempt in 0.6 s"
    );

    client.handle().withdraw();
    let status = watch.borrow().clone();
    assert_eq!((status.state, status.next_attempt_at), (State::Idle, None));
    assert_eq!(
        client.handle().explain().to_string(),
        "IDLE; no connection wanted",
        "no failure is left for anybody to see"
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_in_a_wait_loses_no_backoff() {
    let epoch = virtual_now();
    let (mut client, reports) = client(Config::GRPC, [Server::Refuses]);
    for _ in 0..100 {
        assert!(timeout(ms(90), client.connect()).await.is_err());
    }
    // 9 s: a loop that gives up early and calls again dials no more than one that waits.
    assert_close(&since(epoch, &reports), &[0, 1_000, 2_600, 5_160].map(ms));
}

/// A caller that waits in slices of 5 s dials a black hole no more than one that waits.
#[tokio::test(start_paused = true)]
async fn dropping_the_future_in_an_attempt_loses_no_attempt() {
    let epoch = virtual_now();
    let (mut client, reports) = client(Config::GRPC, [Server::Hangs]);
    while epoch.elapsed() < s(3_600) {
        assert!(timeout(s(5), client.connect()).await.is_err());
    }
    assert_eq!(outcomes(&reports), vec![Outcome::TimedOut; 37]);
    let planned = [0, 20, 40, 60, 80, 100, 120, 140].map(s);
    assert_close(&since(epoch, &reports)[..8], &planned);
}

/// (D11) Limits count through the slices, too.
#[tokio::test(start_paused = true)]
async fn a_caller_in_slices_reaches_the_limits() {
    let elapsed = Config {
        max_elapsed: Some(s(50)),
        ..Config::GRPC
    };
    for (config, limit, gives_up_at) in [
        (limited(2), Limit::Attempts, s(40)),
        (elapsed, Limit::Elapsed, s(50)),
    ] {
        let epoch = virtual_now();
        let (mut client, _) = client(config, [Server::Hangs]);
        let error = loop {
            match timeout(s(5), client.connect()).await {
                Ok(result) => break result.expect_err("it never accepts"),
                Err(_) => assert!(epoch.elapsed() < s(60), "it never ends"),
            }
        };
        assert!(matches!(error, Error::GaveUp(status) if status.state == State::GaveUp { limit }));
        let late = epoch.elapsed() - gives_up_at;
        assert!(late < ms(50), "{late:?}");
    }
}

/// The attempt itself stays in flight, and succeeds by the next call.
#[tokio::test(start_paused = true)]
async fn the_next_call_goes_on_with_the_attempt() {
    let epoch = virtual_now();
    let (mut client, reports) = client(Config::GRPC, [Server::AcceptsAfter(s(12))]);
    assert!(timeout(s(5), client.connect()).await.is_err());
    assert!(timeout(s(5), client.connect()).await.is_err());
    client.lost(); // there is no connection: says nothing
    assert_eq!(client.connect().await, Ok("connection"));
    assert!(epoch.elapsed() < s(12) + ms(10));
    assert_eq!(outcomes(&reports), [Outcome::Connected]);
}

/// (S5) Nobody drives it between two calls: what is past its deadline by then has failed.
#[tokio::test(start_paused = true)]
async fn an_attempt_past_its_deadline_has_failed_by_the_next_call() {
    let epoch = virtual_now();
    let (mut client, reports) = client(
        Config::GRPC,
        [Server::AcceptsAfter(s(10)), Server::AcceptsAfter(s(1))],
    );
    assert!(timeout(s(5), client.connect()).await.is_err());
    sleep(s(95)).await;
    assert_eq!(client.connect().await, Ok("connection"));
    assert_eq!(outcomes(&reports), [Outcome::TimedOut, Outcome::Connected]);
    assert_close(&since(epoch, &reports), &[0, 100].map(s));
}

/// (D5) A reset lets the attempt go on; should it fail, the next one starts at once.
#[tokio::test(start_paused = true)]
async fn a_reset_in_an_attempt_lets_it_go_on() {
    let epoch = virtual_now();
    let (mut client, reports) = client(
        Config::GRPC,
        [Server::RefusesAfter(ms(700)), Server::AcceptsAfter(ms(5))],
    );
    assert!(timeout(ms(300), client.connect()).await.is_err());
    client.handle().reset();
    assert!(matches!(
        client.handle().watch().borrow().state,
        State::Connecting { .. }
    ));
    assert_eq!(client.connect().await, Ok("connection"));
    assert_close(&since(epoch, &reports), &[0, 700].map(ms));
    let refused = Outcome::Failed("refused".into());
    assert_eq!(outcomes(&reports), [refused, Outcome::Connected]);
}

#[tokio::test(start_paused = true)]
async fn withdrawing_an_attempt_counts_as_cancelled_and_stays_spaced() {
    let epoch = virtual_now();
    let (mut client, reports) = client(Config::GRPC, [Server::Hangs]);
    for _ in 0..5 {
        assert!(timeout(ms(500), client.connect()).await.is_err());
        client.handle().withdraw();
    }
    assert_eq!(outcomes(&reports), vec![Outcome::Cancelled; 3]);
    assert_close(&since(epoch, &reports), &[0, 1_000, 2_000].map(ms));
    assert_eq!(
        client.handle().snapshot()[0].1.failures,
        0,
        "neither success nor failure"
    );
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_or_a_drop_cancels_the_attempt() {
    type End = fn(Reconnector<(), Dial, Connecting>);
    let ends: [End; 2] = [
        |client| drop(client),
        |client| {
            client.handle().shutdown();
            assert_eq!(client.handle().watch().borrow().state, State::Shutdown);
        },
    ];
    for end in ends {
        let (mut client, reports) = client(Config::GRPC, [Server::Hangs]);
        assert!(timeout(s(1), client.connect()).await.is_err());
        end(client);
        assert_eq!(outcomes(&reports), [Outcome::Cancelled]);
    }
}
