//! The estimator of s2n-quic. RFC 9002 has RFC 6298's formulas where no ACK is delayed and
//! the handshake is over; it cuts each term of an average to whole nanoseconds.

use std::time::Duration;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use rto::{Config, Estimator, Sample};
use s2n_quic_core::{
    packet::number::PacketNumberSpace,
    recovery::RttEstimator,
    time::{Clock, NoopClock},
};

const TOLERANCE: Duration = Duration::from_nanos(100);

/// SRTT and RTTVAR agree within 100 ns over random round trips of 1 us to 17 s.
#[test]
fn s2n_quic_agrees_within_a_hundred_nanoseconds() {
    for seed in 0..50 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut ours = Estimator::new(Config::RFC6298).expect("legal");
        let mut theirs = RttEstimator::default();
        for count in 0..2_000 {
            let bits = 10 + seed % 25;
            let rtt = Duration::from_nanos(1_000 + rng.next_u64() % (1 << bits));
            ours.sample(Sample::measured(rtt));
            theirs.update_rtt(
                Duration::ZERO,
                rtt,
                NoopClock.get_time(),
                true,
                PacketNumberSpace::ApplicationData,
            );
            let near = |ours: Option<Duration>, theirs: Duration, what: &str| {
                let ours = ours.expect("sampled");
                assert!(
                    ours.abs_diff(theirs) <= TOLERANCE,
                    "seed {seed}, sample {count}: {what} is {ours:?}, theirs {theirs:?}"
                );
            };
            near(ours.srtt(), theirs.smoothed_rtt(), "SRTT");
            near(ours.rttvar(), theirs.rttvar(), "RTTVAR");
        }
    }
}

/// A steady round trip: each average loses what an eighth of it cuts off, so theirs comes to rest
/// up to 7 ns below; ours on it, and our RTO a nanosecond above.
#[test]
fn a_steady_round_trip_leaves_s2n_quic_seven_nanoseconds_below_it() {
    let rtt = Duration::from_nanos(2_000_000_007);
    let mut ours = Estimator::new(Config::RFC6298).expect("legal");
    let mut theirs = RttEstimator::default();
    for _ in 0..1_000 {
        ours.sample(Sample::measured(rtt));
        theirs.update_rtt(
            Duration::ZERO,
            rtt,
            NoopClock.get_time(),
            true,
            PacketNumberSpace::ApplicationData,
        );
    }
    assert_eq!(theirs.smoothed_rtt(), rtt - Duration::from_nanos(7));
    assert_eq!(ours.srtt(), Some(rtt));
    assert_eq!(ours.rto(), rtt + Duration::from_nanos(1));
}
