//! A target of 3,000 addresses: what an attempt costs does not depend on what was compared before,
//! and nobody is asked more often than once for each.

use conformance::draws::middle;
use conformance::time::{ms, s};
use grpc_backoff::{Attempt, Config, Failure, PickAction, PickFirst, Reconnector};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

const ADDRESSES: u32 = 3_000;

/// An address that counts how often it and its like were compared.
#[derive(Clone, Debug)]
struct Counted(u32, Arc<AtomicU64>);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0 == other.0
    }
}

/// Does what is to be done, and lets each attempt fail; which addresses were dialled.
fn refuse_all(server: &mut PickFirst<Counted>, now: Duration) -> Vec<u32> {
    let mut dialled = Vec::new();
    while let Some(action) = server.poll_action(now, middle) {
        let PickAction::Start { start, address } = action else {
            panic!("nothing else is to be done");
        };
        dialled.push(address.0);
        let _ = server.handle_failed(now, start.attempt);
    }
    dialled
}

#[test]
fn a_pass_over_a_large_list_takes_one_action_for_each_and_compares_nothing() {
    let compared = Arc::new(AtomicU64::new(0));
    let comparisons = || compared.swap(0, Ordering::Relaxed);
    let addresses = || (0..ADDRESSES).map(|n| Counted(n, Arc::clone(&compared)));
    let mut server = PickFirst::new(Config::GRPC, addresses()).expect("valid");
    let each_with_each = u64::from(ADDRESSES) * u64::from(ADDRESSES);
    let made = comparisons(); // duplicates are ignored (A8)
    assert!(made <= each_with_each / 2, "{made}");

    let all: Vec<_> = (0..ADDRESSES).collect();
    server.connect(s(0));
    assert_eq!(refuse_all(&mut server, s(0)), all);
    assert_eq!(server.poll_timeout(), Some(s(1)));
    assert_eq!(refuse_all(&mut server, s(1)), all);
    assert_eq!(comparisons(), 0);

    server.set_addresses(s(1), addresses());
    let again = comparisons();
    assert!(again <= each_with_each, "{again}");
    assert_eq!(refuse_all(&mut server, ms(2_600)), all);
}

/// The owner is polled once for each attempt that fails.
#[tokio::test(start_paused = true)]
async fn a_pass_over_a_large_list_takes_one_poll_for_each() {
    let dials = Arc::new(AtomicU32::new(0));
    let dialled = Arc::clone(&dials);
    let dial = move |_: Attempt<u32>| {
        dialled.fetch_add(1, Ordering::Relaxed);
        async { Err::<(), _>(Failure::Retry("refused")) }
    };
    let client = Reconnector::with_addresses(Config::GRPC, 0..ADDRESSES, dial).expect("valid");
    let mut client = client.with_draws(middle);
    let mut polls = 0;
    {
        let mut connecting = pin!(client.connect());
        let counted = poll_fn(|cx| {
            polls += 1;
            connecting.as_mut().poll(cx)
        });
        assert!(timeout(ms(900), counted).await.is_err(), "it is refused");
    }
    assert_eq!(dials.load(Ordering::Relaxed), ADDRESSES);
    assert!(polls <= ADDRESSES + 3, "{polls}");
}

/// (A4) Where none answers, those in flight are as many as have their turn in a connect timeout: 20 s
/// of 250 ms each. Those that have failed leave the others theirs.
#[tokio::test(start_paused = true)]
async fn of_a_large_list_that_is_silent_few_are_in_flight() {
    /// How many are in flight, and the most so far.
    type Flying = Arc<Mutex<(u32, u32)>>;
    struct Lands(Flying);
    impl Drop for Lands {
        fn drop(&mut self) {
            self.0.lock().expect("sound").0 -= 1;
        }
    }
    let flying = Flying::default();
    let seen = Arc::clone(&flying);
    let dial = move |_: Attempt<u32>| {
        let mut flying = seen.lock().expect("sound");
        flying.0 += 1;
        flying.1 = flying.1.max(flying.0);
        drop(flying);
        let lands = Lands(Arc::clone(&seen));
        async move {
            let _lands = lands;
            pending::<Result<(), Failure<&str>>>().await
        }
    };
    let client = Reconnector::with_addresses(Config::GRPC, 0..ADDRESSES, dial).expect("valid");
    let mut client = client.with_draws(middle);
    assert!(timeout(s(60), client.connect()).await.is_err());
    let most = flying.lock().expect("sound").1;
    println!("{most} attempts in flight at the most");
    assert!((80..=81).contains(&most), "{most}");
    drop(client);
    assert_eq!(flying.lock().expect("sound").0, 0);
}
