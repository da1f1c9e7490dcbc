//! Our client: a `Reconnector` whose attempts are over when SETTINGS has arrived.

use crate::dials::Stream;
use grpc_backoff::{AttemptReport, Config, Failure, Reconnector};
use grpc_faults::Client;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

/// What the client tells of its attempts.
pub(crate) type Reports = Arc<Mutex<Vec<AttemptReport>>>;

/// Keeps a connection for this long, over streams that `dial` gives.
pub(crate) async fn keep_connected<Fut>(
    config: Config,
    draws: impl FnMut() -> u64 + Send + 'static,
    lasts: Duration,
    keepalive: Duration,
    reports: &Reports,
    dial: impl Fn() -> Fut,
) where
    Fut: Future<Output = io::Result<Box<dyn Stream>>>,
{
    let connect = |_| {
        let dialled = dial();
        async { Ok::<_, Failure<io::Error>>(Client::settle(dialled.await?).await?) }
    };
    let observed = Arc::clone(reports);
    let mut server = Reconnector::new(config, connect)
        .expect("valid")
        .with_draws(draws)
        .on_attempt(move |report| observed.lock().expect("sound").push(report.clone()));
    let keeping = async {
        loop {
            let client = server.connect().await.expect("no limit is set");
            client.gone(keepalive).await;
            server.lost();
        }
    };
    let _: Result<(), _> = timeout(lasts, keeping).await;
}
