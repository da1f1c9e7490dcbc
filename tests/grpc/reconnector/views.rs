//! (D14) The view for people: one line in each state, the same from wherever one looks.

use super::{Server, client, limited};
use conformance::time::{ms, s};
use grpc_backoff::{Attempt, Config, Failure, Phase, Reconnector};
use std::sync::{Arc, Mutex};
use tokio::time::{sleep, timeout};

/// (D14) The text of the status, and what the machine explains, in each state.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_each_state_has_its_line() {
    let script = [
        Server::Hangs,
        Server::RefusesAfter(ms(5)),
        Server::AcceptsAfter(s(1)),
    ];
    let (mut client, _) = client(Config::GRPC, script);
    let handle = client.handle().clone();
    let lines = || (handle.status().to_string(), handle.explain());
    let expect = |status: &str, explained: &str| {
        assert_eq!(lines(), (status.to_owned(), explained.to_owned()));
    };
    expect("IDLE", "IDLE; no connection wanted");
    assert!(timeout(s(5), client.connect()).await.is_err());
    expect(
        "CONNECTING",
        "CONNECTING, attempt #0 after 0 failures; aborted in 15.0 s unless SETTINGS arrives",
    );
    // The second attempt starts at 20 s; a delay of 1.6 s follows.
    assert!(timeout(ms(15_500), client.connect()).await.is_err());
    expect(
        "TRANSIENT_FAILURE after 2 failures; last: refused; next attempt in 1.1 s",
        "TRANSIENT_FAILURE after 2 failures; next attempt in 1.1 s",
    );
    assert!(timeout(ms(1_600), client.connect()).await.is_err());
    expect(
        "CONNECTING after 2 failures; last: refused",
        "CONNECTING, attempt #2 after 2 failures; aborted in 19.5 s unless SETTINGS arrives",
    );
    assert_eq!(client.connect().await, Ok("connection"));
    sleep(s(90)).await;
    expect("READY", "READY for 90.0 s by attempt #2");
    client.shutdown();
    expect("SHUTDOWN", "SHUTDOWN");
}

/// (D14) A limit that was reached is named.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_one_that_gave_up_says_at_which_limit() {
    let (mut client, _) = client(limited(2), [Server::Refuses]);
    assert!(client.connect().await.is_err());
    let handle = client.handle();
    let line = "GAVE_UP after 2 failures: max_attempts reached";
    assert_eq!(handle.explain(), line);
    assert_eq!(
        handle.status().to_string(),
        format!("{line}; last: refused")
    );
}

/// (D14) What came of each attempt, in a line.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d14_each_attempt_has_its_line() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&lines);
    let dial = |attempt: Attempt| async move {
        if attempt.id().get() == 0 {
            return Err(Failure::Final("not allowed"));
        }
        attempt.enter(Phase::Tcp);
        sleep(ms(100)).await;
        attempt.enter(Phase::Settings);
        sleep(s(60)).await;
        Ok(())
    };
    let client = Reconnector::new(Config::GRPC, dial).expect("valid");
    let mut client =
        client.on_attempt(move |report| written.lock().expect("sound").push(report.to_string()));
    assert!(client.connect().await.is_err());
    assert!(timeout(s(22), client.connect()).await.is_err());
    let expected = [
        "attempt #0, 0 s: refused for good: not allowed",
        "attempt #1, 20 s (TCP 0.1 s, SETTINGS 19.9 s): not accepted before its connect deadline",
    ];
    assert_eq!(*lines.lock().expect("sound"), expected);
}
