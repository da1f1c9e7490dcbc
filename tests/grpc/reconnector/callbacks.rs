//! What the host's functions and values may do: command the reconnector that calls them, and
//! panic, wherever it meets them.

use super::{Server, client, dial, limited, virtual_now};
use conformance::draws::middle;
use conformance::listening::listen;
use conformance::time::{ms, s};
use grpc_backoff::{Attempt, Config, Failure, Handle, Mode, Outcome, Reconnector, State, Wait};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit, set_default_local_recorder,
};
use std::fmt;
use std::future::{pending, poll_fn, ready};
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tracing::Subscriber;
use tracing::span::{Attributes, Id, Record};

/// A subscriber, a recorder of metrics, an observer and a clock: each commands the reconnector
/// that calls it, and counts its calls.
#[derive(Clone, Default)]
struct CallsBack {
    handle: Arc<OnceLock<Handle>>,
    calls: Arc<[AtomicU32; 4]>,
}

impl CallsBack {
    fn called(&self, which: usize) {
        let before = self.calls[which].fetch_add(1, Ordering::Relaxed);
        let Some(handle) = self.handle.get() else {
            return;
        };
        assert!(!handle.status().to_string().is_empty() && !handle.explain().is_empty());
        // A command makes the owner look again, which is a call of the clock: not without end.
        if before < 5 {
            handle.set_addresses([()]); // the one it has
        }
    }
}

impl Subscriber for CallsBack {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("grpc_backoff")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.called(0);
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        self.called(0);
    }
    fn enter(&self, _: &Id) {
        self.called(0);
    }
    fn exit(&self, _: &Id) {
        self.called(0);
    }
}

impl Recorder for CallsBack {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::new(self.clone()))
    }
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::new(self.clone()))
    }
    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

impl CounterFn for CallsBack {
    fn increment(&self, _: u64) {
        self.called(1);
    }
    fn absolute(&self, _: u64) {}
}

impl GaugeFn for CallsBack {
    fn increment(&self, _: f64) {
        self.called(1);
    }
    fn decrement(&self, _: f64) {
        self.called(1);
    }
    fn set(&self, _: f64) {}
}

#[tokio::test(start_paused = true)]
async fn whoever_is_told_may_command_the_reconnector() {
    let back = CallsBack::default();
    let _recorder = set_default_local_recorder(Box::leak(Box::new(back.clone())));
    let _subscriber = listen(back.clone());
    let script = [Server::Refuses, Server::AcceptsAfter(ms(5))];
    let (client, _) = client(Config::GRPC, script);
    let (observer, clock) = (back.clone(), back.clone());
    let client = client.on_attempt(move |_| observer.called(2));
    let mut client = client.with_suspend_clock(move || {
        clock.called(3);
        Duration::ZERO
    });
    let handle = client.handle().clone();
    assert!(back.handle.set(handle.clone()).is_ok());

    assert_eq!(client.connect().await, Ok("connection"));
    client.lost();
    handle.shutdown();
    let calls = back
        .calls
        .each_ref()
        .map(|calls| calls.load(Ordering::Relaxed));
    // Two attempts, each of which ended; a failure, a success, an opening and a loss.
    assert_eq!((calls[1], calls[2]), (5, 2), "{calls:?}");
    assert!(calls[0] > 10 && calls[3] > 3, "{calls:?}");
}

/// What is drawn for one reconnector may command another.
#[tokio::test(start_paused = true)]
async fn a_source_of_draws_may_command_another_reconnector() {
    let (other, _) = client(Config::GRPC, [Server::Hangs]);
    let handle = other.handle().clone();
    let (one, _) = client(limited(3), [Server::Refuses]);
    let mut one = one.with_draws(move || {
        handle.reset();
        middle()
    });
    let begun = virtual_now();
    assert!(one.connect().await.is_err());
    assert_eq!(begun.elapsed(), ms(2_600));
}

/// Panics when it is dropped, which is once.
struct PanicsOnDrop(&'static str);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic_any(self.0);
    }
}

/// An error that cannot be told.
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("its words")
    }
}

type Driving = Pin<Box<dyn Future<Output = ()> + Send>>;
type Dialled = Result<(Arc<Option<PanicsOnDrop>>, Driving), Failure<Unspeakable>>;

/// Each attempt has another value that panics; what follows is as if it did not.
async fn dial_dropping(id: u64) -> Dialled {
    let harmless = Arc::new(None);
    match id {
        0 => {
            let _until_its_deadline = PanicsOnDrop("the connect function's future");
            pending().await
        }
        1 => Err(Failure::Retry(Unspeakable)),
        2 => Err(Failure::Final(Unspeakable)),
        3 => {
            let connection = Arc::new(Some(PanicsOnDrop("the connection")));
            Ok((connection, Box::pin(ready(()))))
        }
        _ => {
            let (mut up, driving) = (Box::pin(sleep(s(10))), PanicsOnDrop("what drives it"));
            let driving = poll_fn(move |cx| {
                let _ = &driving;
                up.as_mut().poll(cx)
            });
            Ok((harmless, Box::pin(driving)))
        }
    }
}

/// The background task goes on after every panic, with the backoff of a failure or a loss.
#[tokio::test(start_paused = true)]
async fn what_panics_as_it_is_dropped_ends_no_task() {
    let starts = Arc::new(Mutex::new(Vec::new()));
    let (seen, epoch) = (Arc::clone(&starts), virtual_now());
    let dial = move |attempt: Attempt| {
        seen.lock()
            .expect("sound")
            .push(epoch.elapsed().as_millis());
        dial_dropping(attempt.id().get())
    };
    let client = Reconnector::new(Config::GRPC, dial).expect("valid");
    let shared = client.with_draws(middle).share(Mode::KeepConnected);
    sleep(s(60)).await;
    // 0 times out; 1 and 2 fail while they are told; 3 is lost at once, 4 and on after 10 s.
    let starts = starts.lock().expect("sound").clone();
    assert_eq!(starts[..4], [0, 20_000, 21_600, 24_160]);
    let later = &starts[4..];
    assert!(later.len() >= 3, "{later:?}");
    assert!(later.windows(2).all(|pair| pair[1] - pair[0] >= 10_000));
    timeout(s(1), shared.shutdown()).await.expect("it is alive");
}

/// Nobody who is told breaks the one who tells, not even while that one panics itself.
#[tokio::test(start_paused = true)]
async fn whoever_is_told_may_panic() {
    struct Panics;
    impl Subscriber for Panics {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            metadata.target().starts_with("grpc_backoff")
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            // What is told inside the attempt's span belongs to its connect function.
            let within = event.metadata().fields().field("backoff").is_some();
            assert!(within, "the subscriber");
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }
    let _subscriber = listen(Panics);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let dial = |attempt: Attempt| async move {
        let guard = attempt.guard();
        assert!(attempt.id().get() > 0, "with its guard");
        let _ = guard.accepted();
        Ok::<_, Failure<&str>>(("made", async move {
            let _guard = guard;
            pending::<()>().await;
        }))
    };
    let client = Reconnector::new(Config::GRPC, dial).expect("valid");
    let client = client.with_draws(middle).on_attempt(move |report| {
        hears.lock().expect("sound").push(report.outcome.clone());
        panic_any("the observer");
    });
    let calls = AtomicU32::new(0);
    let client = client.with_suspend_clock(move || match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Duration::ZERO, // when it is made
        _ => panic_any("the clock"),
    });
    let shared = client.share(Mode::KeepConnected);
    let connected = timeout(s(5), shared.connection(Wait::ForReady)).await;
    assert_eq!(connected, Ok(Ok("made")));
    assert!(matches!(
        shared.handle().status().state,
        State::Ready { .. }
    ));
    let heard = heard.lock().expect("sound");
    assert!(matches!(heard[0], Outcome::Failed(_)), "{heard:?}");
    assert_eq!(heard[1..], [Outcome::Connected]);
}

/// A generator takes the place of draws that panic: the delays keep to the jitter.
#[tokio::test(start_paused = true)]
async fn draws_that_panic_give_way_to_a_generator() {
    let client = Reconnector::new(limited(2), |_| dial(Server::Refuses)).expect("valid");
    let mut client = client.with_draws(|| panic_any("the draws"));
    let begun = virtual_now();
    assert!(client.connect().await.is_err());
    let delay = begun.elapsed();
    assert!((ms(800)..=ms(1_201)).contains(&delay), "{delay:?}");
}
