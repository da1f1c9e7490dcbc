//! What holds whatever comes.

use conformance::linux::{Event, Kernel, Replica};
use proptest::{collection::vec, prelude::*};

use super::*;

fn round() -> impl Strategy<Value = Round> {
    prop_oneof![Just(Round::Ends), Just(Round::Continues)]
}

fn event() -> impl Strategy<Value = Event> {
    let rtt_us = prop_oneof![
        4 => 0_u32..300_000,
        1 => 0_u32..20,
        1 => 0_u32..(1 << 29),
    ];
    prop_oneof![
        8 => (rtt_us, round()).prop_map(|(rtt_us, round)| Event::Sample { rtt_us, round }),
        1 => Just(Event::Ack),
        2 => Just(Event::Timeout),
        1 => Just(Event::SynTimeout),
        1 => Just(Event::Established),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let jiffy_us = prop_oneof![Just(1_u64), Just(1_000), Just(4_000), Just(10_000)];
    (jiffy_us, 1_u64..400_000, 1_000_u64..=120_000, 0_u8..6).prop_map(
        |(jiffy_us, min_us, max_ms, syn_linear_timeouts)| Config {
            rto_min: Duration::from_micros(min_us),
            rto_max: Duration::from_millis(max_ms),
            jiffy: Duration::from_micros(jiffy_us),
            syn_linear_timeouts,
            ..Config::LINUX
        },
    )
}

proptest! {
    /// In signed 64-bit arithmetic by the letter of the description the result is the same.
    #[test]
    fn the_formula_a_second_time_agrees(config in config(), events in vec(event(), 1..200)) {
        let mut estimator = linux(config);
        let mut replica = Replica::new(&config, None);
        for event in events {
            estimator.apply(event);
            replica.apply(event);
            prop_assert_eq!(estimator.seen(), replica.seen());
        }
    }

    /// No sample overflows anything, and what is handed out keeps within its bounds.
    #[test]
    fn any_duration_is_a_sample(
        samples in vec((any::<u64>(), 0_u32..1_000_000_000, 0_u32..64, round()), 1..100),
    ) {
        let mut estimator = linux(BARE);
        for (seconds, nanoseconds, shift, round) in samples {
            estimator.sample(Duration::new(seconds >> shift, nanoseconds), round);
            let srtt = estimator.srtt().expect("there was a sample");
            prop_assert!(srtt > Duration::ZERO && srtt <= Estimator::MAX_SAMPLE + MICROSECOND);
            prop_assert!(estimator.rttvar() <= Some(Estimator::MAX_SAMPLE + MICROSECOND));
            prop_assert!(estimator.mdev() <= estimator.rttvar());
            prop_assert!((MICROSECOND..=Config::LINUX.rto_max).contains(&estimator.rto()));
        }
    }
}
