//! The official interop test's judgement over our machine, and over its own limits (V11).

use conformance::draws::Draws;
use conformance::grpc::{actions, fail};
use conformance::time::{ms, s};
use grpc_backoff::{Action, Config, Connection, Timing};
use grpc_faults::{Judge, Rejected};

/// Which gap is rejected, and whether it is too short: `None` passes.
fn rejected(judge: Judge, gaps_ms: &[u64]) -> Option<(usize, bool)> {
    match judge.judge_gaps(gaps_ms.iter().copied().map(ms)) {
        Ok(()) => None,
        Err(Rejected::TooEarly(gap)) => Some((gap.nth, true)),
        Err(Rejected::TooLate(gap)) => Some((gap.nth, false)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_official_limits_are_exact() {
    let official = |gaps_ms: &[u64]| rejected(Judge::OFFICIAL, gaps_ms);
    assert_eq!(official(&[700]), None);
    assert_eq!(official(&[699]), Some((0, true)));
    assert_eq!(official(&[1_300]), None);
    assert_eq!(official(&[1_301]), Some((0, false)));

    let to_the_cap = [
        1_000, 1_600, 2_560, 4_096, 6_554, 10_486, 16_777, 26_844, 42_950, 68_719, 109_951,
    ];
    for (last, verdict) in [
        (144_100, None),
        (144_101, Some((11, false))),
        (95_900, None),
        (95_899, Some((11, true))),
    ] {
        let gaps: Vec<u64> = to_the_cap.into_iter().chain([last]).collect();
        assert_eq!(official(&gaps), verdict, "{last}");
    }
}

/// The official test accepts both, since its record starts as passed.
#[test]
fn an_empty_record_and_a_single_connection_prove_nothing() {
    for starts in [&[][..], &[s(3)]] {
        let verdict = Judge::OFFICIAL.judge(starts);
        assert_eq!(verdict, Err(Rejected::TooFewConnections(starts.len())));
    }
    assert!(Judge::OFFICIAL.officially_passes([]));
    assert!(Judge::OFFICIAL.officially_passes([ms(700)]));
    assert!(!Judge::OFFICIAL.officially_passes([ms(699)]));
}

/// A silent server: no gap below the connect deadline is right, and none above it at first.
#[test]
fn a_black_hole_is_judged_by_the_connect_deadline() {
    let mut judge = Judge {
        attempt: s(20),
        ..Judge::OFFICIAL
    };
    let starts_s = [0, 20, 40, 60, 80, 100, 120, 140].map(s);
    assert_eq!(judge.judge(&starts_s), Ok(()));
    assert_eq!(rejected(judge, &[19_899]), Some((0, true)));
    assert_eq!(rejected(judge, &[20_101]), Some((0, false)));
    // After the eighth delay, of 26.8 s, the deadline no longer matters.
    let eighth = |gap| {
        rejected(
            judge,
            &[20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000, gap],
        )
    };
    assert_eq!(eighth(21_300), Some((7, true)));
    assert_eq!(eighth(32_312), None);

    judge.timing = Timing::FromFailure;
    assert_eq!(rejected(judge, &[21_000, 21_600, 22_560]), None);
    assert_eq!(rejected(judge, &[20_000]), Some((0, true)));
}

#[test]
fn a_client_without_backoff_or_with_a_constant_one_is_rejected() {
    assert_eq!(rejected(Judge::OFFICIAL, &[0; 10]), Some((0, true)));
    assert_eq!(rejected(Judge::OFFICIAL, &[1_000; 10]), Some((1, true)));
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
        let verdict = Judge::OFFICIAL.judge(&accepted_at);
        assert_eq!(verdict, Ok(()), "seed {seed}: {accepted_at:?}");
        assert!(accepted_at.len() >= 13, "seed {seed}: {accepted_at:?}");
    }
}
