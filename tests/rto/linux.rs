//! The kernel's estimator: its rules (`spec/rto-family.md`, P50 to P69), every recorded round
//! trip, and what holds for every input. `tests/linux` has it beside a running kernel.

mod properties;
mod recorded;
mod rules;
mod settings;

use std::time::Duration;

use rto::linux::{Config, Estimator, Round};

/// A floor and a tick of 1 us: nothing hides the formula.
const BARE: Config = Config {
    rto_min: MICROSECOND,
    jiffy: MICROSECOND,
    ..Config::LINUX
};

const MICROSECOND: Duration = Duration::from_micros(1);

fn linux(config: Config) -> Estimator {
    Estimator::new(config).expect("the settings are legal")
}

/// An estimator that has taken these round trips in, one in flight.
fn fed(config: Config, rtts: &[Duration]) -> Estimator {
    let mut estimator = linux(config);
    for &rtt in rtts {
        estimator.sample(rtt, Round::Ends);
    }
    estimator
}
