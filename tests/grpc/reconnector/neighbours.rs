//! Panics, other tasks and watchers around the driver.

use super::{Reports, Server, client, dial, limited, outcomes, since, virtual_now};
use conformance::draws::middle;
use conformance::time::{assert_close, ms, s};
use grpc_backoff::{
    Attempt, Config, Failure, FlapGuard, Outcome, Ratio, Reconnector, State, Status,
};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A panic of the connect function is the caller's to see, and a failure for the backoff.
#[tokio::test(start_paused = true)]
async fn a_dial_that_panics_has_failed() {
    let reports = Reports::default();
    let observed = Arc::clone(&reports);
    let mut client = Reconnector::new(Config::GRPC, |attempt: Attempt| async move {
        sleep(ms(1)).await;
        assert!(attempt.id().get() > 0, "the first one panics");
        Ok::<_, Failure<&str>>("connection")
    })
    .expect("valid")
    .with_draws(middle)
    .on_attempt(move |report| observed.lock().expect("sound").push(report.clone()));
    let epoch = virtual_now();
    let mut client = tokio::spawn(async move {
        let connecting = CatchUnwind(Box::pin(client.connect()));
        assert!(connecting.await.is_err());
        client
    })
    .await
    .expect("caught");
    assert_eq!(client.handle().snapshot()[0].1.failures, 1);
    assert_eq!(client.connect().await, Ok("connection"));
    assert_close(&since(epoch, &reports), &[0, 1_000].map(ms));
    assert!(matches!(outcomes(&reports)[0], Outcome::Failed(_)));
}

/// A future whose panic is its result.
struct CatchUnwind<'a, T>(Pin<Box<dyn Future<Output = T> + Send + 'a>>);

impl<T> Future for CatchUnwind<'_, T> {
    type Output = std::thread::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let poll = std::panic::AssertUnwindSafe(|| self.0.as_mut().poll(cx));
        match std::panic::catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

/// A reconnector that is dropped while its thread panics leaves its observer alone: a second
/// panic would abort the program.
#[tokio::test(start_paused = true)]
async fn a_panic_around_it_reports_nothing() {
    let panics = tokio::spawn(async {
        let mut client = Reconnector::new(Config::GRPC, |_| dial(Server::Hangs))
            .expect("valid")
            .on_attempt(|report| panic!("observed {report:?}"));
        assert!(timeout(s(1), client.connect()).await.is_err());
        panic!("around it");
    });
    let panic = panics.await.expect_err("it panics").into_panic();
    assert_eq!(panic.downcast_ref(), Some(&"around it"));
}

/// A deadline that no clock reaches is waited for, without a word.
#[tokio::test(start_paused = true)]
async fn a_wait_without_end_does_not_end() {
    let config = Config {
        initial_backoff: Duration::MAX,
        max_backoff: Duration::MAX,
        jitter: Ratio::new(0, 1),
        ..Config::GRPC
    };
    let (mut client, reports) = client(config, [Server::RefusesAfter(s(1))]);
    assert!(timeout(s(1_000_000), client.connect()).await.is_err());
    assert_eq!(outcomes(&reports).len(), 1);
    assert_eq!(client.handle().watch().borrow().next_attempt_at, None);
}

/// A dial that never waits and needs no pause after it lets the other tasks run.
#[tokio::test(start_paused = true)]
async fn a_dial_that_never_waits_starves_nobody() {
    let config = Config {
        flap_guard: FlapGuard::Off,
        ..Config::GRPC
    };
    let dial = |_| async { Ok::<_, Failure<&str>>("connection") };
    let mut client = Reconnector::new(config, dial).expect("valid");
    let watch = client.handle().watch();
    let other = tokio::spawn(async move { watch.borrow().state });
    for _ in 0..100 {
        assert_eq!(client.connect().await, Ok("connection"));
    }
    let State::Idle = other.await.expect("it ran") else {
        panic!("it ran after all of them");
    };
}

/// (C1) Against a black hole the wait is zero, and still every failure can be seen.
#[tokio::test(start_paused = true)]
async fn a_watcher_sees_the_failure_of_every_attempt() {
    let (mut client, _) = client(limited(3), [Server::Hangs]);
    let mut watch = client.handle().watch();
    let watcher = tokio::spawn(async move {
        for _ in 0..2 {
            let failed = |status: &Status| matches!(status.state, State::TransientFailure { .. });
            watch.wait_for(failed).await.expect("it lives");
            watch.changed().await.expect("it goes on");
        }
    });
    assert!(client.connect().await.is_err());
    let seen = timeout(s(1), watcher).await.expect("seen twice");
    seen.expect("no panic");
}
