//! The compact estimator and timer: their rules (`spec/rto-family.md`, P70 to P79), the vectors
//! of RFC 6298, and what holds for every input.

mod exactness;
mod machine;
mod rules;
mod vectors;

use std::time::Duration;

use conformance::compact::Compact;
use rto::{
    Config,
    compact::{Estimator, Params, RetransmitTimer, Sample},
};

/// Where the clock may stand when virtual time begins: at its ends, soon to wrap, at its middle.
const STARTS: [u32; 6] = [0, 1, u32::MAX, u32::MAX - 1_500_000, 1 << 31, 0x1234_5678];

/// No floor and the highest cap: nothing hides the formula.
const BARE: Config = Config {
    min_rto: MICROSECOND,
    max_rto: Duration::from_micros((1 << 31) - 1),
    ..Config::RFC6298
};

const MICROSECOND: Duration = Duration::from_micros(1);

fn params(config: Config) -> Params {
    Params::new(config).expect("the settings are legal")
}

/// An estimator that has taken these round trips in.
fn fed(params: &Params, rtts_us: &[u32]) -> Estimator {
    let mut estimator = Estimator::new(params);
    for &rtt_us in rtts_us {
        estimator.sample(params, Sample::measured(rtt_us));
    }
    estimator
}

/// A stopped timer without samples.
fn timer(params: &Params) -> RetransmitTimer {
    RetransmitTimer::new(Estimator::new(params))
}
