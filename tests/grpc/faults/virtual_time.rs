//! Every instant at which our client dials a server that fails.

use crate::beds::{self, Bed, LASTS};
use crate::control::{TARGET, call_again_and_again, call_for_ever, over_ours};
use crate::dials::memory;
use crate::ours::{Reports, keep_connected};
use conformance::draws::{Draws, middle};
use conformance::time::{assert_close, ms, s};
use grpc_backoff::Config;
use grpc_backoff::tonic::Builder;
use grpc_faults::{Client, Fault, Memory, Rejected};
use std::time::Duration;
use tokio::time::timeout;

/// When our client dials, in a bed.
async fn starts(bed: &Bed, draws: impl FnMut() -> u64 + Send + 'static) -> Vec<Duration> {
    let server = Memory::new(bed.fault);
    let dial = memory(&server, bed.tls);
    keep_connected(
        Config::GRPC,
        draws,
        LASTS,
        bed.keepalive,
        &Reports::default(),
        dial,
    )
    .await;
    server.starts()
}

#[tokio::test(start_paused = true)]
async fn our_client_dials_at_the_documents_instants() {
    for bed in beds::all() {
        println!("{:?}", bed.fault); // shown if it fails
        assert_close(&starts(&bed, middle).await, &bed.starts);
    }
}

#[tokio::test(start_paused = true)]
async fn our_client_passes_whatever_it_draws() {
    for bed in beds::all() {
        for seed in 0..20 {
            let mut draws = Draws::Splitmix64(seed);
            let starts = starts(&bed, move || draws.draw()).await;
            let verdict = bed.judge.judge(&starts);
            assert_eq!(verdict, Ok(()), "{:?}, seed {seed}: {starts:?}", bed.fault);
        }
    }
}

/// It dials once per call, or it has one attempt that never ends.
#[tokio::test(start_paused = true)]
async fn plain_tonic_fails_in_every_bed() {
    for bed in beds::all() {
        let server = Memory::new(bed.fault);
        call_again_and_again(memory(&server, bed.tls), bed.keepalive, s(60)).await;
        let starts = server.starts();
        let verdict = bed.judge.judge(&starts);
        let one_that_never_ends = [
            Fault::BlackHole,
            Fault::TlsStall,
            Fault::SettingsLate(s(25)),
            Fault::SettingsByteByByte(s(3)),
            Fault::WrongFirstFrame, // which it does not notice
        ];
        if one_that_never_ends.contains(&bed.fault) {
            assert_eq!(
                verdict,
                Err(Rejected::TooFewConnections(1)),
                "{:?}",
                bed.fault
            );
        } else {
            let hasty = matches!(verdict, Err(Rejected::TooEarly(_)));
            assert!(hasty, "{:?}: {verdict:?}: {starts:?}", bed.fault);
        }
    }
}

/// Our connector in tonic's own channel is all that it takes.
#[tokio::test(start_paused = true)]
async fn tonic_over_our_connector_passes_in_every_bed() {
    for bed in beds::all() {
        for seed in 0..2 {
            let server = Memory::new(bed.fault);
            let mut draws = Draws::Splitmix64(seed);
            let builder = Builder::new(Config::GRPC)
                .over(server.clone())
                .with_draws(move || draws.draw());
            let channel = over_ours(
                builder,
                TARGET.parse().expect("a URI"),
                bed.tls,
                bed.keepalive,
            );
            let _: Result<(), _> = timeout(LASTS, call_for_ever(channel)).await;
            let starts = server.starts();
            let verdict = bed.judge.judge(&starts);
            assert_eq!(verdict, Ok(()), "{:?}, seed {seed}: {starts:?}", bed.fault);
        }
    }
}

/// The control reaches a server in order: what it fails at is the fault.
#[tokio::test(start_paused = true)]
async fn a_healthy_server_is_dialled_once_by_both() {
    for fault in [
        Fault::Healthy,
        Fault::SettingsLate(s(3)),
        Fault::SettingsByteByByte(s(1)),
    ] {
        let server = Memory::new(fault);
        let dial = memory(&server, false);
        keep_connected(
            Config::GRPC,
            middle,
            LASTS,
            s(60),
            &Reports::default(),
            dial.clone(),
        )
        .await;
        assert_eq!(server.starts().len(), 1, "{fault:?}");
        assert_eq!(
            call_again_and_again(dial, s(60), s(60)).await,
            0,
            "{fault:?}"
        );
        assert_eq!(server.starts().len(), 2, "{fault:?}");
    }
}

/// A connection that lasted is made again at once, and a run of failures ends with SETTINGS.
#[tokio::test(start_paused = true)]
async fn a_server_that_recovers_is_found_and_lost_again() {
    let up = Fault::SettingsThenClose(s(5));
    let server = (Memory::new(Fault::Refuse).after(3, up)).after(5, Fault::Refuse);
    let dial = memory(&server, false);
    keep_connected(
        Config::GRPC,
        middle,
        s(19),
        s(60),
        &Reports::default(),
        dial,
    )
    .await;
    // Three failures; connections at 5.16 and 10.16 s; then the delays are 1 and 1.6 s again.
    let starts = [0, 1_000, 2_600, 5_160, 10_160, 15_160, 16_160, 17_760].map(ms);
    assert_close(&server.starts(), &starts);
}

/// A client that waits for SETTINGS before its first call waits for ever (D13).
#[tokio::test(start_paused = true)]
async fn a_protocol_sniffer_answers_who_calls_first() {
    let server = Memory::new(Fault::SettingsAfterRequest);
    let dial = || async { server.connect().await.expect("it accepts") };
    assert!(
        timeout(s(3_600), Client::settle(dial().await))
            .await
            .is_err()
    );
    assert!(Client::call_and_settle(dial().await).await.is_ok());
    let failures = call_again_and_again(memory(&server, false), s(60), s(60)).await;
    assert_eq!(failures, 0);
}
