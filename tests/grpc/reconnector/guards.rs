//! Connections that are used before their server has accepted (D13).

use super::{Reports, assert_close, outcomes, since, virtual_now};
use conformance::draws::middle;
use conformance::time::{ms, s};
use grpc_backoff::{
    Attempt, Config, ConnectionGuard, Failure, Outcome, Reconnector, State, Verdict,
};
use std::future::{Ready, ready};
use std::sync::Arc;
use tokio::time::{sleep, sleep_until};

type Client = Reconnector<(), fn(Attempt) -> Dialled, Dialled>;
type Dialled = Ready<Result<ConnectionGuard, Failure<&'static str>>>;

/// The connection is its guard, given before anything was accepted.
fn client() -> (Client, Reports) {
    let dial: fn(Attempt) -> Dialled = |attempt| ready(Ok(attempt.guard()));
    let reports = Reports::default();
    let observed = Arc::clone(&reports);
    let client = Reconnector::new(Config::GRPC, dial).expect("valid");
    let observer = move |report: &_| observed.lock().expect("sound").push(Clone::clone(report));
    (client.with_draws(middle).on_attempt(observer), reports)
}

#[tokio::test(start_paused = true)]
async fn a_guarded_connection_is_usable_before_it_is_accepted() {
    let epoch = virtual_now();
    let (mut client, reports) = client();
    let handle = client.handle().clone();
    let guard = client.connect().await.expect("given");
    assert_eq!(epoch.elapsed(), ms(0), "nothing was waited for");
    assert!(matches!(handle.status().state, State::Connecting { .. }));
    assert_eq!(guard.deadline(), epoch + s(20));
    assert_eq!(outcomes(&reports), []);

    sleep(s(3)).await;
    assert_eq!(guard.accepted(), Verdict::Accepted);
    assert_eq!(outcomes(&reports), [Outcome::Connected]);
    assert!(matches!(handle.status().state, State::Ready { .. }));
    assert_eq!(guard.accepted(), Verdict::Stale, "once");
    drop(guard);
    assert_eq!(handle.status().state, State::Idle, "lost (C2)");
    assert_eq!(handle.snapshot()[0].1.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_fails_or_is_dropped_before_that_is_a_failed_attempt() {
    let epoch = virtual_now();
    let (mut client, reports) = client();
    let handle = client.handle().clone();
    client
        .connect()
        .await
        .expect("given")
        .failed("no SETTINGS frame");
    let told = handle.status();
    assert_eq!(
        told.to_string(),
        "TRANSIENT_FAILURE after 1 failure; last: no SETTINGS frame; next attempt in 1.0 s"
    );
    drop(client.connect().await.expect("given"));
    drop(client.connect().await.expect("given"));
    assert_close(&since(epoch, &reports), &[0, 1_000, 2_600].map(ms));
    let dropped = Outcome::Failed("closed before the server accepted".into());
    let failed = Outcome::Failed("no SETTINGS frame".into());
    assert_eq!(outcomes(&reports), [failed, dropped.clone(), dropped]);
}

/// Asking again says that the connection before is gone, whatever its guard says later.
#[tokio::test(start_paused = true)]
async fn a_guard_of_an_older_connection_changes_nothing() {
    let epoch = virtual_now();
    let (mut client, reports) = client();
    let old = client.connect().await.expect("given");
    let new = client.connect().await.expect("given");
    assert_eq!(
        epoch.elapsed().as_secs(),
        1,
        "the first one counts as failed"
    );
    assert_eq!(old.accepted(), Verdict::Stale, "close it");
    assert_eq!(new.accepted(), Verdict::Accepted);
    old.failed("late");
    assert!(matches!(
        client.handle().status().state,
        State::Ready { .. }
    ));
    assert_eq!(outcomes(&reports).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_guard_hears_of_a_shutdown_and_outlives_its_reconnector() {
    let (mut client, reports) = client();
    let guard = client.connect().await.expect("given");
    drop(client);
    assert_eq!(guard.accepted(), Verdict::Stale);
    assert_eq!(outcomes(&reports), [Outcome::Cancelled]);
    drop(guard);
}

/// A guard that is gone before the connect function gives its connection: that one is not given.
#[tokio::test(start_paused = true)]
async fn a_connection_that_is_gone_already_is_not_given() {
    let epoch = virtual_now();
    let dial = |attempt: Attempt| async move {
        let id = attempt.id().get();
        if id == 0 {
            attempt.guard().failed("gone at once");
        }
        Ok::<_, Failure<&str>>(id)
    };
    let client = Reconnector::new(Config::GRPC, dial).expect("valid");
    assert_eq!(client.with_draws(middle).connect().await, Ok(1));
    assert_eq!(epoch.elapsed().as_secs(), 1);
}

/// With several addresses a guarded connection ends the race, and a failure begins it anew with
/// every address's own wait.
#[tokio::test(start_paused = true)]
async fn a_guarded_connection_ends_the_race() {
    let epoch = virtual_now();
    let dial = |attempt: Attempt<&'static str>| async move {
        if *attempt.address() == "silent" {
            sleep(s(60)).await;
        }
        Ok::<_, Failure<&str>>((*attempt.address(), attempt.guard()))
    };
    let client = Reconnector::with_addresses(Config::GRPC, ["silent", "quick"], dial);
    let reports = Reports::default();
    let observed = Arc::clone(&reports);
    let observer = move |report: &_| observed.lock().expect("sound").push(Clone::clone(report));
    let mut client = client
        .expect("valid")
        .with_draws(middle)
        .on_attempt(observer);
    let (address, guard) = client.connect().await.expect("given");
    assert_eq!((address, epoch.elapsed()), ("quick", ms(250)));
    assert_eq!(outcomes(&reports), [Outcome::Cancelled], "the silent one");
    drop(guard);
    let (address, guard) = client.connect().await.expect("given");
    assert_eq!(address, "quick");
    assert!(
        epoch.elapsed() >= ms(1_250),
        "its own wait: {:?}",
        epoch.elapsed()
    );
    assert_eq!(guard.accepted(), Verdict::Accepted);
}

/// (A5) An address whose connection is used at once and stays silent costs its connect timeout;
/// then the next one has its turn.
#[tokio::test(start_paused = true)]
async fn rule_grpc_a5_a_connection_in_use_that_is_silent_costs_its_connect_timeout() {
    let epoch = virtual_now();
    let dial = |attempt: Attempt<&'static str>| {
        ready(Ok::<_, Failure<&str>>((
            *attempt.address(),
            attempt.guard(),
        )))
    };
    let client = Reconnector::with_addresses(Config::GRPC, ["silent", "greets"], dial);
    let mut client = client.expect("valid").with_draws(middle);
    for _ in 0..2 {
        let begun = epoch.elapsed();
        let (address, silent) = client.connect().await.expect("given");
        assert_eq!(address, "silent");
        sleep_until(silent.deadline()).await;
        drop(silent); // as its holder has to
        let (address, greets) = client.connect().await.expect("given");
        assert_eq!((address, epoch.elapsed() - begun), ("greets", s(20)));
        assert_eq!(greets.accepted(), Verdict::Accepted);
        sleep(s(60)).await;
        drop(greets); // lost: the next pass begins at the head (A1)
    }
}
