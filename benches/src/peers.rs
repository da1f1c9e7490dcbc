//! Estimators of other projects, doing the same work as `rto.sample`: a sample in, the timeout out
//! as a `Duration`. Both follow RFC 9002, which has RFC 6298's formulas where no ACK is delayed.

use std::{hint::black_box, time::Duration};

use s2n_quic_core::{
    packet::number::PacketNumberSpace,
    recovery::RttEstimator,
    time::{Clock, NoopClock},
};

use crate::{
    Run,
    loops::{each, round_trips},
};

/// The clock granularity that RFC 9002 recommends.
const GRANULARITY: Duration = Duration::from_millis(1);

/// RFC 9002's formulas written down directly in [`Duration`] arithmetic, which is how quinn-proto
/// 0.11 does it. Its own estimator cannot be measured alone: the type is public, but only its
/// connection can make one or give it a sample. So this is ours, with the same fields, the same
/// operations and the same rounding.
#[derive(Clone, Copy, Debug)]
pub struct DurationEstimator {
    latest: Duration,
    /// `None` before the first sample.
    smoothed: Option<Duration>,
    variation: Duration,
    least: Duration,
}

impl DurationEstimator {
    /// Makes one without samples.
    #[must_use]
    pub fn new(initial: Duration) -> Self {
        Self {
            latest: initial,
            smoothed: None,
            variation: initial / 2,
            least: initial,
        }
    }

    /// Takes in a sample that the peer says it held back for `ack_delay` (RFC 9002, 5.3).
    #[inline]
    pub fn sample(&mut self, rtt: Duration, ack_delay: Duration) {
        self.latest = rtt;
        let Some(smoothed) = self.smoothed else {
            self.least = rtt;
            self.smoothed = Some(rtt);
            self.variation = rtt / 2;
            return;
        };
        self.least = self.least.min(rtt);
        let believable = self.least + ack_delay <= rtt;
        let adjusted = if believable { rtt - ack_delay } else { rtt };
        let deviation = smoothed.abs_diff(adjusted);
        self.variation = (self.variation * 3 + deviation) / 4;
        self.smoothed = Some((smoothed * 7 + adjusted) / 8);
    }

    /// The probe timeout without back-off and without the peer's `max_ack_delay` (RFC 9002, 6.2.1).
    #[must_use]
    #[inline]
    pub fn timeout(&self) -> Duration {
        self.smoothed.unwrap_or(self.latest) + GRANULARITY.max(self.variation * 4)
    }
}

/// quinn's way, see [`DurationEstimator`].
pub(crate) fn quinn_sample() -> Run {
    let mut estimator = DurationEstimator::new(Duration::from_millis(333));
    let inputs = round_trips();
    Box::new(move |times| {
        // The delay comes with the ACK: zero, but not known to be.
        let (estimator, ack_delay) = black_box((&mut estimator, Duration::ZERO));
        each(times, &inputs, |round_trip| {
            estimator.sample(round_trip, ack_delay);
            estimator.timeout()
        });
    })
}

/// s2n-quic's own.
pub(crate) fn s2n_sample() -> Run {
    let (mut estimator, inputs) = (RttEstimator::default(), round_trips());
    Box::new(move |times| {
        let (now, space) = (NoopClock.get_time(), PacketNumberSpace::ApplicationData);
        let (estimator, ack_delay) = black_box((&mut estimator, Duration::ZERO));
        each(times, &inputs, |round_trip| {
            estimator.update_rtt(ack_delay, round_trip, now, true, space);
            estimator.pto_period(1, space)
        });
    })
}

#[cfg(test)]
mod tests {
    use rto::{Config, Estimator, Sample};

    use super::*;

    /// What is compared must compute the same. All cut averages to nanoseconds or finer, and
    /// s2n-quic also SRTT and RTTVAR to microseconds when it sums them.
    #[test]
    fn all_three_arrive_at_the_same_timeout() {
        const CUT: Duration = Duration::from_nanos(100);
        const CUT_MORE: Duration = Duration::from_nanos(100 + 1_000 + 4 * 1_000);
        let config = Config {
            min_rto: Duration::ZERO,
            granularity: GRANULARITY,
            ..Config::RFC6298
        };
        let mut ours = Estimator::new(config).expect("legal");
        let mut quinn = DurationEstimator::new(Duration::from_millis(333));
        let mut s2n = RttEstimator::default();
        let (now, space) = (NoopClock.get_time(), PacketNumberSpace::ApplicationData);
        for round_trip in round_trips() {
            ours.sample(Sample::measured(round_trip));
            quinn.sample(round_trip, Duration::ZERO);
            s2n.update_rtt(Duration::ZERO, round_trip, now, true, space);
            let theirs = [(quinn.timeout(), CUT), (s2n.pto_period(1, space), CUT_MORE)];
            for (theirs, tolerance) in theirs {
                let ours = ours.rto();
                assert!(ours.abs_diff(theirs) <= tolerance, "{ours:?}, {theirs:?}");
            }
        }
    }
}
