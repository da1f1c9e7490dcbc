//! Who dials how: other clients, plain tonic and ours, before the same servers.

use super::Peer;
use super::table::{self, Cell, Column};
use crate::control::{call_again_and_again, call_for_ever, over_ours};
use crate::dials::tcp;
use crate::ours::{Reports, keep_connected};
use conformance::draws::Draws;
use conformance::skip;
use conformance::time::{ms, s};
use grpc_backoff::Config;
use grpc_backoff::tonic::Builder;
use grpc_faults::{Fault, Judge, Listener};
use std::io;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The settings of every client here.
const SCALED: Config = Config {
    initial_backoff: ms(500),
    max_backoff: ms(2_000),
    min_connect_timeout: ms(1_000),
    ..Config::GRPC
};

/// How many starts are judged; a client that has fewer by then is done.
const STARTS: usize = 6;
const LASTS: Duration = s(9);

/// Each server, and what is right before it.
const SERVERS: [(&str, Fault, Judge); 5] = [
    ("refuses", Fault::Refuse, FAILS),
    ("accepts and closes", Fault::AcceptThenClose, FAILS),
    ("never says anything", Fault::BlackHole, HANGS),
    ("sends SETTINGS after 3 s", Fault::SettingsLate(s(3)), HANGS),
    (
        "sends SETTINGS, closes after 50 ms",
        Fault::SettingsThenClose(ms(50)),
        FLAPS,
    ),
];

/// The official limits, but for a busy machine, where anything may come late.
const FAILS: Judge = Judge {
    initial: SCALED.initial_backoff,
    max: SCALED.max_backoff,
    late: s(1),
    ..Judge::OFFICIAL
};
const HANGS: Judge = Judge {
    attempt: SCALED.min_connect_timeout,
    ..FAILS
};
const FLAPS: Judge = Judge {
    max: SCALED.initial_backoff,
    ..FAILS
};

/// Who dials.
#[derive(Clone)]
enum Client {
    Ours,
    TonicOverOurs,
    PlainTonic,
    Peer(Peer),
}

impl Client {
    fn title(&self) -> String {
        match self {
            Self::Ours => "grpc-backoff".to_owned(),
            Self::TonicOverOurs => "tonic 0.14 by its connector".to_owned(),
            Self::PlainTonic => "tonic 0.14, plain".to_owned(),
            Self::Peer(peer) => format!("{} {}", peer.name, peer.version),
        }
    }

    /// Dials the server for as long as it is polled.
    async fn dial(&self, server: &Listener) {
        match self {
            Self::Ours => {
                let mut draws = Draws::Splitmix64(1);
                let draws = move || draws.draw();
                let reports = Reports::default();
                keep_connected(SCALED, draws, s(60), s(60), &reports, tcp(server, false)).await;
            }
            Self::TonicOverOurs => {
                let target = format!("http://{}", server.address());
                let target = target.parse().expect("a URI");
                call_for_ever(over_ours(Builder::new(SCALED), target, false, s(60))).await;
            }
            Self::PlainTonic => {
                call_again_and_again(tcp(server, false), s(60), ms(200)).await;
            }
            Self::Peer(peer) => {
                let mut command = peer.client();
                command.arg(server.address().port().to_string());
                for (name, value) in [
                    ("initial", SCALED.initial_backoff),
                    ("max", SCALED.max_backoff),
                    ("min", SCALED.min_connect_timeout), // its connect deadline, if it has one
                ] {
                    let ms = value.as_millis();
                    command.arg(format!("grpc.{name}_reconnect_backoff_ms={ms}"));
                }
                let status = command.status().await.expect("it is installed");
                panic!("{} ended: {status}", peer.name);
            }
        }
    }
}

/// The first connections that a client makes to a server, or that they cannot be noted here.
async fn starts(client: &Client, fault: Fault) -> io::Result<Vec<Duration>> {
    let server = Listener::bind(fault)?;
    let noted = |count| {
        let server = &server;
        async move {
            while server.starts().len() < count {
                sleep(ms(5)).await;
            }
        }
    };
    let all = async {
        timeout(s(30), noted(1)).await.expect("it dials at all");
        let _ = timeout(LASTS, noted(STARTS)).await;
    };
    tokio::select! {
        () = client.dial(&server) => {}
        () = all => {}
    }
    let mut starts = server.starts();
    starts.truncate(STARTS);
    Ok(starts)
}

/// All servers at the same time; client by client, since they share few cores.
async fn column(client: Client) -> Column {
    let mut runs = JoinSet::new();
    for (row, (_, fault, judge)) in SERVERS.into_iter().enumerate() {
        let client = client.clone();
        runs.spawn(async move {
            let cell = match starts(&client, fault).await {
                Ok(starts) => Some(Cell::new(&starts, judge)),
                Err(error) if fault == Fault::Refuse => {
                    skip(
                        "who_conforms_to_what: a port that refuses",
                        &error.to_string(),
                    );
                    None
                }
                Err(error) => panic!("{fault:?}: {error}"),
            };
            (row, cell)
        });
    }
    let mut cells = runs.join_all().await;
    cells.sort_by_key(|&(row, _)| row);
    Column {
        title: client.title(),
        cells: cells.into_iter().map(|(_, cell)| cell).collect(),
    }
}

#[tokio::test]
async fn who_conforms_to_what() {
    let mut clients = vec![Client::Ours, Client::TonicOverOurs, Client::PlainTonic];
    for name in ["grpcio", "grpc-js"] {
        match Peer::find(name) {
            Some(peer) => clients.push(Client::Peer(peer)),
            None => skip("who_conforms_to_what", &format!("{name} is not installed")),
        }
    }
    let mut columns = Vec::new();
    for client in clients {
        columns.push(column(client).await);
    }
    table::check(&SERVERS.map(|(server, ..)| server), &columns);
}
