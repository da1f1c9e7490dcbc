//! The official interop test's judgement over our machine, and over its own limits (V11).

use crate::oracle::{Rejected, judge};
use conformance::draws::Draws;
use conformance::grpc::{actions, fail};
use conformance::time::{ms, s};
use grpc_backoff::{Action, Config, Connection};

#[test]
fn the_official_limits_are_exact() {
    assert_eq!(judge(&[700], 120_000), Ok(()));
    assert_eq!(judge(&[699], 120_000), Err(Rejected::Gap(0)));
    assert_eq!(judge(&[1_300], 120_000), Ok(()));
    assert_eq!(judge(&[1_301], 120_000), Err(Rejected::Gap(0)));

    let to_the_cap = [
        1_000, 1_600, 2_560, 4_096, 6_554, 10_486, 16_777, 26_844, 42_950, 68_719, 109_951,
    ];
    for (last, verdict) in [
        (144_100, Ok(())),
        (144_101, Err(Rejected::Gap(11))),
        (95_899, Err(Rejected::Gap(11))),
    ] {
        let gaps: Vec<u64> = to_the_cap.into_iter().chain([last]).collect();
        assert_eq!(judge(&gaps, 120_000), verdict);
    }
}

#[test]
fn an_empty_record_and_a_single_connection_prove_nothing() {
    assert_eq!(judge(&[], 120_000), Err(Rejected::TooFewConnections));
}

#[test]
fn a_client_without_backoff_or_with_a_constant_one_is_rejected() {
    assert_eq!(judge(&[0; 10], 120_000), Err(Rejected::Gap(0)));
    assert_eq!(judge(&[1_000; 10], 120_000), Err(Rejected::Gap(1)));
}

/// 540 s of refusals, as the official test lasts, by a thousand clients.
#[test]
fn our_machine_passes_whatever_it_draws() {
    for seed in 0..1_000 {
        let mut draws = Draws::Splitmix64(seed);
        let mut connection = Connection::new(Config::GRPC).expect("valid");
        connection.connect(s(0));
        let mut accepted_at = Vec::new();
        while let Some(now) = connection.poll_timeout().filter(|&now| now < s(540)) {
            for action in actions(&mut connection, now, || draws.draw()) {
                if let Action::Start(start) = action {
                    accepted_at.push(now);
                    fail(&mut connection, now + ms(3), start.attempt); // accepted, then closed
                }
            }
        }
        let gaps: Vec<u64> = accepted_at
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_millis() as u64)
            .collect();
        assert_eq!(judge(&gaps, 120_000), Ok(()), "seed {seed}: {gaps:?}");
        assert!(gaps.len() >= 12, "seed {seed}: {gaps:?}");
    }
}
