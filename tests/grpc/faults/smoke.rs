//! The same beds over TCP in real time, with delays of a few hundred milliseconds: nothing comes
//! too early, and what is due comes.

use crate::beds::{self, Bed};
use crate::control::{call_again_and_again, call_for_ever, over_ours};
use crate::dials::tcp;
use crate::ours::{Reports, keep_connected};
use conformance::draws::Draws;
use conformance::skip;
use conformance::time::{ms, s};
use grpc_backoff::Config;
use grpc_backoff::tonic::Builder;
use grpc_faults::{Fault, Judge, Listener};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The document's values, a fifth of them or less.
const SCALED: Config = Config {
    initial_backoff: ms(200),
    max_backoff: ms(400),
    min_connect_timeout: ms(300),
    ..Config::GRPC
};
/// How many starts are judged.
const STARTS: usize = 4;

/// The bed with times scaled as the client's. On a busy machine anything may come late, and so
/// the next one 50 ms early.
fn scaled(bed: Bed) -> Bed {
    let fault = match bed.fault {
        Fault::SettingsLate(_) => Fault::SettingsLate(s(2)),
        Fault::SettingsByteByByte(_) => Fault::SettingsByteByByte(ms(300)),
        fault => fault,
    };
    let hangs = bed.judge.attempt >= s(1);
    let judge = Judge {
        initial: ms(200),
        max: bed.judge.max.min(if bed.judge.max < s(120) {
            ms(200)
        } else {
            ms(400)
        }),
        attempt: if hangs { ms(300) } else { Duration::ZERO },
        early: ms(50),
        late: s(5),
        ..bed.judge
    };
    Bed {
        fault,
        judge,
        keepalive: bed.keepalive / 5,
        ..bed
    }
}

/// Binds a server for each bed; where one cannot be bound, says so.
fn servers() -> Vec<(Bed, Listener)> {
    let bind = |bed: Bed| match Listener::bind(bed.fault) {
        Ok(listener) => Some((bed, listener)),
        Err(error) if bed.fault == Fault::Refuse => {
            skip("refused connections in real time", &error.to_string());
            None
        }
        Err(error) => panic!("{:?}: {error}", bed.fault),
    };
    beds::all()
        .into_iter()
        .map(scaled)
        .filter_map(bind)
        .collect()
}

/// Runs a client until its first starts are there, and judges them.
async fn passes(bed: &Bed, server: &Listener, client: impl Future<Output = ()>) {
    let dialled = async {
        while server.starts().len() < STARTS {
            sleep(ms(10)).await;
        }
    };
    tokio::select! {
        () = client => panic!("{:?}: it ended", bed.fault),
        dialled = timeout(s(30), dialled) => dialled.expect("it is not stuck"),
    }
    let starts = server.starts();
    let verdict = bed.judge.judge(&starts);
    assert_eq!(verdict, Ok(()), "{:?}: {starts:?}", bed.fault);
}

#[tokio::test]
async fn our_client_is_never_early_and_never_stuck() {
    let mut runs = JoinSet::new();
    for (bed, server) in servers() {
        runs.spawn(async move {
            let mut draws = Draws::Splitmix64(1);
            let (draws, reports) = (move || draws.draw(), Reports::default());
            let dial = tcp(&server, bed.tls);
            let client = keep_connected(SCALED, draws, s(60), bed.keepalive, &reports, dial);
            passes(&bed, &server, client).await;
        });
    }
    runs.join_all().await;
}

#[tokio::test]
async fn tonic_over_our_connector_is_not_either() {
    let mut runs = JoinSet::new();
    for (bed, server) in servers() {
        runs.spawn(async move {
            let target = format!("http://{}", server.address());
            let target = target.parse().expect("a URI");
            let builder = Builder::new(SCALED);
            let channel = over_ours(builder, target, bed.tls, bed.keepalive);
            passes(&bed, &server, call_for_ever(channel)).await;
        });
    }
    runs.join_all().await;
}

#[tokio::test]
async fn plain_tonic_fails_here_too() {
    let mut runs = JoinSet::new();
    for (bed, server) in servers() {
        runs.spawn(async move {
            call_again_and_again(tcp(&server, bed.tls), bed.keepalive, ms(150)).await;
            let starts = server.starts();
            let verdict = bed.judge.judge(&starts);
            assert!(verdict.is_err(), "{:?}: {starts:?}", bed.fault);
        });
    }
    runs.join_all().await;
}
