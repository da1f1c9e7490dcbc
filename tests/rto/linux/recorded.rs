//! Every round trip of `vectors/kernel.json`, bit for bit.

use conformance::{
    linux::{Event, Kernel, Mistake, Replica},
    rto_vectors::{self, Vector},
    vectors::load,
};

use super::*;

fn config(vector: &Vector) -> Config {
    let settings = vector.linux.expect("it is a kernel's vector");
    Config {
        rto_min: Duration::from_nanos(settings.rto_min_ns),
        ..Config::LINUX
    }
}

/// The round trips of a vector, one in flight, and what the kernel had after each.
fn samples(vector: &Vector) -> impl Iterator<Item = (Duration, &rto_vectors::Expect)> {
    vector.steps.iter().map(|step| match step.event {
        rto_vectors::Event::Sample { rtt, .. } => (rtt, &step.expect),
        ref other => panic!("{}: {other:?}", vector.id),
    })
}

#[test]
fn the_kernel_has_the_same_bits_after_each_of_1382_round_trips() {
    let mut compared = 0;
    for vector in load::<Vector>("kernel.json") {
        let mut estimator = linux(config(&vector));
        for (index, (rtt, expect)) in samples(&vector).enumerate() {
            estimator.sample(rtt, Round::Ends);
            let Some(kernel) = expect.linux else {
                assert_eq!(
                    index, 0,
                    "{}: all but the handshake's has a result",
                    vector.id
                );
                continue;
            };
            let what = |name: &str| format!("{name} of {}, step {index}", vector.id);
            let ns = |ns| Some(Duration::from_nanos(ns));
            let srtt_ns = expect.srtt_ns.flatten().expect("it was recorded");
            assert_eq!(estimator.srtt(), ns(srtt_ns), "{}", what("SRTT"));
            assert_eq!(estimator.mdev(), ns(kernel.mdev_ns), "{}", what("MDEV"));
            assert_eq!(
                estimator.rttvar(),
                ns(kernel.rttvar_ns),
                "{}",
                what("RTTVAR")
            );
            assert_eq!(Some(estimator.rto()), ns(kernel.rto_ns), "{}", what("RTO"));
            compared += 1;
        }
    }
    assert_eq!(compared, 1_382);
}

/// The formula a second time gives each RTO; with any mistake that these round trips can show,
/// it misses some.
#[test]
fn the_recorded_timeouts_tell_the_formula_from_its_mistakes() {
    let missed = |mistake| {
        let vectors = load::<Vector>("kernel.json");
        let missed = vectors.iter().map(|vector| {
            let mut replica = Replica::new(&config(vector), mistake);
            samples(vector)
                .filter(|(rtt, expect)| {
                    let rtt_us = u32::try_from(rtt.as_micros()).expect("recorded in 32 bits");
                    let round = Round::Ends;
                    replica.apply(Event::Sample { rtt_us, round });
                    expect
                        .linux
                        .is_some_and(|kernel| kernel.rto_ns != 1_000 * replica.seen().rto_us)
                })
                .count()
        });
        missed.sum::<usize>()
    };
    assert_eq!(missed(None), 0);
    for mistake in [
        Mistake::FallingGain,
        Mistake::FloorOfSum,
        Mistake::SmoothedDeviation,
        Mistake::Unrounded,
    ] {
        assert!(missed(Some(mistake)) > 100, "{mistake:?}");
    }
}

/// Without its 200 ms, the kernel's RTO is below that of RFC 6298 (no floor, G 0) where a
/// deviation counts less or is forgotten sooner: it is not "more conservative" (1-1).
#[test]
fn linux_is_not_always_the_more_conservative() {
    let bare = rto::Config {
        min_rto: Duration::from_nanos(1),
        max_rto: Duration::MAX,
        ..rto::Config::RFC6298
    };
    let (mut compared, mut below) = (0, 0);
    for vector in load::<Vector>("kernel.json") {
        if !vector.id.ends_with("-8ms") {
            continue;
        }
        let mut rfc = rto::Estimator::new(bare).expect("legal");
        for (rtt, expect) in samples(&vector) {
            rfc.sample(rto::Sample::measured(rtt));
            if let Some(kernel) = expect.linux {
                compared += 1;
                below += u32::from(Duration::from_nanos(kernel.rto_ns) < rfc.rto());
            }
        }
    }
    assert_eq!((below, compared), (128, 691));
}
