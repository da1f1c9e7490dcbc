//! How far the compact estimator is from exact arithmetic.

use conformance::{
    fixed::Fixed,
    model::{Estimate, gain, whole},
    settings::Settings,
};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use proptest::{collection::vec, prelude::*};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::*;

/// The estimator's unit, 1/32 of a tick; here a tick is the model's nanosecond, for it knows no
/// unit.
fn units(count: u64) -> BigRational {
    BigRational::new(BigInt::from(count), BigInt::from(32))
}

fn distance(shown: Option<u32>, exact: &BigRational) -> BigRational {
    (whole(shown.expect("sampled").into()) - exact).abs()
}

/// Round trips of every size up to the largest, and beyond.
fn rtt_us() -> impl Strategy<Value = u32> {
    prop_oneof![
        0_u32..50,
        20_000_u32..200_000,
        (0_u32..32).prop_flat_map(|bits| 0..=u32::MAX >> bits)
    ]
}

/// Granularities around the variance terms they compete with.
fn granularity_us() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 0_u32..2_000, 0_u32..1 << 30]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// (P76) Chains of 500 samples against exact rationals.
    #[test]
    fn five_hundred_samples_stay_within_the_published_bound(
        granularity_us in granularity_us(),
        rtts in vec(rtt_us(), 500),
    ) {
        let params = params(Config {
            granularity: Duration::from_micros(granularity_us.into()),
            ..BARE
        });
        let settings = Settings { granularity_ns: granularity_us.into(), ..Settings::bare() };
        let (alpha, beta) = (gain((1, 8)), gain((1, 4)));
        let mut ours = Estimator::new(&params);
        let mut exact: Option<Estimate> = None;
        for rtt in rtts {
            ours.sample(&params, Sample::measured(rtt));
            let rtt = u128::from(rtt.min(Estimator::MAX_SAMPLE_US)); // (P77)
            match &mut exact {
                None => exact = Some(Estimate::first(rtt)),
                Some(exact) => exact.update(rtt, &alpha, &beta),
            }
            let exact = exact.as_ref().expect("sampled");
            prop_assert!(distance(ours.srtt_us(), &exact.srtt) <= units(16 + 4));
            prop_assert!(distance(ours.rttvar_us(), &exact.rttvar) <= units(16 + 6));
            let late = whole(ours.rto_us().into()) - exact.raw_rto(&settings).max(whole(1));
            prop_assert!(!late.is_negative(), "{late} us: early");
            prop_assert!(late < units(32 + 2 * 28), "{late} us late");
        }
    }

    /// (P76) As long as no update loses a bit, the RTO is the exact one rounded up: an update
    /// needs three more bits, and samples in steps of 2^16 leave room for seven.
    #[test]
    fn exact_chains_give_exact_timeouts(multiples in vec(0_u32..1 << 11, 1..=7)) {
        let params = params(BARE);
        let mut ours = Estimator::new(&params);
        let mut exact: Option<Estimate> = None;
        for rtt in multiples.into_iter().map(|multiple| multiple << 16) {
            ours.sample(&params, Sample::measured(rtt));
            match &mut exact {
                None => exact = Some(Estimate::first(rtt.into())),
                Some(exact) => exact.update(rtt.into(), &gain((1, 8)), &gain((1, 4))),
            }
            let raw = exact.as_ref().expect("sampled").raw_rto(&Settings::bare());
            prop_assert_eq!(whole(ours.rto_us().into()), raw.ceil().max(whole(1)));
        }
    }
}

/// The n-th round trip in microseconds, from a draw.
type Distribution = fn(u32, u32) -> u32;

const DISTRIBUTIONS: [(&str, Distribution); 6] = [
    ("constant", |_, _| 100_007),
    ("uniform", |_, draw| 10_000 + draw % 40_000),
    ("heavy tail", |_, draw| {
        (draw % 10_007) << draw.leading_zeros().min(13)
    }),
    ("sawtooth", |n, draw| 5_000 + n % 1_000 * 777 + draw % 3),
    ("the extremes", |n, draw| {
        if n % 2 == 0 {
            draw % 2
        } else {
            Estimator::MAX_SAMPLE_US - draw % 2
        }
    }),
    ("microseconds", |_, draw| draw % 8),
];

/// (P76) A million samples of each distribution against 256-bit fixed point.
#[test]
fn a_million_samples_of_any_distribution_stay_within_the_published_bound() {
    const BITS: u32 = 40;
    const TICK: i128 = 1 << BITS;
    let params = params(BARE);
    let run = |seed: u64, name: &str, distribution: Distribution| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut ours = Estimator::new(&params);
        let mut exact: Option<Fixed> = None;
        for n in 0..1_000_000 {
            let rtt = distribution(n, rng.next_u32());
            ours.sample(&params, Sample::measured(rtt));
            match &mut exact {
                None => exact = Some(Fixed::first(rtt.into())),
                Some(exact) => exact.update(rtt.into()),
            }
            let exact = exact.as_ref().expect("sampled");
            // Rounded down, the sum lies up to 5 below exact; the floor is a tick.
            let raw = exact.srtt(BITS) + 4 * exact.rttvar(BITS);
            let late = i128::from(ours.rto_us()) * TICK - raw.max(TICK);
            assert!(late >= 0, "{name}, sample {n}: early");
            assert!(
                late < TICK * 88 / 32 + 5,
                "{name}, sample {n}: {late} x 2^-{BITS} us late"
            );
        }
    };
    std::thread::scope(|scope| {
        for (seed, (name, distribution)) in (0..).zip(DISTRIBUTIONS) {
            scope.spawn(move || run(seed, name, distribution));
        }
    });
}
