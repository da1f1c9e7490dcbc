//! One test per row of `spec/rto-family.md`, named by its id.

mod companions;
mod limits;
mod presets;
mod properties;
mod quic;
mod transaction;
mod vectors;

use std::time::Duration;

use conformance::time::ms;
use rto::{Config, Estimator, RetransmitTimer, Sample, Timeout};

const NANOSECOND: Duration = Duration::from_nanos(1);

/// No floor, no cap: nothing hides the formula.
const BARE: Config = Config {
    min_rto: NANOSECOND,
    max_rto: Duration::MAX,
    ..Config::RFC6298
};

fn rtt(sample_ms: u64) -> Sample {
    Sample::measured(ms(sample_ms))
}

/// An estimator that has taken these round trips in, in ms.
fn fed(config: Config, rtts_ms: &[u64]) -> Estimator {
    let mut estimator = Estimator::new(config).expect("the settings are legal");
    for &sample in rtts_ms {
        estimator.sample(rtt(sample));
    }
    estimator
}

/// SRTT, RTTVAR and RTO, in ms.
#[track_caller]
fn assert_estimate(estimator: &Estimator, srtt: f64, rttvar: f64, rto: f64) {
    let from_ms = |ms: f64| Duration::from_nanos((ms * 1e6) as u64);
    assert_eq!(estimator.srtt(), Some(from_ms(srtt)), "SRTT");
    assert_eq!(estimator.rttvar(), Some(from_ms(rttvar)), "RTTVAR");
    assert_eq!(estimator.rto(), from_ms(rto), "RTO");
}

/// A timer whose data of instant 0 is retransmitted at each of these expiries, in ms.
fn expired(timer: RetransmitTimer, expiries_ms: &[u64]) -> RetransmitTimer {
    let mut timer = timer;
    timer.handle_sent(ms(0));
    for &at in expiries_ms {
        assert_eq!(timer.poll_timeout(), Some(ms(at)));
        let timeout = timer.handle_timeout(ms(at));
        assert!(matches!(timeout, Some(Timeout::Retransmit(_))), "at {at}");
    }
    timer
}
