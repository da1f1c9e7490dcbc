//! One connection for many tasks, in both modes.

use super::virtual_now;
use conformance::draws::middle;
use conformance::time::{ms, s};
use grpc_backoff::{Attempt, Config, Error, Failure, Mode, Reconnector, Shared, State, Wait};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle as Runtime;
use tokio::time::{sleep, timeout};

/// What the server does with the n-th attempt; the last entry repeats.
#[derive(Clone, Copy)]
enum Server {
    Refuses,
    RefusesForGood,
    Hangs,
    /// Accepts, and the connection is lost so long after.
    LivesFor(Duration),
    PanicsInDial,
    PanicsAfter(Duration),
}

type Starts = Arc<Mutex<Vec<Duration>>>;

/// The connection is the number of its attempt.
fn share<const N: usize>(script: [Server; N], mode: Mode) -> (Shared<u64>, Starts) {
    let starts = Starts::default();
    let (seen, epoch) = (Arc::clone(&starts), virtual_now());
    let dial = move |attempt: Attempt| {
        seen.lock().expect("sound").push(epoch.elapsed());
        let id = attempt.id().get();
        let server = script[usize::try_from(id).expect("few").min(N - 1)];
        async move {
            match server {
                Server::Refuses => Err(Failure::Retry("refused")),
                Server::RefusesForGood => Err(Failure::Final("not allowed")),
                Server::Hangs => pending().await,
                Server::PanicsInDial => panic!("in the connect function"),
                Server::LivesFor(time) => Ok((id, driving(time, false))),
                Server::PanicsAfter(time) => Ok((id, driving(time, true))),
            }
        }
    };
    let reconnector = Reconnector::new(Config::GRPC, dial).expect("valid");
    (reconnector.with_draws(middle).share(mode), starts)
}

async fn driving(time: Duration, panics: bool) {
    sleep(time).await;
    assert!(!panics, "in the driver");
}

fn planned(starts: &Starts, planned: &[u64]) {
    let starts = starts.lock().expect("sound");
    super::assert_close(
        &starts,
        &planned.iter().map(|&at| ms(at)).collect::<Vec<_>>(),
    );
}

fn tasks() -> usize {
    Runtime::current().metrics().num_alive_tasks()
}

/// Case 28: without traffic, any failure leads to a start within 144 s, and a loss to one at once.
#[tokio::test(start_paused = true)]
async fn kept_connected_it_connects_without_traffic() {
    let (shared, starts) = share([Server::Refuses], Mode::KeepConnected);
    sleep(s(3_600)).await;
    let seen = starts.lock().expect("sound").clone();
    assert!(seen.len() > 30, "{}", seen.len());
    for pair in seen.windows(2) {
        assert!(pair[1] - pair[0] <= s(144), "{pair:?}");
    }
    shared.shutdown().await;

    let script = [Server::LivesFor(s(30)), Server::LivesFor(s(1_000))];
    let (shared, starts) = share(script, Mode::KeepConnected);
    sleep(s(100)).await;
    planned(&starts, &[0, 30_000]);
    assert_eq!(shared.current(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn on_demand_it_connects_when_it_is_asked() {
    let script = [Server::LivesFor(s(30)), Server::LivesFor(s(1_000))];
    let (shared, starts) = share(script, Mode::OnDemand);
    sleep(s(5)).await;
    planned(&starts, &[]);
    assert_eq!(shared.connection(Wait::ForReady).await, Ok(0));
    sleep(s(100)).await;
    planned(&starts, &[5_000]);
    assert_eq!(shared.handle().status().state, State::Idle, "lost (C2)");
    assert_eq!(shared.current(), None);
    let (one, other) = tokio::join!(
        shared.connection(Wait::FailFast),
        shared.connection(Wait::ForReady)
    );
    assert_eq!((one, other), (Ok(1), Ok(1)), "one attempt for both");
    planned(&starts, &[5_000, 105_000]);
}

/// (C3) (D18) A thousand callers that fail fast make no attempt of their own; the task goes on.
#[tokio::test(start_paused = true)]
async fn callers_that_fail_fast_are_told_why_and_when() {
    let script = [Server::Refuses, Server::Refuses, Server::LivesFor(s(60))];
    let (shared, starts) = share(script, Mode::OnDemand);
    for _ in 0..1_000 {
        let failed = shared.connection(Wait::FailFast).await;
        let Err(Error::Unavailable(status)) = failed else {
            panic!("{failed:?}");
        };
        assert_eq!(status.last_failure.expect("failed").to_string(), "refused");
        assert!(status.next_attempt_at.is_some_and(|at| at > virtual_now()));
    }
    planned(&starts, &[0]);
    assert_eq!(shared.connection(Wait::ForReady).await, Ok(2));
    planned(&starts, &[0, 1_000, 2_600]);
    assert_eq!(shared.connection(Wait::FailFast).await, Ok(2));
}

/// A caller may drop its future at any poll: the attempt goes on for the others.
#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_cancels_nothing() {
    let (shared, starts) = share([Server::Refuses, Server::LivesFor(s(60))], Mode::OnDemand);
    for _ in 0..20 {
        let _ = timeout(ms(10), shared.connection(Wait::ForReady)).await;
    }
    sleep(s(1)).await;
    assert_eq!(shared.current(), Some(1));
    planned(&starts, &[0, 1_000]);
}

/// (C1) Nothing is left: no task, no connection, and whoever waits is told.
#[tokio::test(start_paused = true)]
async fn after_shutdown_no_task_is_left() {
    for script in [
        [Server::Refuses],
        [Server::Hangs],
        [Server::LivesFor(s(1_000_000))],
    ] {
        for mode in [Mode::OnDemand, Mode::KeepConnected] {
            let before = tasks();
            let (shared, _) = share(script, mode);
            let waiting = shared.clone();
            let _ = timeout(s(3), waiting.connection(Wait::ForReady)).await;
            assert_eq!(tasks(), before + 1);
            shared.shutdown().await;
            assert_eq!(tasks(), before);
            assert_eq!(
                shared.connection(Wait::ForReady).await,
                Err(Error::Shutdown)
            );
            assert_eq!(shared.current(), None);
            shared.shutdown().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_last_copy() {
    let before = tasks();
    let (shared, _) = share([Server::Hangs], Mode::KeepConnected);
    let copy = shared.clone();
    sleep(s(1)).await;
    drop(shared);
    sleep(s(1)).await;
    assert_eq!(tasks(), before + 1);
    drop(copy);
    sleep(s(1)).await;
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failed_attempt_or_a_loss_and_the_task_goes_on() {
    let script = [
        Server::PanicsInDial,
        Server::PanicsAfter(s(30)),
        Server::LivesFor(s(60)),
    ];
    let (shared, starts) = share(script, Mode::KeepConnected);
    assert_eq!(shared.connection(Wait::ForReady).await, Ok(1));
    sleep(s(40)).await;
    assert_eq!(shared.current(), Some(2));
    planned(&starts, &[0, 1_000, 31_000]);
}

#[tokio::test(start_paused = true)]
async fn a_final_refusal_is_told_and_kept_connected_it_is_tried_again() {
    let script = [Server::RefusesForGood, Server::LivesFor(s(60))];
    for mode in [Mode::OnDemand, Mode::KeepConnected] {
        let (shared, starts) = share(script, mode);
        let refused = shared.connection(Wait::ForReady).await;
        assert_eq!(refused, Err(Error::Refused("not allowed".into())));
        sleep(s(10)).await;
        let tried = if mode == Mode::OnDemand { 1 } else { 2 };
        assert_eq!(starts.lock().expect("sound").len(), tried);
        assert_eq!(shared.connection(Wait::ForReady).await, Ok(1));
    }
}

#[tokio::test(start_paused = true)]
async fn withdrawn_it_rests_until_it_is_asked_again() {
    for mode in [Mode::OnDemand, Mode::KeepConnected] {
        let (shared, starts) = share([Server::Refuses], mode);
        let caller = shared.clone();
        let caller = tokio::spawn(async move { caller.connection(Wait::ForReady).await });
        sleep(s(2)).await;
        shared.handle().withdraw();
        let told = caller.await.expect("no panic");
        assert!(matches!(told, Err(Error::Withdrawn(_))), "{told:?}");
        sleep(s(100)).await;
        planned(&starts, &[0, 1_000]);
        let told = shared.connection(Wait::FailFast).await;
        assert!(matches!(told, Err(Error::Unavailable(_))), "{told:?}");
        planned(&starts, &[0, 1_000, 102_000]);
    }
}

/// A limit ends the callers' waiting; a reset leads on, by itself where it is kept connected.
#[tokio::test(start_paused = true)]
async fn at_a_limit_it_rests_until_a_reset() {
    for (mode, after_reset) in [(Mode::OnDemand, 2), (Mode::KeepConnected, 3)] {
        let starts = Starts::default();
        let (seen, epoch) = (Arc::clone(&starts), virtual_now());
        let dial = move |_: Attempt| {
            seen.lock().expect("sound").push(epoch.elapsed());
            async { Err::<((), std::future::Ready<()>), _>(Failure::Retry("refused")) }
        };
        let shared = Reconnector::new(super::limited(2), dial)
            .expect("valid")
            .share(mode);
        let told = shared.connection(Wait::ForReady).await;
        assert!(matches!(told, Err(Error::GaveUp(_))), "{told:?}");
        sleep(s(600)).await;
        assert_eq!(starts.lock().expect("sound").len(), 2);
        shared.handle().reset();
        sleep(ms(1)).await;
        assert_eq!(starts.lock().expect("sound").len(), after_reset);
    }
}

/// The one that `poll_ready` uses: it wakes, and is ready at once while there is a connection.
#[tokio::test(start_paused = true)]
async fn polled_it_waits_and_wakes() {
    let script = [Server::Refuses, Server::LivesFor(s(60))];
    let (mut shared, starts) = share(script, Mode::OnDemand);
    let connection = std::future::poll_fn(|cx| shared.poll_connection(cx, Wait::ForReady));
    assert_eq!(connection.await, Ok(1));
    planned(&starts, &[0, 1_000]);
    let again = std::future::poll_fn(|cx| shared.poll_connection(cx, Wait::FailFast));
    assert_eq!(again.await, Ok(1));
}

/// What it waited for before is forgotten: this caller fails fast.
#[tokio::test(start_paused = true)]
async fn polled_with_another_wait_it_begins_anew() {
    let (mut shared, _) = share([Server::Refuses], Mode::OnDemand);
    let patient = std::future::poll_fn(|cx| shared.poll_connection(cx, Wait::ForReady));
    assert!(timeout(ms(500), patient).await.is_err());
    let hasty = std::future::poll_fn(|cx| shared.poll_connection(cx, Wait::FailFast));
    let told = timeout(ms(1), hasty).await.expect("at once");
    assert!(matches!(told, Err(Error::Unavailable(_))), "{told:?}");
}
