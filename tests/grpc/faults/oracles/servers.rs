//! Our client before a server of grpcio's, which is killed, comes back, grows old and closes.

use super::Peer;
use crate::dials::{Dialled, address};
use crate::ours::{Reports, keep_connected};
use conformance::draws::Draws;
use conformance::skip;
use conformance::time::{ms, s};
use grpc_backoff::{AttemptReport, Config, Outcome};
use grpc_faults::Judge;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::{sleep, timeout};

/// The settings of our client here.
const SCALED: Config = Config {
    initial_backoff: ms(200),
    max_backoff: ms(400),
    ..Config::GRPC
};

/// A server that listens. It is killed with its handle.
struct Server {
    _process: Child,
    address: SocketAddr,
}

impl Server {
    /// Port 0 is any free one.
    async fn start(peer: &Peer, port: u16, options: &[&str]) -> Self {
        let mut command = peer.server();
        command.arg(port.to_string()).args(options);
        let mut process = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("it is installed");
        let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let line = timeout(s(60), lines.next_line())
            .await
            .expect("it starts in time");
        let port = line.expect("it can be read").expect("it says its port");
        let port: u16 = port.parse().expect("a number");
        Self {
            _process: process,
            address: (Ipv4Addr::LOCALHOST, port).into(),
        }
    }
}

/// Runs our client, and meanwhile `script`.
async fn run(server: SocketAddr, script: impl AsyncFnOnce(&Reports)) {
    let reports = Reports::default();
    let mut draws = Draws::Splitmix64(1);
    let draws = move || draws.draw();
    let dial = move || -> Dialled { address(server, false) };
    tokio::select! {
        () = keep_connected(SCALED, draws, s(600), s(60), &reports, dial) => panic!("it ended"),
        () = script(&reports) => {}
    }
}

/// The reports so far, once `enough` says so.
async fn reported(
    reports: &Reports,
    enough: impl Fn(&[AttemptReport]) -> bool,
) -> Vec<AttemptReport> {
    let all = || reports.lock().expect("sound").clone();
    let waits = async {
        while !enough(&all()) {
            sleep(ms(5)).await;
        }
    };
    timeout(s(60), waits).await.expect("it comes that far");
    all()
}

fn connections(reports: &[AttemptReport]) -> usize {
    let connected = |report: &&AttemptReport| report.outcome == Outcome::Connected;
    reports.iter().filter(connected).count()
}

/// When these attempts started, since the first of them.
fn starts(reports: &[AttemptReport]) -> Vec<Duration> {
    let first = reports[0].started_at;
    reports
        .iter()
        .map(|report| report.started_at - first)
        .collect()
}

fn grpcio(test: &str) -> Option<Peer> {
    let peer = Peer::find("grpcio");
    if peer.is_none() {
        skip(test, "grpcio is not installed");
    }
    peer
}

#[tokio::test]
async fn a_killed_server_is_dialled_gently_and_found_again() {
    let Some(peer) = grpcio("a_killed_server_is_dialled_gently_and_found_again") else {
        return;
    };
    let server = Server::start(&peer, 0, &[]).await;
    let address = server.address;
    run(address, async |reports| {
        reported(reports, |all| connections(all) == 1).await;
        drop(server);
        let failed = reported(reports, |all| all.len() >= 6).await;
        assert_eq!(connections(&failed), 1, "nobody listens: {failed:?}");
        let judge = Judge {
            initial: SCALED.initial_backoff,
            max: SCALED.max_backoff,
            early: Duration::ZERO,
            late: s(5),
            ..Judge::OFFICIAL
        };
        let starts = starts(&failed[1..]);
        assert_eq!(judge.judge(&starts), Ok(()), "{starts:?}");

        let _server = Server::start(&peer, address.port(), &[]).await;
        reported(reports, |all| connections(all) == 2).await;
    })
    .await;
}

/// Each connection ends with GOAWAY, at about a second's age: no attempt fails, and a new
/// connection is there at once.
#[tokio::test]
async fn a_server_whose_connections_grow_old_is_never_missed() {
    let Some(peer) = grpcio("a_server_whose_connections_grow_old_is_never_missed") else {
        return;
    };
    let ages = [
        "grpc.max_connection_age_ms=1000",
        "grpc.max_connection_age_grace_ms=1000",
    ];
    let server = Server::start(&peer, 0, &ages).await;
    run(server.address, async |reports| {
        let all = reported(reports, |all| all.len() >= 4).await;
        assert_eq!(connections(&all), all.len(), "{all:?}");
        for gap in starts(&all).windows(2).map(|pair| pair[1] - pair[0]) {
            assert!(gap >= ms(800), "its jitter is a tenth: {gap:?}");
        }
    })
    .await;
}

/// Each connection ends as soon as SETTINGS has come, and the next one starts a first delay after
/// the one before, not at once (D9).
#[tokio::test]
async fn a_server_that_closes_after_settings_is_dialled_gently() {
    let Some(peer) = grpcio("a_server_that_closes_after_settings_is_dialled_gently") else {
        return;
    };
    let ages = [
        "grpc.max_connection_age_ms=1",
        "grpc.max_connection_age_grace_ms=1",
    ];
    let server = Server::start(&peer, 0, &ages).await;
    run(server.address, async |reports| {
        let all = reported(reports, |all| all.len() >= 8).await;
        assert!(connections(&all) >= 1, "{all:?}");
        let least = SCALED.initial_backoff * 4 / 5;
        for gap in starts(&all).windows(2).map(|pair| pair[1] - pair[0]) {
            assert!(gap >= least, "{gap:?}: {all:?}");
        }
    })
    .await;
}
