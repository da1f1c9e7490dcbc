//! How far the estimator is from exact arithmetic.

use std::num::NonZeroU16;

use conformance::{
    fixed::Fixed,
    model::{Estimate, Model, gain, whole},
    rto_vectors::{Event, Subject},
};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use proptest::collection::vec;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use rto::{Estimator, Sample};

use super::*;

/// The estimator's unit, 1/256 ns.
fn units(count: u64) -> BigRational {
    BigRational::new(BigInt::from(count), BigInt::from(256))
}

/// Half a nanosecond, which the getters may round away.
fn half() -> BigRational {
    units(128)
}

fn distance(shown: Option<Duration>, exact: &BigRational) -> BigRational {
    (whole(shown.expect("sampled").as_nanos()) - exact).abs()
}

fn measured(rtt_ns: u64) -> Sample {
    Sample::measured(Duration::from_nanos(rtt_ns))
}

fn estimator(settings: &Settings) -> Estimator {
    Estimator::new(settings.into()).expect("the settings are legal")
}

/// What a chain of blends may be off by, in units: 1 / (2 gain), rounded up.
fn blend_error((num, den): (u16, u16)) -> u64 {
    u64::from(den).div_ceil(2 * u64::from(num))
}

/// Feeds a chain of round trips, each one of so many samples, holding each answer to the
/// published bounds: they grow with the most samples that a round trip has brought so far.
fn check_chain(settings: &Settings, chain: &[(u64, NonZeroU16)]) -> Result<(), TestCaseError> {
    let (alpha, beta) = (gain(settings.alpha), gain(settings.beta));
    let [alpha_error, beta_error] = [settings.alpha, settings.beta].map(blend_error);
    let mut ours = estimator(settings);
    let mut exact: Option<Estimate> = None;
    let mut most = 1;
    for &(rtt, expected) in chain {
        ours.sample(measured(rtt).one_of(expected));
        let rtt = u128::from(rtt.min(settings.max_sample_ns));
        match &mut exact {
            None => exact = Some(Estimate::first(rtt)),
            Some(exact) => {
                let parts = whole(expected.get().into());
                exact.update(rtt, &(&alpha / &parts), &(&beta / parts));
                most = most.max(u64::from(expected.get()));
            }
        }
        let srtt_error = most * alpha_error;
        let rttvar_error = srtt_error + most * beta_error;
        let guard = srtt_error + u64::from(settings.k) * rttvar_error;
        let exact = exact.as_ref().expect("sampled");
        prop_assert!(distance(ours.srtt(), &exact.srtt) <= half() + units(srtt_error));
        prop_assert!(distance(ours.rttvar(), &exact.rttvar) <= half() + units(rttvar_error));
        let raw = exact.raw_rto(settings);
        let late = whole(ours.rto().as_nanos()) - &raw;
        prop_assert!(!late.is_negative(), "{late} ns: early");
        prop_assert!(late < whole(1) + units(2 * guard), "{late} ns late");
        if guard == 28 {
            prop_assert!(late < whole(2), "{late} ns late");
        }
    }
    Ok(())
}

/// Round trips of every size up to the largest sample and beyond.
fn rtt_ns() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..50,
        20_000_000_u64..200_000_000,
        (0_u32..64).prop_flat_map(|bits| 0..=u64::MAX >> bits)
    ]
}

/// The only sample of its round trip.
const fn only(rtt_ns: u64) -> (u64, NonZeroU16) {
    (rtt_ns, NonZeroU16::MIN)
}

fn samples_per_round_trip() -> impl Strategy<Value = NonZeroU16> {
    let positive = |count| NonZeroU16::new(count).expect("positive");
    prop_oneof![(1_u16..=10), 1..=u16::MAX].prop_map(positive)
}

fn bare_with_gains() -> impl Strategy<Value = Settings> {
    settings().prop_map(|settings| Settings {
        min_rto_ns: 1,
        max_rto_ns: None,
        max_sample_ns: limit(),
        variance_floor: FloorOf::Term,
        ..settings
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Chains of 500 samples against exact rationals, with the RFC's gains: 28/256 ns.
    #[test]
    fn five_hundred_samples_stay_within_the_published_bound(rtts in vec(rtt_ns(), 500)) {
        let chain: Vec<_> = rtts.into_iter().map(only).collect();
        check_chain(&Settings::bare(), &chain)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The same for any gains, K and granularity; shorter, since the rationals grow faster.
    #[test]
    fn any_gains_stay_within_their_bound(
        settings in bare_with_gains(),
        rtts in vec(rtt_ns(), 1..40),
    ) {
        let chain: Vec<_> = rtts.into_iter().map(only).collect();
        check_chain(&settings, &chain)?;
    }

    /// (T1) The same with any numbers of samples per round trip.
    #[test]
    fn any_samples_per_round_trip_stay_within_their_bound(
        settings in bare_with_gains(),
        chain in vec((rtt_ns(), samples_per_round_trip()), 1..30),
    ) {
        check_chain(&settings, &chain)?;
    }

    /// Where an RTTVAR of zero becomes G, rounding must not hide a zero: the RTO is never below
    /// the model's, though it may be above where the model's RTTVAR is within the bound of zero.
    #[test]
    fn a_zero_lost_to_rounding_still_counts(
        settings in bare_with_gains(),
        granularity_ns in 1_u64..1 << 40,
        rtts in vec(prop_oneof![Just(0), Just(1_000_003), rtt_ns()], 1..30),
    ) {
        let variance_floor = FloorOf::ZeroRttvar;
        let settings = Settings { variance_floor, granularity_ns, ..settings };
        let (mut ours, mut exact) = (estimator(&settings), Model::new(&settings));
        for rtt in rtts {
            ours.sample(measured(rtt));
            exact.apply(&Event::sample(Duration::from_nanos(rtt)));
            prop_assert!(ours.rto().as_nanos() >= exact.view().rto_ns);
        }
    }

    /// One step from an exact state rounds once, to nearest: half a unit in SRTT and RTTVAR.
    #[test]
    fn a_single_step_rounds_to_nearest(
        settings in bare_with_gains(),
        first in 0..=limit(),
        second in 0..=limit(),
    ) {
        let mut ours = estimator(&settings);
        let mut exact = Estimate::first(first.into());
        ours.sample(measured(first));
        ours.sample(measured(second));
        exact.update(second.into(), &gain(settings.alpha), &gain(settings.beta));
        let half_unit = units(1) / whole(2);
        prop_assert!(distance(ours.srtt(), &exact.srtt) <= half() + &half_unit);
        prop_assert!(distance(ours.rttvar(), &exact.rttvar) <= half() + &half_unit);
    }

    /// As long as no update loses a bit, the RTO is the exact one rounded up. With the RFC's
    /// gains an update needs three more bits, and the samples leave room for ten.
    #[test]
    fn exact_chains_give_exact_timeouts(multiples in vec(0_u64..=1 << 26, 1..=10)) {
        let settings = Settings {
            max_sample_ns: limit(),
            ..Settings::bare()
        };
        let mut ours = estimator(&settings);
        let mut exact: Option<Estimate> = None;
        for rtt in multiples.into_iter().map(|multiple| multiple << 22) {
            ours.sample(measured(rtt));
            match &mut exact {
                None => exact = Some(Estimate::first(rtt.into())),
                Some(exact) => exact.update(rtt.into(), &gain((1, 8)), &gain((1, 4))),
            }
            let raw = exact.as_ref().expect("sampled").raw_rto(&settings);
            let expected = raw.ceil().max(whole(1)); // the floor of a nanosecond
            prop_assert_eq!(whole(ours.rto().as_nanos()), expected);
        }
    }
}

/// The n-th round trip in ns, from a draw.
type Distribution = fn(u64, u64) -> u64;

const DISTRIBUTIONS: [(&str, Distribution); 7] = [
    ("constant", |_, _| 100_000_007),
    ("uniform", |_, draw| 10_000_000 + draw % 40_000_000),
    ("heavy tail", |_, draw| {
        (draw % 1_000_003) << (draw >> 32 << 32).leading_zeros().min(30)
    }),
    ("two paths", |_, draw| {
        if draw % 100 < 30 {
            20_000_001
        } else {
            80_000_003
        }
    }),
    ("sawtooth", |n, draw| {
        5_000_000 + n % 1_000 * 77_777 + draw % 3
    }),
    ("the extremes", |n, draw| {
        if n % 2 == 0 {
            draw % 2
        } else {
            (1 << 50) - draw % 2
        }
    }),
    ("nanoseconds", |_, draw| draw % 8),
];

/// A million samples of each distribution against 256-bit fixed point.
#[test]
fn a_million_samples_of_any_distribution_stay_within_the_published_bound() {
    const BITS: u32 = 40;
    const NANOSECOND: i128 = 1 << BITS;
    const UNIT: i128 = NANOSECOND / 256;
    let settings = Settings {
        max_sample_ns: limit(),
        ..Settings::bare()
    };
    let nanos = |time: Duration| i128::try_from(time.as_nanos()).expect("small") << BITS;
    let run = |seed: u64, name: &str, distribution: Distribution| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut ours = estimator(&settings);
        let mut exact: Option<Fixed> = None;
        for n in 0..1_000_000 {
            let rtt = distribution(n, rng.next_u64());
            ours.sample(measured(rtt));
            match &mut exact {
                None => exact = Some(Fixed::first(rtt)),
                Some(exact) => exact.update(rtt),
            }
            let exact = exact.as_ref().expect("sampled");
            let (srtt, rttvar) = (exact.srtt(BITS), exact.rttvar(BITS));
            let shown = |value: Option<Duration>| nanos(value.expect("sampled"));
            let srtt_error = (shown(ours.srtt()) - srtt).abs();
            assert!(
                srtt_error <= NANOSECOND / 2 + 4 * UNIT + 1,
                "{name}, sample {n}: SRTT"
            );
            let rttvar_error = (shown(ours.rttvar()) - rttvar).abs();
            assert!(
                rttvar_error <= NANOSECOND / 2 + 6 * UNIT + 1,
                "{name}, sample {n}: RTTVAR"
            );
            // Rounded down, the two lie up to 5 below exact.
            let late = nanos(ours.rto().max(Duration::from_nanos(1))) - (srtt + 4 * rttvar);
            assert!(late >= 0, "{name}, sample {n}: early");
            assert!(
                late < 2 * NANOSECOND,
                "{name}, sample {n}: {late} x 2^-{BITS} ns late"
            );
        }
    };
    std::thread::scope(|scope| {
        for (seed, (name, distribution)) in (0..).zip(DISTRIBUTIONS) {
            scope.spawn(move || run(seed, name, distribution));
        }
    });
}
