//! Several addresses and their resolution, over in-memory dials.

use super::{assert_close, virtual_now};
use conformance::draws::middle;
use conformance::time::{ms, s};
use grpc_backoff::{
    Attempt, AttemptReport, Config, Error, Failure, Outcome, Phase, Reason, Reconnector, State,
};
use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// An address is what its server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Address {
    Hangs(u8),
    RefusesAfter(u64),
    AcceptsAfter(u64),
}

type Connecting = Pin<Box<dyn Future<Output = Result<Address, Failure<&'static str>>> + Send>>;
/// Which was dialled when, and how it ended.
type Log = Arc<Mutex<Vec<(Address, Duration)>>>;
type Client<F> = Reconnector<Address, F, Connecting>;

fn dial(log: &Log) -> impl FnMut(Attempt<Address>) -> Connecting + Send + use<> {
    let (log, epoch) = (Arc::clone(log), virtual_now());
    move |attempt| {
        let address = *attempt.address();
        log.lock().expect("sound").push((address, epoch.elapsed()));
        Box::pin(async move {
            match address {
                Address::Hangs(_) => pending().await,
                Address::RefusesAfter(delay) => {
                    sleep(ms(delay)).await;
                    Err(Failure::Retry("refused"))
                }
                Address::AcceptsAfter(delay) => {
                    sleep(ms(delay)).await;
                    Ok(address)
                }
            }
        })
    }
}

fn observed<F>(client: Client<F>) -> (Client<F>, Arc<Mutex<Vec<AttemptReport>>>)
where
    F: FnMut(Attempt<Address>) -> Connecting,
{
    let reports = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&reports);
    let observer =
        move |report: &AttemptReport| observed.lock().expect("sound").push(report.clone());
    (client.with_draws(middle).on_attempt(observer), reports)
}

fn dialled(log: &Log, planned: &[(Address, u64)]) {
    let log = log.lock().expect("sound");
    let addresses: Vec<_> = log.iter().map(|(address, _)| *address).collect();
    let expected: Vec<_> = planned.iter().map(|(address, _)| *address).collect();
    assert_eq!(addresses, expected);
    let at: Vec<_> = log.iter().map(|(_, at)| *at).collect();
    assert_close(
        &at,
        &planned.iter().map(|(_, at)| ms(*at)).collect::<Vec<_>>(),
    );
}

/// The second address 250 ms after the first; the first to accept wins, and the other's future is
/// dropped.
#[tokio::test(start_paused = true)]
async fn the_first_server_to_accept_wins_and_the_others_are_cancelled() {
    let (hangs, accepts) = (Address::Hangs(0), Address::AcceptsAfter(100));
    let log = Log::default();
    let client = Reconnector::with_addresses(Config::GRPC, [hangs, accepts], dial(&log));
    let (mut client, reports) = observed(client.expect("valid"));
    assert_eq!(client.connect().await, Ok(accepts));
    dialled(&log, &[(hangs, 0), (accepts, 250)]);
    let outcomes: Vec<_> = {
        let reports = reports.lock().expect("sound");
        reports
            .iter()
            .map(|report| report.outcome.clone())
            .collect()
    };
    assert_eq!(outcomes, [Outcome::Connected, Outcome::Cancelled]);
    assert!(matches!(
        client.handle().status().state,
        State::Ready { .. }
    ));
}

/// A refusal gives the next address its turn at once; each keeps its own backoff.
#[tokio::test(start_paused = true)]
async fn a_refusal_gives_the_next_address_its_turn_and_each_backs_off_alone() {
    let (one, two) = (Address::RefusesAfter(0), Address::RefusesAfter(400));
    let log = Log::default();
    let client = Reconnector::with_addresses(Config::GRPC, [one, two], dial(&log));
    let (mut client, _) = observed(client.expect("valid"));
    assert!(timeout(s(3), client.connect()).await.is_err());
    let planned = [
        (one, 0),
        (two, 0),
        (one, 1_000),
        (two, 1_000),
        (one, 2_600),
        (two, 2_600),
    ];
    dialled(&log, &planned);
    let told = client.handle().status();
    assert!(
        matches!(told.state, State::TransientFailure { .. }),
        "{told}"
    );
}

/// Dropped at any poll, the next call goes on with every attempt in flight.
#[tokio::test(start_paused = true)]
async fn in_slices_it_dials_as_in_one_go() {
    let (hangs, accepts) = (Address::Hangs(0), Address::AcceptsAfter(400));
    let log = Log::default();
    let client = Reconnector::with_addresses(Config::GRPC, [hangs, accepts], dial(&log));
    let (mut client, _) = observed(client.expect("valid"));
    let connected = loop {
        if let Ok(connected) = timeout(ms(7), client.connect()).await {
            break connected;
        }
    };
    assert_eq!(connected, Ok(accepts));
    dialled(&log, &[(hangs, 0), (accepts, 250)]);
}

/// Case 42: each failed pass asks for a new list, once.
#[tokio::test(start_paused = true)]
async fn each_failed_pass_asks_for_a_new_list_once() {
    let refuses = [Address::RefusesAfter(0), Address::RefusesAfter(1)];
    let (log, asked) = (Log::default(), Arc::new(Mutex::new(Vec::new())));
    let (asks, epoch) = (Arc::clone(&asked), virtual_now());
    let resolve = move || {
        asks.lock().expect("sound").push(epoch.elapsed());
        async move { Ok::<_, &str>(refuses) }
    };
    let client = Reconnector::with_resolver(Config::GRPC, resolve, dial(&log));
    let (mut client, _) = observed(client.expect("valid"));
    assert!(timeout(s(9), client.connect()).await.is_err());
    let passes = log.lock().expect("sound").len() / refuses.len();
    let asked = asked.lock().expect("sound").clone();
    assert_eq!(passes, 4, "at 0, 1, 2.6 and 5.16 s");
    assert_eq!(
        asked.len(),
        1 + passes,
        "first, and after each failed pass: {asked:?}"
    );
}

/// A list that names a living server leads to it, though the old one is in its backoff.
#[tokio::test(start_paused = true)]
async fn a_new_list_leads_to_another_server() {
    let (dead, alive) = (Address::RefusesAfter(0), Address::AcceptsAfter(1));
    let (log, asked) = (Log::default(), AtomicUsize::new(0));
    let resolve = move || {
        let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
        async move { Ok::<_, &str>(if first { vec![dead] } else { vec![dead, alive] }) }
    };
    let client = Reconnector::with_resolver(Config::GRPC, resolve, dial(&log));
    let (mut client, _) = observed(client.expect("valid"));
    assert_eq!(client.connect().await, Ok(alive));
    assert!(client.handle().status().last_failure.is_none());
}

/// (S5) A resolution that never ends is aborted at its deadline, and its failure is told.
#[tokio::test(start_paused = true)]
async fn a_resolution_fails_times_out_and_backs_off_too() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (asks, epoch) = (Arc::clone(&asked), virtual_now());
    let resolve = move || {
        let mut asks = asks.lock().expect("sound");
        asks.push(epoch.elapsed());
        let nth = asks.len();
        async move {
            match nth {
                1 => Err("no such name"),
                2 => Ok(vec![]),
                _ => pending::<Result<Vec<Address>, _>>().await,
            }
        }
    };
    let client = Reconnector::with_resolver(Config::GRPC, resolve, dial(&Log::default()));
    let (mut client, _) = observed(client.expect("valid"));
    let told = |client: &Client<_>| {
        let failure = client.handle().status().last_failure.expect("it failed");
        assert_eq!(failure.phase, Some(Phase::Resolve));
        failure
    };
    assert!(timeout(ms(500), client.connect()).await.is_err());
    assert_eq!(told(&client).to_string(), "resolve: no such name");
    let failed = client.try_connect().await;
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    assert!(timeout(s(1), client.connect()).await.is_err());
    assert_eq!(told(&client).to_string(), "resolve: no address");
    assert!(timeout(s(22), client.connect()).await.is_err());
    assert_eq!(told(&client).reason, Reason::Deadline(s(20)));
    let asked = asked.lock().expect("sound").clone();
    assert_close(&asked, &[0, 1_000, 2_600, 22_600].map(ms));
}

/// (A9) Addresses that stay keep their attempt, those that go are cancelled.
#[tokio::test(start_paused = true)]
async fn a_changed_list_keeps_what_stays() {
    let (stays, goes) = (Address::AcceptsAfter(900), Address::Hangs(1));
    let log = Log::default();
    let client = Reconnector::with_addresses(Config::GRPC, [goes, stays], dial(&log));
    let (mut client, reports) = observed(client.expect("valid"));
    let handle = client.handle().clone();
    let changed = tokio::spawn(async move {
        sleep(ms(500)).await;
        handle.set_addresses([stays]);
    });
    assert_eq!(client.connect().await, Ok(stays));
    changed.await.expect("no panic");
    dialled(&log, &[(goes, 0), (stays, 250)]);
    let first = reports.lock().expect("sound")[0].clone();
    assert_eq!(first.outcome, Outcome::Cancelled);
    assert_eq!(first.ended_at - first.started_at, ms(500));
}

/// Case 12: a new target during a backoff is dialled at once, and the old wait means nothing.
#[tokio::test(start_paused = true)]
async fn a_new_target_is_dialled_at_once() {
    let (old, new) = (Address::RefusesAfter(0), Address::Hangs(0));
    let log = Log::default();
    let client = Reconnector::with_addresses(Config::GRPC, [old], dial(&log));
    let (mut client, _) = observed(client.expect("valid"));
    let handle = client.handle().clone();
    tokio::spawn(async move {
        sleep(ms(500)).await;
        handle.retarget([new]);
    });
    assert!(timeout(s(15), client.connect()).await.is_err());
    dialled(&log, &[(old, 0), (new, 500)]);
}
