//! One test per rule and decision of `spec/rfc6298.md`, named by its id. Expected values
//! are written as the formula; bounds that are not the point are set out of the way.

mod decisions_rto;
mod decisions_timer;
mod estimator;
mod samples;
mod timer;

use std::time::Duration;

use conformance::time::ms;
use rto::{Config, Estimator, Expiry, RetransmitTimer, Sample, Timeout};

/// No floor, no cap: nothing hides the formula.
const BARE: Config = Config {
    min_rto: NANOSECOND,
    max_rto: Duration::MAX,
    ..Config::RFC6298
};

/// The least step of time: both sides of each deadline are one apart.
const NANOSECOND: Duration = Duration::from_nanos(1);

const fn rtt(rtt: u64) -> Sample {
    Sample::measured(ms(rtt))
}

/// An estimator that has taken these round trips in.
fn fed(config: Config, rtts_ms: &[u64]) -> Estimator {
    let mut estimator = Estimator::new(config).expect("the settings are legal");
    for &sample in rtts_ms {
        estimator.sample(rtt(sample));
    }
    estimator
}

/// A stopped timer whose estimator has taken these round trips in.
fn timer(config: Config, rtts_ms: &[u64]) -> RetransmitTimer {
    RetransmitTimer::new(fed(config, rtts_ms))
}

/// Expires at `at`, and not a nanosecond before.
#[track_caller]
fn expire(timer: &mut RetransmitTimer, at: Duration) -> Expiry {
    assert_eq!(timer.poll_timeout(), Some(at), "the deadline");
    assert_eq!(timer.handle_timeout(at - NANOSECOND), None, "early");
    match timer.handle_timeout(at) {
        Some(Timeout::Retransmit(expiry)) => expiry,
        other => panic!("{other:?}: it is due, and there are no limits"),
    }
}

/// The RTO in force, in ms.
fn rto_of(timer: &RetransmitTimer) -> Duration {
    timer.estimator().rto()
}
