//! The ACK-delay rule of RFC 9002 beside s2n-quic's, the handshake confirmed. At the edge the two
//! differ: where a delay leaves the least round trip exactly, s2n-quic does not subtract it.

use std::time::Duration;

use conformance::time::ms;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use rto::{
    Config, Estimator, Progress, Sample,
    quic::{ProbeTimer, RoundTrip, Space},
};
use s2n_quic_core::{
    packet::number::PacketNumberSpace,
    recovery::RttEstimator,
    time::{Clock, NoopClock},
    transport::parameters::MaxAckDelay,
};

/// s2n-quic cuts averages to whole nanoseconds; for a timeout, SRTT and RTTVAR to microseconds.
const TOLERANCE: Duration = Duration::from_nanos(100);
const CUT: Duration = Duration::from_micros(1 + 4 + 1);

struct Both {
    ours: ProbeTimer,
    theirs: RttEstimator,
}

impl Both {
    /// `max_ack_delay` is 25 ms on both sides.
    fn new() -> Self {
        let mut ours = ProbeTimer::server(Estimator::new(Config::RFC9002).expect("legal"));
        ours.handle_confirmed(ms(25));
        let mut theirs = RttEstimator::default();
        theirs.on_max_ack_delay(MaxAckDelay::RECOMMENDED);
        Self { ours, theirs }
    }

    fn sample(&mut self, rtt: Duration, ack_delay: Duration) {
        let round_trip = RoundTrip {
            latest: Sample::measured(rtt),
            ack_delay,
        };
        let space = Space::ApplicationData;
        (self.ours).handle_acked(ms(0), space, Progress::All, Some(round_trip));
        let now = NoopClock.get_time();
        let space = PacketNumberSpace::ApplicationData;
        self.theirs.update_rtt(ack_delay, rtt, now, true, space);
    }
}

#[test]
fn s2n_quic_subtracts_ack_delays_where_we_do() {
    let (mut subtracted, mut not_plausible, mut capped) = (0, 0, 0);
    for seed in 0..50 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut both = Both::new();
        for count in 0..500 {
            let rtt = ms(50) + Duration::from_nanos(rng.next_u64() % 60_000_000);
            let delay = Duration::from_nanos(rng.next_u64() % 40_000_000);
            let counted = delay.min(ms(25));
            let least = both.ours.min_rtt().unwrap_or(rtt).min(rtt);
            if rtt == least + counted {
                continue; // the edge
            }
            both.sample(rtt, delay);
            capped += u32::from(delay > ms(25));
            subtracted += u32::from(rtt > least + counted);
            not_plausible += u32::from(rtt < least + counted);

            let estimator = both.ours.estimator();
            let near = |ours: Option<Duration>, theirs: Duration, what: &str| {
                let ours = ours.expect("sampled");
                let fits = ours.abs_diff(theirs) <= TOLERANCE;
                assert!(
                    fits,
                    "seed {seed}, {count}: {what} {ours:?}, theirs {theirs:?}"
                );
            };
            near(estimator.srtt(), both.theirs.smoothed_rtt(), "SRTT");
            near(estimator.rttvar(), both.theirs.rttvar(), "RTTVAR");
            assert_eq!(both.ours.min_rtt(), Some(both.theirs.min_rtt()));
            for (ours, theirs) in [
                (Space::Initial, PacketNumberSpace::Initial),
                (Space::Handshake, PacketNumberSpace::Handshake),
                (Space::ApplicationData, PacketNumberSpace::ApplicationData),
            ] {
                let (ours, theirs) = (both.ours.pto(ours), both.theirs.pto_period(1, theirs));
                assert!(ours.abs_diff(theirs) <= CUT, "{ours:?}, theirs {theirs:?}");
            }
        }
    }
    let each = [subtracted, not_plausible, capped];
    assert!(each.iter().all(|&count| count > 1_000), "{each:?}");
}

/// 325 ms less 25 ms are 300 ms, the least round trip: RFC 9002 subtracts (P6), s2n-quic does not.
#[test]
fn at_the_edge_s2n_quic_does_not_subtract() {
    let mut both = Both::new();
    both.sample(ms(300), ms(0));
    both.sample(ms(325), ms(25));
    assert_eq!(both.ours.estimator().srtt(), Some(ms(300)));
    let with_the_delay = (7 * ms(300) + ms(325)) / 8;
    assert!(both.theirs.smoothed_rtt().abs_diff(with_the_delay) <= TOLERANCE);
}
