//! The tokio driver in virtual time: hours pass at once, and every instant is known.

mod addresses;
mod basics;
mod breaking;
mod callbacks;
mod cancelling;
mod events;
mod fleet;
mod guards;
mod large;
mod metrics;
mod neighbours;
mod polls;
mod restart;
mod rules;
mod scripts;
mod shared;
mod views;

use conformance::draws::middle;
use conformance::time::assert_close;
use grpc_backoff::{Attempt, AttemptReport, Config, Failure, Outcome, Reconnector};
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[expect(clippy::disallowed_methods, reason = "the paused clock of these tests")]
fn virtual_now() -> Instant {
    Instant::now()
}

type Reports = Arc<Mutex<Vec<AttemptReport>>>;

/// What the server does, attempt by attempt; the last entry repeats.
#[derive(Clone, Copy)]
enum Server {
    Refuses,
    RefusesAfter(Duration),
    RefusesForGood,
    Hangs,
    AcceptsAfter(Duration),
}

type Dialled = Result<&'static str, Failure<&'static str>>;

async fn dial(server: Server) -> Dialled {
    match server {
        Server::Refuses => Err(Failure::Retry("refused")),
        Server::RefusesAfter(delay) => {
            sleep(delay).await;
            Err(Failure::Retry("refused"))
        }
        Server::RefusesForGood => Err(Failure::Final("not allowed")),
        Server::Hangs => pending().await,
        Server::AcceptsAfter(delay) => {
            sleep(delay).await;
            Ok("connection")
        }
    }
}

type Connecting = Pin<Box<dyn Future<Output = Dialled> + Send>>;
type Dial = Box<dyn FnMut(Attempt) -> Connecting + Send>;

/// A reconnector to this server with middle draws, and what it reports.
fn client<const N: usize>(
    config: Config,
    script: [Server; N],
) -> (Reconnector<(), Dial, Connecting>, Reports) {
    let reports = Reports::default();
    let observed = Arc::clone(&reports);
    let dial: Dial = Box::new(move |attempt| {
        let nth = usize::try_from(attempt.id().get()).expect("few attempts");
        Box::pin(dial(script[nth.min(N - 1)]))
    });
    let client = Reconnector::new(config, dial)
        .expect("valid")
        .with_draws(middle)
        .on_attempt(move |report| observed.lock().expect("sound").push(report.clone()));
    (client, reports)
}

fn limited(attempts: u32) -> Config {
    let mut config = Config::GRPC;
    config.max_attempts = attempts.try_into().ok();
    config
}

fn since(epoch: Instant, reports: &Reports) -> Vec<Duration> {
    let reports = reports.lock().expect("sound");
    reports
        .iter()
        .map(|report| report.started_at - epoch)
        .collect()
}

fn outcomes(reports: &Reports) -> Vec<Outcome> {
    let reports = reports.lock().expect("sound");
    reports
        .iter()
        .map(|report| report.outcome.clone())
        .collect()
}
