//! Random scripts, in virtual time: servers that do anything, callers that come and go, commands
//! at any moment. A seed that fails is printed.

mod world;

use super::virtual_now;
use conformance::time::s;
use grpc_backoff::{Attempt, AttemptBudget, Config, Error, Handle, Mode, Reconnector, State, Wait};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use world::{Dialling, World};

type Client = Reconnector<u8, Box<dyn FnMut(Attempt<u8>) -> Dialling + Send>, Dialling>;

const BUDGET: (u32, Duration) = (3, s(2));

fn client(world: &World, seed: u64) -> Client {
    let (dialler, observer, clock) = (world.clone(), world.clone(), world.clone());
    let dial: Box<dyn FnMut(_) -> _ + Send> = Box::new(move |attempt| dialler.dial(attempt));
    let client = if seed.is_multiple_of(3) {
        let resolver = world.clone();
        let resolve = move || {
            let (fails, after) = (resolver.below(4) == 0, resolver.time(16));
            let list = resolver.list();
            async move {
                sleep(after).await;
                if fails { Err("no such name") } else { Ok(list) }
            }
        };
        Reconnector::with_resolver(Config::GRPC, resolve, dial)
    } else {
        Reconnector::with_addresses(Config::GRPC, world.list(), dial)
    };
    let client = client
        .expect("valid")
        .with_seed(seed)
        .with_suspend_clock(move || clock.suspended())
        .on_attempt(move |report| observer.ended(report));
    let _ = world.handle.set(client.handle().clone());
    if has_budget(seed) {
        let budget = AttemptBudget::new(BUDGET.0, BUDGET.1).expect("valid");
        return client.with_budget(budget);
    }
    client
}

fn has_budget(seed: u64) -> bool {
    seed.is_multiple_of(5)
}

fn command(world: &World, handle: &Handle<u8>) {
    match world.below(9) {
        0 => {
            world.restarted();
            handle.reset();
        }
        1 => {
            world.restarted();
            handle.reset_within(world.time(15));
        }
        2 => {
            world.restarted();
            handle.retarget(world.list());
        }
        3 | 4 => handle.set_addresses(world.list()),
        5 => handle.withdraw(),
        6 => world.suspend(),
        7 => world.forget_guards(),
        _ => {}
    }
}

/// What is watched is what is so, and a wait has an end.
fn look(watch: &mut watch::Receiver<grpc_backoff::Status>, handle: &Handle<u8>) {
    let status = handle.status();
    assert_eq!(*watch.borrow_and_update(), status);
    if let (State::TransientFailure { .. }, Some(at)) = (status.state, status.next_attempt_at) {
        assert!(at <= virtual_now() + s(145), "{status:?}");
    }
}

async fn shared(world: &World, seed: u64) -> usize {
    let mode = if seed.is_multiple_of(2) {
        Mode::OnDemand
    } else {
        Mode::KeepConnected
    };
    let shared = client(world, seed).share(mode);
    let handle = shared.handle().clone();
    let mut watch = handle.watch();
    let mut callers = JoinSet::new();
    for _ in 0..STEPS {
        sleep(world.time(17)).await;
        look(&mut watch, &handle);
        command(world, &handle);
        if world.below(2) == 0 {
            let (mut shared, time, polls) = (shared.clone(), world.time(18), world.below(2) == 0);
            let wait = [Wait::ForReady, Wait::FailFast][usize::from(world.below(2) == 0)];
            callers.spawn(async move {
                let asking = async {
                    if !polls {
                        return shared.connection(wait).await;
                    }
                    std::future::poll_fn(|cx| shared.poll_connection(cx, wait)).await
                };
                let end = timeout(time, asking).await;
                let unavailable = matches!(end, Ok(Err(Error::Unavailable(_))));
                assert!(!unavailable || wait == Wait::FailFast);
                assert!(!matches!(end, Ok(Err(Error::Shutdown | Error::GaveUp(_)))));
            });
        }
    }
    world.get_well();
    world.restarted();
    handle.retarget([1]);
    let mut connected = Err(Error::Shutdown);
    while connected.is_err() {
        let asking = timeout(s(300), shared.connection(Wait::ForReady));
        connected = asking.await.expect("it is never stuck");
    }
    look(&mut watch, &handle);
    while let Some(caller) = callers.join_next().await {
        caller.expect("no panic");
    }
    shared.shutdown().await;
    shared.shutdown().await;
    assert_eq!(
        shared.connection(Wait::ForReady).await,
        Err(Error::Shutdown)
    );
    look(&mut watch, &handle);
    let left = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert_eq!(left, 0, "no task is left");
    STEPS * 4
}

/// One owner, whose future is dropped at any poll.
async fn owned(world: &World, seed: u64) -> usize {
    let mut client = client(world, seed);
    let handle = client.handle().clone();
    let mut watch = handle.watch();
    for _ in 0..STEPS {
        let (polls, time) = (world.below(20), world.time(17));
        let fails_fast = world.below(2) == 0;
        {
            let mut connecting = pin!(timeout(time, async {
                if fails_fast {
                    client.try_connect().await
                } else {
                    client.connect().await
                }
            }));
            let mut left = polls;
            std::future::poll_fn(|cx| {
                let poll = AssertUnwindSafe(|| connecting.as_mut().poll(cx).is_ready());
                let ended = catch_unwind(poll).unwrap_or(true) || left == 0;
                left = left.saturating_sub(1);
                if ended {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
        look(&mut watch, &handle);
        command(world, &handle);
        sleep(world.time(14)).await;
    }
    world.get_well();
    world.restarted();
    handle.retarget([1]);
    assert!(
        timeout(s(300), client.connect())
            .await
            .expect("never stuck")
            .is_ok()
    );
    look(&mut watch, &handle);
    client.shutdown();
    client.shutdown();
    assert!(matches!(client.connect().await, Err(Error::Shutdown)));
    drop(client);
    look(&mut watch, &handle);
    STEPS * 24
}

const STEPS: usize = 40;

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder
        .enable_time()
        .start_paused(true)
        .build()
        .expect("built")
}

fn play(seeds: std::ops::Range<u64>, script: impl AsyncFn(&World, u64) -> usize) {
    let (mut starts, few) = (0, 5 * (seeds.end - seeds.start));
    for seed in seeds {
        let world = World::new(seed);
        let played = catch_unwind(AssertUnwindSafe(|| {
            runtime().block_on(async {
                let begun = virtual_now();
                let events = script(&world, seed).await;
                let seconds = begun.elapsed().as_secs();
                let budget = has_budget(seed).then_some((3, BUDGET.1));
                world.forget_guards();
                world.check(events, seconds, budget);
            });
        }));
        assert!(played.is_ok(), "seed {seed}");
        starts += world.starts();
    }
    assert!(starts > few, "{starts} starts are no test");
}

#[test]
fn a_shared_connection_survives_any_script() {
    play(0..150, shared);
}

#[test]
fn an_owner_that_is_dropped_at_any_poll_loses_nothing() {
    play(1_000..1_150, owned);
}
