//! Dropping the future of `connect` after any number of polls loses nothing and doubles nothing.

use super::{Server, assert_close, client, outcomes, since, virtual_now};
use conformance::time::{ms, s};
use grpc_backoff::{
    Attempt, AttemptBudget, BudgetError, Config, Failure, Outcome, Reconnector, State,
};
use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::time::{sleep, timeout};
use tower_service::Service;

/// The result, or `None` once the future was polled so often.
async fn polled<T>(future: impl Future<Output = T>, times: u32) -> Option<T> {
    let (mut future, mut left) = (pin!(future), times);
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn dropped_after_any_number_of_polls_the_next_call_goes_on() {
    let script = [
        Server::RefusesAfter(ms(10)),
        Server::Refuses,
        Server::Hangs,
        Server::AcceptsAfter(ms(30)),
    ];
    for times in 1..20 {
        let epoch = virtual_now();
        let (mut client, reports) = client(Config::GRPC, script);
        let mut calls = 0_u32;
        let connected = loop {
            match polled(client.connect(), times).await {
                Some(connected) => break connected,
                None => sleep(ms(1)).await,
            }
            calls += 1;
            assert!(calls < 100_000, "{times} polls: {:?}", client.handle());
        };
        assert_eq!(connected, Ok("connection"), "{times} polls");
        let kinds: Vec<_> = outcomes(&reports);
        assert_eq!(
            kinds[2..],
            [Outcome::TimedOut, Outcome::Connected],
            "{times} polls"
        );
        let starts = since(epoch, &reports);
        // Sleeping in between makes each start a little later, never earlier.
        for (start, planned) in starts.iter().zip([0, 1_000, 2_600, 22_600].map(ms)) {
            assert!(
                (planned..planned + ms(20)).contains(start),
                "{times} polls: {starts:?}"
            );
        }
    }
}

/// Case 13: a reset during CONNECTING, while the owner waits.
#[tokio::test(start_paused = true)]
async fn a_reset_while_connecting_makes_the_next_start_immediate() {
    let epoch = virtual_now();
    let mut script = [Server::Refuses; 7];
    script[5] = Server::RefusesAfter(ms(300)); // #5 starts at 15.8096
    script[6] = Server::AcceptsAfter(ms(0));
    let (mut client, reports) = client(Config::GRPC, script);
    let handle = client.handle().clone();
    tokio::spawn(async move {
        sleep(s(16)).await;
        handle.reset();
    });
    assert_eq!(client.connect().await, Ok("connection"));
    let starts = since(epoch, &reports);
    assert_close(&starts[5..], &[ms(15_810), ms(16_110)]);
    assert_eq!(
        reports.lock().expect("sound")[6].backoff,
        s(1),
        "INITIAL again"
    );
}

/// Case 14: three resets in each state give at most one start.
#[tokio::test(start_paused = true)]
async fn three_resets_in_any_state_start_at_most_one_attempt() {
    let reset = |handle: &grpc_backoff::Handle| (0..3).for_each(|_| handle.reset());
    let (mut client, reports) = client(
        Config::GRPC,
        [
            Server::RefusesAfter(ms(100)),
            Server::RefusesAfter(ms(100)),
            Server::AcceptsAfter(ms(100)),
        ],
    );
    let handle = client.handle().clone();
    reset(&handle); // IDLE
    assert!(timeout(ms(50), client.connect()).await.is_err());
    reset(&handle); // CONNECTING: the next start is at once
    assert!(timeout(ms(170), client.connect()).await.is_err());
    assert_eq!(outcomes(&reports).len(), 2, "both have failed");
    assert!(matches!(
        handle.status().state,
        State::TransientFailure { .. }
    ));
    reset(&handle); // TRANSIENT_FAILURE
    assert!(client.connect().await.is_ok());
    assert_eq!(outcomes(&reports).len(), 3);
    reset(&handle); // READY
    assert!(matches!(handle.status().state, State::Ready { .. }));
    client.shutdown();
    reset(&handle); // SHUTDOWN
    assert_eq!(handle.status().state, State::Shutdown);
    assert_eq!(outcomes(&reports).len(), 3);
}

/// Case 18: a shutdown during a wait, from another task: the caller is told, nothing follows.
#[tokio::test(start_paused = true)]
async fn a_shutdown_in_a_wait_ends_it() {
    let epoch = virtual_now();
    let (mut client, reports) = client(Config::GRPC, [Server::Refuses]);
    let (handle, mut watch) = (client.handle().clone(), client.handle().watch());
    tokio::spawn(async move {
        sleep(ms(300)).await;
        handle.shutdown();
    });
    assert_eq!(client.connect().await, Err(grpc_backoff::Error::Shutdown));
    assert_eq!(epoch.elapsed(), ms(300));
    assert_eq!(outcomes(&reports).len(), 1);
    let status = watch.borrow_and_update().clone();
    assert_eq!(
        (status.state, status.next_attempt_at),
        (State::Shutdown, None)
    );
    assert!(watch.changed().await.is_err(), "the watch has ended");
}

/// (D15) A fleet that is reset together does not start together.
#[tokio::test(start_paused = true)]
async fn a_dispersed_reset_ends_a_wait_within_its_window() {
    let mut starts = Vec::new();
    for seed in 0..50 {
        let epoch = virtual_now();
        let (client, reports) = client(Config::GRPC, [Server::Refuses]);
        let mut client = client.with_seed(seed);
        assert!(timeout(s(60), client.connect()).await.is_err());
        let before = since(epoch, &reports).len();
        client.handle().reset_within(s(5));
        assert!(timeout(s(5) + ms(2), client.connect()).await.is_err());
        starts.push(since(epoch, &reports)[before] - s(60));
    }
    starts.sort_unstable();
    assert!(starts[0] < s(1) && starts[49] > s(4), "{starts:?}");
    starts.dedup();
    assert!(starts.len() > 40, "{}", starts.len());
}

/// (D17) Many reconnectors, one budget: a burst, then one per refill, and never sooner than alone.
#[tokio::test(start_paused = true)]
async fn a_shared_budget_spaces_the_attempts_of_many() {
    assert_eq!(
        AttemptBudget::new(0, s(1)).err(),
        Some(BudgetError::CapacityZero)
    );
    let budget = AttemptBudget::new(3, s(2)).expect("valid");
    let epoch = virtual_now();
    let starts = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..10 {
        let seen = Arc::clone(&starts);
        let dial = move |_: Attempt| {
            seen.lock().expect("sound").push(epoch.elapsed());
            ready(Ok::<_, Failure<&str>>(()))
        };
        let mut client = Reconnector::new(Config::GRPC, dial)
            .expect("valid")
            .with_budget(budget.clone());
        tokio::spawn(async move { client.connect().await });
    }
    sleep(s(60)).await;
    let planned = [0, 0, 0, 2, 4, 6, 8, 10, 12, 14].map(s);
    assert_close(&starts.lock().expect("sound"), &planned);
}

/// (D17) While it waits for the budget a connect deadline is kept, and a caller that fails fast is
/// told when.
#[tokio::test(start_paused = true)]
async fn a_caller_that_fails_fast_waits_for_no_budget() {
    let budget = AttemptBudget::new(1, s(30)).expect("valid");
    let epoch = virtual_now();
    let (client, reports) = client(Config::GRPC, [Server::Refuses]);
    let mut client = client.with_budget(budget);
    assert!(client.try_connect().await.is_err());
    sleep(s(5)).await;
    let Err(grpc_backoff::Error::Unavailable(status)) = client.try_connect().await else {
        panic!("no token");
    };
    assert_eq!(status.next_attempt_at, Some(epoch + s(30)));
    assert!(timeout(s(26), client.connect()).await.is_err());
    assert_close(&since(epoch, &reports), &[0, 30].map(s));
}

/// A service that is ready only at its second poll, and then connects.
struct Slow(Arc<AtomicU32>);

impl Service<&'static str> for Slow {
    type Response = &'static str;
    type Error = &'static str;
    type Future = std::future::Ready<Result<&'static str, &'static str>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: &'static str) -> Self::Future {
        let calls = self.0.load(Ordering::Relaxed);
        ready(if calls > 2 {
            Ok(target)
        } else {
            Err("not yet")
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_tower_service_is_a_connect_function() {
    let epoch = virtual_now();
    let service = Slow(Arc::default());
    let client = Reconnector::of_service(Config::GRPC, "target", service).expect("valid");
    let mut client = client.with_draws(conformance::draws::middle);
    assert_eq!(client.connect().await, Ok("target"));
    assert!(
        (s(1)..s(1) + ms(2)).contains(&epoch.elapsed()),
        "the second attempt"
    );
}

/// (D10) A snapshot survives as text.
#[tokio::test(start_paused = true)]
async fn a_restarted_program_reads_its_snapshot_from_a_file() {
    let (mut client, _) = client(Config::GRPC, [Server::Refuses]);
    assert!(timeout(s(6), client.connect()).await.is_err());
    let text = client.handle().snapshot()[0].1.to_string();
    assert!(
        text.starts_with("attempts=4 failures=4 backoff=6553600000ns wait="),
        "{text}"
    );
    let snapshot = text.parse().expect("as it was written");
    let dial = |_: Attempt| ready(Ok::<_, Failure<&str>>(()));
    let epoch = virtual_now();
    let mut restored = Reconnector::restore(Config::GRPC, [((), snapshot)], dial).expect("valid");
    restored.connect().await.expect("it accepts");
    let left = ms(9_256 - 6_000);
    assert!(
        (left..left + ms(5)).contains(&epoch.elapsed()),
        "{:?}",
        epoch.elapsed()
    );
}
