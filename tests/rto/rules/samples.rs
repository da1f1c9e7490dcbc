//! Section 3: what may be measured.

use rto::{Outcome, Progress, Rejection, Sampler};

use super::*;

/// (3-1) Samples obey Karn's algorithm: what a retransmission makes ambiguous is not measured,
/// and an estimator can tell that it was refused.
#[test]
fn rule_rfc6298_3_1_samples_obey_karns_algorithm() {
    let mut sampler = Sampler::new();
    sampler.handle_sent(ms(0), 0..10);
    sampler.handle_sent(ms(1_000), 0..10);
    sampler.handle_sent(ms(1_010), 10..20);
    let ambiguous = sampler
        .handle_acked(ms(1_100), 20)
        .expect("ends a measurement");
    assert_eq!(ambiguous.rtt(), Err(Rejection::Retransmitted));

    let mut estimator = fed(BARE, &[700]);
    let before = estimator;
    assert_eq!(
        estimator.sample(ambiguous),
        Outcome::Rejected(Rejection::Retransmitted)
    );
    assert_eq!(estimator, before);
}

/// (3-2) A retransmitted segment gives no sample; with a timestamp it does.
#[test]
fn rule_rfc6298_3_2_a_retransmitted_segment_gives_no_sample() {
    // The last send, and the sample that the ACK of it at 1100 ms gives.
    let again = |resent: std::ops::Range<u64>| {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(0), 0..10);
        sampler.handle_sent(ms(1_000), resent);
        sampler.handle_acked(ms(1_100), 10)
    };
    assert_eq!(again(0..10), None, "the whole segment");
    assert_eq!(again(9..20), None, "its last byte beside new ones");
    assert_eq!(again(10..20), Some(rtt(1_100)), "only what follows it");

    let timestamped = Sample::from_timestamp(ms(1_000), ms(1_100)); // names the second one
    assert_eq!(timestamped.rtt(), Ok(ms(100)));
}

/// (3-3) With timestamps every ACK may give a sample, also one that moves nothing.
#[test]
fn rule_rfc6298_3_3_every_ack_may_give_a_sample_by_timestamp() {
    let mut timer = timer(BARE, &[]);
    timer.handle_sent(ms(0));
    let deadline = timer.poll_timeout();
    let first = Sample::from_timestamp(ms(0), ms(800));
    assert_eq!(timer.handle_sample(ms(0), first), Outcome::First);
    let second = Some(Sample::from_timestamp(ms(10), ms(810)));
    assert_eq!(
        timer.handle_acked(ms(810), Progress::None, second),
        Some(Outcome::Accepted)
    );
    assert_eq!(rto_of(&timer), ms(800 + 4 * 300)); // both counted
    assert_eq!(timer.poll_timeout(), deadline);
}

/// (3-4) There is a sample per round trip: as soon as one measurement ends, the next begins.
#[test]
fn rule_rfc6298_3_4_every_round_trip_gives_a_sample() {
    let mut sampler = Sampler::new();
    for round in 0..100 {
        let (start, base) = (30 * round, 1_000 * round);
        sampler.handle_sent(ms(base), start..start + 10);
        sampler.handle_sent(ms(base + 1), start + 10..start + 20);
        sampler.handle_sent(ms(base + 2), start + 20..start + 30);
        assert_eq!(sampler.handle_acked(ms(base + 90), start + 9), None); // not all of it
        let sample = sampler.handle_acked(ms(base + 100), start + 30);
        assert_eq!(sample, Some(rtt(100)), "round {round}"); // from the first send
        assert_eq!(sampler.handle_acked(ms(base + 110), start + 30), None); // once
    }
    sampler.handle_sent(ms(200_000), 3_000..3_000); // nothing, so no measurement begins
    sampler.handle_sent(ms(200_010), 3_000..3_010);
    assert_eq!(sampler.handle_acked(ms(200_100), 3_010), Some(rtt(90)));
}
