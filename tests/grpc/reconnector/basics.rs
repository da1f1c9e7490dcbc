//! One server, one owner: when it is dialled, what is told, and what ends it.

use super::{Server, client, dial, limited, outcomes, since, virtual_now};
use conformance::grpc::{FAILING, HANGING};
use conformance::time::{assert_close, ms, s};
use grpc_backoff::{Config, Error, Outcome, Reconnector, State, Status};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_is_dialled_at_the_documents_instants() {
    let epoch = virtual_now();
    let (mut client, reports) = client(limited(14), [Server::Refuses]);
    let error = client.connect().await.expect_err("it never accepts");
    assert_eq!(
        error.to_string(),
        "GAVE_UP after 14 failures: max_attempts reached; last: refused"
    );

    assert_close(&since(epoch, &reports), &FAILING);
    for pair in reports.lock().expect("sound").windows(2) {
        assert_eq!(
            pair[1].due_at,
            pair[0].started_at + pair[0].backoff,
            "planned by the delay"
        );
        let due_at = pair[1].due_at;
        let kept = (due_at..due_at + ms(1)).contains(&pair[1].started_at);
        assert!(kept, "{pair:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_black_hole_gives_the_golden_table() {
    let epoch = virtual_now();
    let (mut client, reports) = client(limited(11), [Server::Hangs]);
    assert!(matches!(client.connect().await, Err(Error::GaveUp(_))));
    assert_close(&since(epoch, &reports), &HANGING[..11]);
    assert_eq!(outcomes(&reports), vec![Outcome::TimedOut; 11]);
    let reports = reports.lock().expect("sound");
    assert!(
        reports
            .windows(2)
            .all(|pair| pair[1].started_at == pair[0].ended_at),
        "always connecting"
    );
}

#[tokio::test(start_paused = true)]
async fn a_final_error_is_not_retried_and_its_wait_still_counts() {
    let epoch = virtual_now();
    let (mut client, reports) = client(
        Config::GRPC,
        [
            Server::Refuses,
            Server::RefusesForGood,
            Server::AcceptsAfter(ms(0)),
        ],
    );
    assert_eq!(client.connect().await, Err(Error::Refused("not allowed")));
    assert_eq!(epoch.elapsed(), s(1));
    assert_eq!(client.handle().watch().borrow().state, State::Idle);
    assert_eq!(
        client.connect().await,
        Ok("connection"),
        "asked again, it goes on"
    );
    assert_close(&since(epoch, &reports), &[0, 1_000, 2_600].map(ms));
    let refused = Outcome::Refused("not allowed".into());
    assert_eq!(
        outcomes(&reports),
        [
            Outcome::Failed("refused".into()),
            refused,
            Outcome::Connected
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_followed_at_once_by_a_new_run() {
    let epoch = virtual_now();
    let (mut client, reports) = client(
        Config::GRPC,
        [
            Server::Refuses,
            Server::Refuses,
            Server::AcceptsAfter(ms(10)),
            Server::Refuses,
            Server::AcceptsAfter(ms(0)),
        ],
    );
    let watch = client.handle().watch();
    assert_eq!(client.connect().await, Ok("connection"));
    assert!(matches!(watch.borrow().state, State::Ready { .. }));
    assert_eq!(watch.borrow().last_failure, None);
    sleep(s(60)).await;
    client.lost();
    assert_eq!(watch.borrow().state, State::Idle);
    assert_eq!(client.connect().await, Ok("connection"));
    assert_close(
        &since(epoch, &reports),
        &[0, 1_000, 2_600, 62_610, 63_610].map(ms),
    );
}

/// (D9) Without `lost`, calling again says that the connection is gone; a server that accepts
/// and drops is still dialled once a second.
#[tokio::test(start_paused = true)]
async fn a_flapping_server_is_dialled_once_a_second() {
    let epoch = virtual_now();
    let (mut client, reports) = client(Config::GRPC, [Server::AcceptsAfter(ms(0))]);
    for _ in 0..50 {
        assert_eq!(client.connect().await, Ok("connection"));
    }
    let planned: Vec<_> = (0..50).map(s).collect();
    assert_close(&since(epoch, &reports), &planned);
}

#[tokio::test(start_paused = true)]
async fn the_watch_shows_the_states_in_order() {
    let (mut client, _) = client(
        Config::GRPC,
        [
            Server::RefusesAfter(ms(5)),
            Server::Hangs,
            Server::AcceptsAfter(ms(5)),
        ],
    );
    let mut watch = client.handle().watch();
    let seen = Arc::new(Mutex::new(vec![name(&watch.borrow())]));
    let record = Arc::clone(&seen);
    let watcher = tokio::spawn(async move {
        while watch.changed().await.is_ok() {
            let name = name(&watch.borrow_and_update());
            record.lock().expect("sound").push(name);
        }
    });
    assert_eq!(client.connect().await, Ok("connection"));
    sleep(ms(1)).await;
    client.lost();
    sleep(ms(1)).await;
    client.handle().shutdown();
    drop(client);
    watcher.await.expect("no panic");

    // Even the wait of zero after the second attempt can be seen (C1).
    let expected = [
        "Idle",
        "Connecting 0",
        "TransientFailure",
        "Connecting 1",
        "TransientFailure",
        "Connecting 2",
        "Ready 2",
        "Idle",
        "Shutdown",
    ];
    assert_eq!(*seen.lock().expect("sound"), expected);
}

fn name(status: &Status) -> String {
    match status.state {
        State::Idle => "Idle".into(),
        State::Connecting { attempt, .. } => format!("Connecting {}", attempt.get()),
        State::Ready { attempt, .. } => format!("Ready {}", attempt.get()),
        State::TransientFailure { .. } => {
            assert!(status.next_attempt_at.is_some_and(|at| at >= virtual_now()));
            "TransientFailure".into()
        }
        State::GaveUp { .. } => "GaveUp".into(),
        State::Shutdown => "Shutdown".into(),
    }
}

/// (C4) When the network is back: drop the future, reset, connect at once.
#[tokio::test(start_paused = true)]
async fn a_reset_ends_the_wait() {
    let epoch = virtual_now();
    let (mut client, reports) = client(
        Config::GRPC,
        [
            Server::Refuses,
            Server::Refuses,
            Server::Refuses,
            Server::Refuses,
            Server::Refuses,
            Server::AcceptsAfter(ms(0)),
        ],
    );
    let network_is_back = Arc::new(Notify::new());
    let notifier = Arc::clone(&network_is_back);
    tokio::spawn(async move {
        sleep(s(10)).await;
        notifier.notify_one();
    });
    let connected = loop {
        tokio::select! {
            connected = client.connect() => break connected,
            () = network_is_back.notified() => client.handle().reset(),
        }
    };
    assert_eq!(connected, Ok("connection"));
    assert_close(
        &since(epoch, &reports),
        &[0, 1_000, 2_600, 5_160, 9_256, 10_000].map(ms),
    );
}

#[tokio::test(start_paused = true)]
async fn after_shutdown_nothing_connects() {
    let (mut client, reports) = client(Config::GRPC, [Server::AcceptsAfter(ms(0))]);
    let mut watch = client.handle().watch();
    client.handle().shutdown();
    assert!(watch.changed().await.is_ok());
    assert_eq!(watch.borrow_and_update().state, State::Shutdown);
    assert!(watch.changed().await.is_err(), "the watch ends");
    assert_eq!(client.connect().await, Err(Error::Shutdown));
    client.handle().reset();
    assert_eq!(client.connect().await, Err(Error::Shutdown));
    assert_eq!(outcomes(&reports), []);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_program_waits_what_is_left() {
    let (mut client, _) = client(Config::GRPC, [Server::Refuses]);
    assert!(timeout(s(6), client.connect()).await.is_err()); // at 5.16 s the fourth failure
    let snapshot = client.handle().snapshot();
    drop(client);

    let epoch = virtual_now();
    let mut client = Reconnector::restore(Config::GRPC, snapshot, |_| {
        dial(Server::AcceptsAfter(ms(0)))
    })
    .expect("valid");
    assert_eq!(client.connect().await, Ok("connection"));
    let left = ms(9_256 - 6_000);
    assert!(
        (left..left + ms(5)).contains(&epoch.elapsed()),
        "{:?}",
        epoch.elapsed()
    );
}

/// (B4) Each client has a generator of its own, seeded by the operating system; only a seed
/// makes two alike.
#[tokio::test(start_paused = true)]
async fn every_client_draws_its_own_delays() {
    async fn first_delay(seed: Option<u64>) -> Duration {
        let delay = Arc::new(Mutex::new(Duration::ZERO));
        let observed = Arc::clone(&delay);
        let client = Reconnector::new(limited(1), |_| dial(Server::Refuses)).expect("valid");
        let client = match seed {
            Some(seed) => client.with_seed(seed),
            None => client,
        };
        let mut client =
            client.on_attempt(move |report| *observed.lock().expect("sound") = report.backoff);
        assert!(client.connect().await.is_err());
        let delay = *delay.lock().expect("sound");
        assert!((ms(800)..=ms(1_200)).contains(&delay), "{delay:?}");
        delay
    }
    let mut delays = std::collections::HashSet::new();
    for _ in 0..1_000 {
        delays.insert(first_delay(None).await);
    }
    assert!(delays.len() >= 999, "{}", delays.len());
    assert_eq!(first_delay(Some(7)).await, first_delay(Some(7)).await);
    assert_ne!(first_delay(Some(7)).await, first_delay(Some(8)).await);
}
