//! `rto` inside the transport, beside `rto` alone and beside Linux, on round trips that Linux
//! measured.
//!
//! Each pattern of `vectors/kernel.json` becomes the delays of a link with one packet a round
//! trip on it. The server sends: the round trip of its SETTINGS is its first sample.

use std::time::Duration;

use conformance::{
    pair::{Pair, SingleStream, clean},
    rto_vectors::{Event, Expect, Vector},
    time::{ms, s},
    vectors::load,
};
use netsim::LinkConfig;
use rto::{Deviation, Estimator, Sample, linux};
use rudp_proto::{Config, ConfigError, Step, wire::Header};

/// The round trips of a vector, and what the kernel had after each.
fn round_trips(vector: &Vector) -> Vec<(Duration, &Expect)> {
    let steps = vector.steps.iter().map(|step| match step.event {
        Event::Sample { rtt, .. } => (rtt, &step.expect),
        ref other => panic!("{}: {other:?}", vector.id),
    });
    steps.collect()
}

/// What a connection told of its timer while its round trips were these.
fn played(rtts: &[Duration], rto: rto::Config) -> Vec<(rto::Event, Estimator)> {
    let config = Config {
        rto,
        max_ack_delay: Duration::ZERO,
        keepalive: None,
        trace: true,
        ..Config::DEFAULT
    };
    let mut pair = Pair::new(config, LinkConfig::PERFECT);
    pair.connect();
    for (round, rtt) in rtts.iter().enumerate() {
        let delay = LinkConfig {
            delay: *rtt,
            ..LinkConfig::PERFECT
        };
        pair.down.set_config(delay).expect("a valid link");
        // Whatever the timer or a probe repeats, a pattern has one packet a round trip.
        let mut is_first = true;
        pair.lets_pass = Box::new(move |_, from_client, datagram| {
            let is_data = Header::of(datagram).is_ok_and(|header| header.is_data());
            from_client || !is_data || std::mem::take(&mut is_first)
        });
        let challenge = if round == 0 { *rtt } else { Duration::ZERO };
        if round > 0 {
            let server = pair.server.handle();
            let written = pair.server.conn(server).put(b"x");
            assert_eq!(written, Ok(1));
        }
        pair.run_for(challenge + *rtt);
    }
    let traces = pair.server.traces.iter();
    let events = traces.filter_map(|trace| match trace.step {
        Step::Timer(event) => Some((event, trace.estimator)),
        _ => None,
    });
    events.collect()
}

/// The estimator of a connection after each sample, which must be what `rto` alone makes of
/// the same samples and expiries, to the bit.
fn compared(vector: &Vector, config: rto::Config) -> (Vec<Estimator>, usize) {
    let rtts: Vec<_> = round_trips(vector).iter().map(|(rtt, _)| *rtt).collect();
    let mut bare = Estimator::new(config).expect("legal");
    let mut after_samples = Vec::new();
    let mut back_offs = 0;
    for (event, estimator) in played(&rtts, config) {
        match event {
            rto::Event::Sampled { rtt, .. } => {
                let index = after_samples.len();
                assert_eq!(rtt, rtts[index], "{}, sample {index}", vector.id);
                bare.sample(Sample::measured(rtt));
                assert_eq!(estimator, bare, "{}, sample {index}", vector.id);
                after_samples.push(estimator);
            }
            rto::Event::BackedOff { rto, .. } => {
                bare.back_off();
                assert_eq!(rto, bare.rto(), "{}, a back-off", vector.id);
                back_offs += 1;
            }
            _ => {}
        }
    }
    assert_eq!(after_samples.len(), rtts.len(), "{}", vector.id);
    (after_samples, back_offs)
}

/// RFC 6298 with another floor.
fn with_floor(min_rto: Duration) -> rto::Config {
    rto::Config {
        min_rto,
        ..rto::Config::RFC6298
    }
}

/// The patterns meet three floors; below that of the RFC, some round trips outlast the RTO, and
/// what was backed off must be again what it was.
#[test]
fn a_connection_has_to_the_bit_what_rto_alone_makes_of_its_round_trips() {
    let mut compared_samples = 0;
    let mut all_back_offs = Vec::new();
    for floor in [s(1), ms(200), ms(8)] {
        let mut back_offs = 0;
        for vector in load::<Vector>("kernel.json") {
            let (estimators, expired) = compared(&vector, with_floor(floor));
            compared_samples += estimators.len();
            back_offs += expired;
        }
        all_back_offs.push(back_offs);
    }
    println!("{compared_samples} samples, {all_back_offs:?} back-offs");
    assert_eq!(compared_samples, 3 * 1_400);
    assert!(all_back_offs[2] > 0, "the lowest floor is met");
}

/// SRTT lies within the vectors' tolerance of the kernel's. The kernel's deviation grows more
/// slowly after shorter round trips (P54), so it is no larger than RTTVAR, but for what cuts to
/// whole units add: 1 us of SRTT, 1 us where SRTT is cut to compare it, and at each step less than
/// 1/4 us of the quarter that is taken away, which sums up to 1 us. What Linux makes of the
/// samples that the connection took is the kernel's, to the bit.
#[test]
fn a_connection_is_as_near_to_the_kernel_as_the_formulas_are() {
    let mut seen = 0;
    for vector in load::<Vector>("kernel.json") {
        let floor = Duration::from_nanos(vector.linux.expect("a kernel's vector").rto_min_ns);
        let settings = linux::Config {
            rto_min: floor,
            ..linux::Config::LINUX
        };
        let mut replica = linux::Estimator::new(settings).expect("legal");
        let tolerance = Duration::from_nanos(vector.tolerance_ns);
        let (estimators, _) = compared(&vector, with_floor(floor));
        for ((rtt, expect), estimator) in round_trips(&vector).into_iter().zip(estimators) {
            replica.sample(rtt, linux::Round::Ends);
            let Some(kernel) = expect.linux else {
                continue; // the handshake's own result was not recorded
            };
            let ns = Duration::from_nanos;
            let (srtt, rttvar) = (estimator.srtt(), estimator.rttvar());
            let (srtt, rttvar) = (srtt.expect("sampled"), rttvar.expect("sampled"));
            let kernel_srtt = ns(expect.srtt_ns.flatten().expect("recorded"));
            assert!(srtt.abs_diff(kernel_srtt) <= tolerance, "{}", vector.id);
            assert!(
                ns(kernel.mdev_ns) <= rttvar + 3 * tolerance,
                "{}",
                vector.id
            );
            assert_eq!(replica.srtt(), Some(kernel_srtt), "{}", vector.id);
            assert_eq!(replica.rto(), ns(kernel.rto_ns), "{}", vector.id);
            seen += 1;
        }
    }
    assert_eq!(seen, 1_382);
}

/// The path is dark for 500 ms, which loses a lone packet and what evidence or probes repeat of
/// it: the timer brings it, with that for games at 200 + 400 ms; with the floor of the RFC at 1 s,
/// or a round trip later if what was repeated left too recently for the timer (5-1).
#[test]
fn a_lower_floor_repairs_a_lost_tail_sooner() {
    let repaired_after = |rto: rto::Config| {
        let config = Config {
            rto,
            ..Config::DEFAULT
        };
        let (mut pair, client, server) = Pair::connected(config, clean());
        let start = pair.now;
        pair.lets_pass = Box::new(move |now, _, _| now >= start + ms(500));
        pair.client.conn(client).put(b"tail").expect("open");
        while pair.server.bytes(server).is_empty() {
            pair.run_for(ms(1));
        }
        pair.now - start
    };
    assert_eq!(repaired_after(rto::Config::GAMES), ms(620));
    let with_the_rfc = repaired_after(rto::Config::RFC6298);
    assert!(
        (ms(1_020)..=ms(1_060)).contains(&with_the_rfc),
        "{with_the_rfc:?}"
    );
}

/// What a floor below 1 s breaks is said by `rto`; it must leave time for a delayed ACK (L7).
#[test]
fn a_lower_floor_is_named_and_stays_above_the_delay_of_acks() {
    let broken: Vec<_> = rto::Config::GAMES.deviations().collect();
    assert_eq!(broken, [Deviation::MinRto(ms(200))]);
    assert_eq!(broken[0].rule(), "2.4-1");
    let make = |max_ack_delay| {
        let config = Config {
            rto: rto::Config::GAMES,
            max_ack_delay,
            ..Config::DEFAULT
        };
        let secrets = rudp_proto::Secrets {
            reset_key: [1; 32],
            seed: [1; 32],
        };
        rudp_proto::Endpoint::new(config, secrets).map(|_| ())
    };
    assert_eq!(make(ms(199)), Ok(()));
    let refused = ConfigError::AckDelay {
        delay: ms(200),
        floor: ms(200),
    };
    assert_eq!(make(ms(200)), Err(refused));
}
