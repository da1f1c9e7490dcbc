//! Every state and sample of 8 bits: one update of each estimator, held to the steps of the
//! proof in `spec/rfc6298.md`, section Exactness.
//!
//! An update looks at differences only, so moving SRTT and R together moves SRTT alone: the pairs
//! checked here stand for every SRTT.

extern crate std;
use std::vec::Vec;

use crate::{
    Config, Estimator, Sample,
    compact::blend,
    estimator::{Estimate, State},
    fixed::{Weight, eighth, quarter},
};

const WIDTH: u32 = 256;

/// The bounds of the proof, in units: how far SRTT and RTTVAR may be from exact.
const SRTT_ERROR: i64 = 4;
const RTTVAR_ERROR: i64 = 6;

/// One update as an estimator makes it: from SRTT, RTTVAR and R to SRTT and RTTVAR, in units.
type Update = fn(u32, u32, u32) -> (u32, u32);

/// Holds `update` to the proof for every SRTT, RTTVAR and R below [`WIDTH`]. All in 32nds of a
/// unit, in which a quarter of an eighth is whole.
fn check(update: Update) {
    for srtt in 0..WIDTH {
        for rttvar in 0..WIDTH {
            for rtt in 0..WIDTH {
                let (new_srtt, new_rttvar) = update(srtt, rttvar, rtt);
                let [s, v, r, new_s, new_v] =
                    [srtt, rttvar, rtt, new_srtt, new_rttvar].map(|value| 32 * i64::from(value));
                // Each rounds to nearest: half a unit.
                let at = || std::format!("{srtt} {rttvar} {rtt}");
                assert!((new_s - (7 * s + r) / 8).abs() <= 16, "SRTT: {}", at());
                let deviation = (s - r).abs();
                assert!(
                    (new_v - (3 * v + deviation) / 4).abs() <= 16,
                    "RTTVAR: {}",
                    at()
                );
                // The induction: whatever exact values lie within the bounds, the next ones
                // do. Both are monotone in the errors but for the kink where S = R.
                let kink = (r - s).clamp(-32 * SRTT_ERROR, 32 * SRTT_ERROR);
                for e1 in [-32 * SRTT_ERROR, kink, 32 * SRTT_ERROR] {
                    for e2 in [-32 * RTTVAR_ERROR, 32 * RTTVAR_ERROR] {
                        // In 256ths and 128ths of a unit, to stay whole.
                        let exact_s = 7 * (s + e1) + r;
                        let exact_v = 3 * (v + e2) + (s + e1 - r).abs();
                        assert!(
                            (8 * new_s - exact_s).abs() <= 8 * 32 * SRTT_ERROR,
                            "{}",
                            at()
                        );
                        assert!(
                            (4 * new_v - exact_v).abs() <= 4 * 32 * RTTVAR_ERROR,
                            "{}",
                            at()
                        );
                        // And with the guard the sum is not below the exact one.
                        let guarded = new_s + 4 * new_v + 32 * 28;
                        assert!(8 * guarded >= exact_s + 8 * exact_v, "early: {}", at());
                    }
                }
            }
        }
    }
}

#[test]
fn every_update_of_8_bits_keeps_to_the_proof() {
    check(|srtt, rttvar, rtt| {
        let distance = i64::from(rtt) - i64::from(srtt);
        let spread = distance.abs() - i64::from(rttvar);
        let next = |value: u32, step| u32::try_from(i64::from(value) + step).unwrap();
        (next(srtt, eighth(distance)), next(rttvar, quarter(spread)))
    });
}

#[test]
fn every_compact_update_of_8_bits_keeps_to_the_proof() {
    check(|srtt, rttvar, rtt| {
        let (new_srtt, _) = blend::<3>(srtt, rtt);
        let (new_rttvar, _) = blend::<2>(rttvar, srtt.abs_diff(rtt));
        (new_srtt, new_rttvar)
    });
}

/// The inlined update with the RFC's parameters and the general one, from the same states: the
/// same SRTT, RTTVAR and RTO. A round trip is a whole number of ns here, 256 units.
#[test]
fn both_updates_are_those_of_the_proof() {
    let mut usual = Estimator::new(Config {
        min_rto: core::time::Duration::from_nanos(1),
        ..Config::RFC6298
    })
    .unwrap();
    for srtt in 0..WIDTH {
        for rttvar in 0..WIDTH {
            for rtt in [0, 256] {
                usual.state = State {
                    srtt: srtt.into(),
                    rttvar: rttvar.into(),
                    guards: 1,
                    estimate: Estimate::Usual,
                    ..usual.state
                };
                let mut general = usual;
                general.state.estimate = Estimate::Taken;
                let sample = Sample::measured(core::time::Duration::from_nanos(rtt / 256));
                usual.sample(sample);
                general.sample(sample);
                assert_eq!(usual, general, "{srtt} {rttvar} {rtt}");
                let distance = i64::try_from(rtt).unwrap() - i64::from(srtt);
                let spread = distance.abs() - i64::from(rttvar);
                let expected = [
                    i64::from(srtt) + eighth(distance),
                    i64::from(rttvar) + quarter(spread),
                ];
                let got = [usual.state.srtt, usual.state.rttvar].map(u64::cast_signed);
                assert_eq!(got, expected);
            }
        }
    }
}

/// Every gain with a denominator up to 40, every distance of 9 bits: rounded to nearest, halves
/// up, and the flag is true exactly where nothing was lost.
#[test]
fn every_small_gain_rounds_every_small_distance_to_nearest() {
    let gains: Vec<_> = (1..=40_u16)
        .flat_map(|den| (1..=den).map(move |num| (num, den)))
        .collect();
    for (num, den) in gains {
        let weight = Weight::new(num, den);
        for distance in -255..=255_i64 {
            let (step, exact) = weight.of(distance);
            let (product, den) = (distance * i64::from(num), i64::from(den));
            let twice_the_error = 2 * (step * den - product);
            assert!(
                -den < twice_the_error && twice_the_error <= den,
                "{weight:?} {distance}"
            );
            assert_eq!(exact, product % den == 0, "{weight:?} {distance}");
        }
    }
}
