//! What must not break it: panics of the host's functions, callbacks, and ends at the worst moment.

use super::{Server, client, dial, virtual_now};
use conformance::draws::middle;
use conformance::time::{ms, s};
use grpc_backoff::{
    Attempt, AttemptBudget, Config, Error, Failure, Mode, PickAction, PickFirst, Reconnector,
    State, Wait,
};
use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How a connection ends that its server accepted before its owner had it.
#[derive(Clone, Copy)]
enum End {
    DialFails,
    DialGivesIt,
}

/// The first connection is accepted and lost inside the connect function; the next ones live.
async fn lost_in_hand_over(end: End, attempt: Attempt) -> Dialled {
    let (id, guard) = (attempt.id().get(), attempt.guard());
    sleep(ms(10)).await;
    let _ = guard.accepted();
    if id == 0 {
        drop(guard);
        sleep(ms(10)).await;
        return match end {
            End::DialFails => Err(Failure::Retry("reset by peer")),
            End::DialGivesIt => Ok((id, Box::pin(pending()))),
        };
    }
    let driving = async move {
        let _guard = guard;
        pending::<()>().await;
    };
    Ok((id, Box::pin(driving)))
}

type Dialled = Result<(u64, Driving), Failure<&'static str>>;
type Driving = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// (D18) Nobody withdrew, so the one who waits goes on waiting, at the pace of the flap guard.
#[tokio::test(start_paused = true)]
async fn a_connection_lost_before_its_owner_had_it_is_made_again() {
    for end in [End::DialFails, End::DialGivesIt] {
        let client = || {
            let dial = move |attempt| lost_in_hand_over(end, attempt);
            let client = Reconnector::new(Config::GRPC, dial).expect("valid");
            client.with_draws(middle)
        };
        let begun = virtual_now();
        let mut owned = client();
        let connected = timeout(s(5), owned.connect()).await.expect("soon");
        assert_eq!(connected.map(|(id, _)| id), Ok(1));
        assert!(begun.elapsed() >= s(1), "{:?}", begun.elapsed());

        let kept = client().share(Mode::KeepConnected); // without any caller
        sleep(s(5)).await;
        assert_eq!(kept.current(), Some(1));
        assert!(matches!(kept.handle().status().state, State::Ready { .. }));
    }
}

/// (D8) A connection that is there when nobody wants one any more is not made again.
#[tokio::test(start_paused = true)]
async fn kept_connected_it_stays_withdrawn_when_the_connection_is_lost() {
    let dial = |attempt: Attempt| async move {
        Ok::<_, Failure<&str>>((attempt.id().get(), sleep(s(30))))
    };
    let reconnector = Reconnector::new(Config::GRPC, dial).expect("valid");
    let shared = reconnector.with_draws(middle).share(Mode::KeepConnected);
    assert_eq!(shared.connection(Wait::ForReady).await, Ok(0));
    shared.handle().withdraw();
    sleep(s(100)).await;
    assert_eq!(shared.handle().status().state, State::Idle);
    assert_eq!(shared.connection(Wait::ForReady).await, Ok(1));
    sleep(s(35)).await;
    assert_eq!(shared.current(), Some(2), "and is kept again");
}

/// The command of one task reaches the owner though the observer panics in that task.
#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_keeps_no_owner_waiting() {
    let client = Reconnector::new(Config::GRPC, |_| dial(Server::Hangs)).expect("valid");
    let mut client = client.on_attempt(|report| panic!("observed {report:?}"));
    let handle = client.handle().clone();
    let waiting = tokio::spawn(async move { client.connect().await });
    sleep(ms(1)).await;
    handle.withdraw();
    let ended = timeout(s(1), waiting).await.expect("it was woken");
    assert!(matches!(ended, Ok(Err(Error::Withdrawn(_)))));
}

/// Even from the thread that panics.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_ends_in_a_panic_is_observed() {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ids);
    let dial = |attempt: Attempt| async move {
        let guard = attempt.guard();
        assert!(attempt.id().get() > 0, "with its guard");
        Ok::<_, Failure<&str>>(guard)
    };
    let reconnector = Reconnector::new(Config::GRPC, dial).expect("valid");
    let mut client = reconnector
        .with_draws(middle)
        .on_attempt(move |report| seen.lock().expect("sound").push(report.attempt.get()));
    let panics = tokio::spawn(async move {
        let _ = client.connect().await;
    });
    assert!(panics.await.is_err());
    assert_eq!(*ids.lock().expect("sound"), [0]);
}

/// A watcher reads the machine while it holds the value, from its own task and from its waker.
#[tokio::test(start_paused = true)]
async fn watchers_may_read_the_machine() {
    struct Reads(grpc_backoff::Handle, Mutex<Vec<String>>);
    impl Wake for Reads {
        fn wake(self: Arc<Self>) {
            let status = self.0.status().to_string();
            self.1.lock().expect("sound").push(status);
        }
    }
    let (mut client, _) = client(Config::GRPC, [Server::Refuses]);
    let handle = client.handle().clone();
    let mut watch = handle.watch();
    {
        let held = watch.borrow_and_update();
        assert_eq!(held.to_string(), handle.status().to_string());
        assert_eq!(handle.explain(), "IDLE; no connection wanted");
        assert_eq!(handle.snapshot().len(), 1);
        let _second = handle.watch();
    }
    let reads = Arc::new(Reads(handle, Mutex::default()));
    let waker = Waker::from(Arc::clone(&reads));
    {
        let mut changed = pin!(watch.changed());
        let poll = changed.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(poll.is_pending());
        let failed = client.try_connect().await;
        assert!(matches!(failed, Err(Error::Unavailable(_))));
    }
    assert!(!reads.1.lock().expect("sound").is_empty());
}

/// (D17) Tokens that were not used are lost: nobody saves them up for a burst.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d17_a_token_is_not_kept() {
    let budget = AttemptBudget::new(1, s(1)).expect("valid");
    let (starts, epoch) = (Arc::new(Mutex::new(Vec::new())), virtual_now());
    let mut clients: Vec<_> = (0..10)
        .map(|_| {
            let starts = Arc::clone(&starts);
            let dial = move |_: Attempt| {
                starts.lock().expect("sound").push(epoch.elapsed());
                dial(Server::AcceptsAfter(ms(0)))
            };
            let client = Reconnector::new(Config::GRPC, dial).expect("valid");
            client.with_budget(budget.clone())
        })
        .collect();
    for client in &mut clients {
        let _ = timeout(Duration::ZERO, client.connect()).await;
        client.withdraw();
        client.lost();
    }
    sleep(s(1_000)).await;
    starts.lock().expect("sound").clear();
    let connecting = clients.into_iter().map(|mut client| {
        tokio::spawn(async move {
            assert!(client.connect().await.is_ok());
        })
    });
    for connected in connecting.collect::<Vec<_>>() {
        connected.await.expect("no panic");
    }
    let starts = starts.lock().expect("sound");
    assert_eq!(starts.len(), 10);
    for pair in starts.windows(2) {
        assert!(pair[1] - pair[0] >= ms(999), "{starts:?}");
    }
}

/// (D17) An attempt that starts as another has to end needs a token too.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d17_an_abort_lets_no_start_through() {
    let starts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&starts);
    let dialled = move |attempt: Attempt<&'static str>| {
        let address = *attempt.address();
        seen.lock().expect("sound").push(address);
        dial(match address {
            "refuses" => Server::Refuses,
            _ => Server::Hangs,
        })
    };
    let addresses = ["refuses", "hangs"];
    let client = Reconnector::with_addresses(Config::GRPC, addresses, dialled).expect("valid");
    let mut client = client
        .with_draws(middle)
        .with_budget(AttemptBudget::new(2, s(1_000)).expect("valid"));
    assert!(timeout(ms(500), client.connect()).await.is_err());
    assert_eq!(*starts.lock().expect("sound"), addresses);
    sleep(s(30)).await; // one may start, and the other has to end
    assert!(timeout(s(100), client.connect()).await.is_err());
    assert_eq!(*starts.lock().expect("sound"), addresses, "no token");
}

/// A resolver that panics has failed, like a connect function.
#[tokio::test(start_paused = true)]
async fn a_resolver_that_panics_has_failed() {
    for at_once in [true, false] {
        let mut calls = 0;
        let resolve = move || {
            calls += 1;
            let panics = calls == 1;
            assert!(!(panics && at_once), "in the resolver");
            async move {
                sleep(ms(1)).await;
                assert!(!panics, "in its future");
                Ok::<_, &str>(["server"])
            }
        };
        let dial = |_: Attempt<&str>| async { Ok::<_, Failure<&str>>(("made", pending::<()>())) };
        let client = Reconnector::with_resolver(Config::GRPC, resolve, dial).expect("valid");
        let shared = client.with_draws(middle).share(Mode::KeepConnected);
        let begun = virtual_now();
        let mut watch = shared.handle().watch();
        let failed = watch.wait_for(|status| status.last_failure.is_some());
        let failed = timeout(s(1), failed).await.expect("soon").expect("alive");
        let why = failed.last_failure.clone().expect("failed").to_string();
        drop(failed);
        assert_eq!(why, "resolve: the resolver panicked");
        let connected = timeout(s(3), shared.connection(Wait::ForReady)).await;
        assert_eq!(connected, Ok(Ok("made")));
        assert!(begun.elapsed() >= s(1), "after its backoff");
    }
}

/// (D13) A connection in use needs no other addresses, so a resolution ends as the attempts do.
#[test]
fn rule_grpc_d13_a_connection_in_use_ends_the_resolution() {
    let mut server = PickFirst::new(Config::GRPC, ["a", "b"]).expect("valid");
    server = server.with_resolver();
    server.connect(s(0));
    for _ in 0..2 {
        let Some(PickAction::Start { start, .. }) = server.poll_action(s(0), middle) else {
            panic!("both start, one after the other");
        };
        let _ = server.handle_failed(s(0), start.attempt);
    }
    let Some(PickAction::Resolve(resolution)) = server.poll_action(s(0), middle) else {
        panic!("a failed pass (A7)");
    };
    let Some(PickAction::Start { start, .. }) = server.poll_action(s(1), middle) else {
        panic!("the wait is over");
    };
    server.cancel_others(s(1), start.attempt);
    let Some(PickAction::Abort(abort)) = server.poll_action(s(1), middle) else {
        panic!("the resolution ends");
    };
    assert_eq!(abort.attempt, resolution.attempt);
}
