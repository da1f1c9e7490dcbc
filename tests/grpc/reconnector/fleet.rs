//! Many reconnectors of one program: a reset of all of them (D15), a budget for all of them (D17).

use super::{Reports, Server, dial, since, virtual_now};
use backoff_policy::uniform;
use conformance::draws::{Draws, middle};
use conformance::grpc::FAILING;
use conformance::time::{assert_close, ms, s};
use grpc_backoff::{Attempt, AttemptBudget, AttemptReport, Config, Error, Handle, Reconnector};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

const CLIENTS: usize = 1_000;
const WINDOW: Duration = s(15);

/// Begins to connect to a server that refuses, at this moment.
fn begin(
    tasks: &mut JoinSet<()>,
    draws: impl FnMut() -> u64 + Send + 'static,
    budget: Option<&AttemptBudget>,
) -> (Handle, Reports) {
    let reports = Reports::default();
    let observed = Arc::clone(&reports);
    let mut client = Reconnector::new(Config::GRPC, |_: Attempt| dial(Server::Refuses))
        .expect("valid")
        .with_draws(draws)
        .on_attempt(move |report: &AttemptReport| {
            observed.lock().expect("sound").push(report.clone());
        });
    if let Some(budget) = budget {
        client = client.with_budget(budget.clone());
    }
    let handle = client.handle().clone();
    tasks.spawn(async move {
        let _ = client.connect().await;
    });
    (handle, reports)
}

/// How many of these starts lie in each of the first `seconds`.
fn histogram<'a>(starts: impl Iterator<Item = &'a Duration>, seconds: usize) -> Vec<usize> {
    let mut histogram = vec![0; seconds];
    for start in starts {
        if let Some(count) = histogram.get_mut(start.as_secs() as usize) {
            *count += 1;
        }
    }
    histogram
}

/// (D15) They all wait for an attempt a minute away, and are reset at once: each starts at its own
/// point of the window, and the server sees them evenly over the whole of it.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d15_a_thousand_clients_that_are_reset_return_over_the_window() {
    let mut tasks = JoinSet::new();
    let mut seeds = Draws::Splitmix64(1_015);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let draw = seeds.draw();
            // The tenth attempt starts at 112.9 s, the next one would at 181.6 s.
            let mut draws = std::iter::repeat_n(middle(), 10).chain(std::iter::repeat(draw));
            let client = begin(&mut tasks, move || draws.next().expect("endless"), None);
            (client, uniform(WINDOW, draw))
        })
        .collect();
    sleep(s(120)).await;
    let reset_at = virtual_now();
    for ((handle, _), _) in &clients {
        handle.reset_within(WINDOW);
    }
    sleep(WINDOW + ms(1)).await;

    let mut starts = Vec::new();
    for ((_, reports), point) in &clients {
        let reports = reports.lock().expect("sound");
        let eleventh = reports[10].started_at - reset_at;
        assert_close(&[Duration::ZERO, eleventh], &[Duration::ZERO, *point]);
        starts.push(eleventh);
    }
    let seconds = histogram(starts.iter(), 15);
    println!("starts in each second after the reset: {seconds:?}");
    // 66.7 on average, 7.9 the standard deviation.
    assert!(seconds.iter().all(|n| (35..=99).contains(n)), "{seconds:?}");
}

/// (D17) (S13) A thousand clients that begin together: the server sees the budget and no more,
/// second by second, and no client is faster than it would be alone.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d17_a_thousand_clients_keep_to_their_budget() {
    const SECONDS: usize = 50;
    let epoch = virtual_now();
    let budget = AttemptBudget::new(50, ms(10)).expect("valid");
    let mut tasks = JoinSet::new();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| begin(&mut tasks, middle, Some(&budget)).1)
        .collect();
    sleep_until(epoch + Duration::from_secs(SECONDS as u64)).await;

    let starts: Vec<_> = clients
        .iter()
        .map(|reports| since(epoch, reports))
        .collect();
    let seconds = histogram(starts.iter().flatten(), SECONDS);
    // The bucket's 50 at once, and one every 10 ms from then on.
    let mut expected = vec![100; SECONDS];
    expected[0] = 50 + 99;
    assert_eq!(seconds, expected);

    for (starts, reports) in starts.iter().zip(&clients) {
        let mut alone = starts.iter().zip(&FAILING);
        assert!(alone.all(|(start, alone)| start >= alone), "{starts:?}");
        for pair in reports.lock().expect("sound").windows(2) {
            assert!(pair[1].started_at >= pair[0].started_at + pair[0].backoff);
        }
    }
}

/// (D11) (D17) A limit that passes in the wait for a token is told when it passes.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d11_a_limit_ends_the_wait_for_a_token() {
    let budget = AttemptBudget::new(1, s(100)).expect("valid");
    let mut config = Config::GRPC;
    config.max_elapsed = Some(s(5));
    let client = |addresses: &'static [&'static str], server| {
        let dial = move |_| dial(server);
        let addresses = addresses.iter().copied();
        let client = Reconnector::with_addresses(config, addresses, dial).expect("valid");
        client.with_budget(budget.clone())
    };
    let mut first = client(&["only"], Server::AcceptsAfter(ms(0)));
    assert!(first.connect().await.is_ok(), "it takes the token");
    for addresses in [&["only"][..], &["one", "another"]] {
        let mut waiting = client(addresses, Server::AcceptsAfter(ms(0)));
        let begun = virtual_now();
        let error = waiting.connect().await.expect_err("no token in time");
        assert_eq!(error.to_string(), "GAVE_UP: max_elapsed reached");
        assert_eq!(begun.elapsed(), s(5));
    }
}

/// (D11) The same with an attempt in flight, whose connect deadline is that limit.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d11_a_limit_ends_an_attempt_and_the_wait_for_a_token_together() {
    let budget = AttemptBudget::new(1, s(100)).expect("valid");
    let mut config = Config::GRPC;
    config.max_elapsed = Some(s(5));
    let dial = |_| dial(Server::Hangs);
    let client = Reconnector::with_addresses(config, ["one", "another"], dial).expect("valid");
    let mut client = client.with_budget(budget);
    let begun = virtual_now();
    let error = client.connect().await.expect_err("it hangs");
    assert!(matches!(error, Error::GaveUp(_)), "{error}");
    assert_eq!(begun.elapsed(), s(5));
}

/// (D19) (S13) Clients whose waits end at 997 different instants are woken at few that they share:
/// none early, none later than the slack, and without a slack each at its own.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d19_waits_end_together_and_never_early() {
    const SLACK: Duration = ms(100);
    let second_starts = async |slack| {
        let mut tasks = JoinSet::new();
        let clients: Vec<_> = (0..997_u64)
            .map(|n| {
                let reports = Reports::default();
                let observed = Arc::clone(&reports);
                let client = Reconnector::new(Config::GRPC, |_: Attempt| dial(Server::Refuses));
                let mut client = (client.expect("valid").with_slack(slack))
                    .with_draws(move || n * (u64::MAX / 997)) // 0.8 to 1.2 s
                    .on_attempt(move |report: &AttemptReport| {
                        observed.lock().expect("sound").push(report.clone());
                    });
                tasks.spawn(async move { client.connect().await.is_ok() });
                reports
            })
            .collect();
        sleep(s(2)).await;
        let starts = clients.iter().map(|reports| {
            let reports = reports.lock().expect("sound");
            let late = (reports[1].started_at - reports[0].started_at) - reports[0].backoff;
            assert!(late < slack + ms(2), "{late:?}"); // tokio's ticks are 1 ms
            reports[1].started_at
        });
        let mut starts: Vec<_> = starts.collect();
        starts.sort();
        starts.dedup();
        starts.len()
    };
    let (shared, alone) = (
        second_starts(SLACK).await,
        second_starts(Duration::ZERO).await,
    );
    assert!((4..=5).contains(&shared), "{shared}");
    assert!(alone > 300, "{alone}"); // 400 ms of ticks
}
