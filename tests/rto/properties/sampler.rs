//! The sampler against a network that knows which transmission was answered.

use std::{collections::BTreeMap, ops::Range};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use rto::Sampler;

use super::*;

/// A sender of 10-byte segments, a receiver that acknowledges cumulatively, and between them
/// a network that loses, delays and reorders both ways.
struct Network {
    rng: ChaCha8Rng,
    now: Duration,
    sampler: Sampler,
    transmissions: Vec<Transmission>,
    /// Events to come: by time, then in order of creation.
    arrivals: BTreeMap<(Duration, usize), Arrival>,
    created: usize,
    received: Vec<bool>,
    acknowledged: u64,
    samples: usize,
}

struct Transmission {
    sent_at: Duration,
    bytes: Range<u64>,
    arrived_at: Option<Duration>,
}

enum Arrival {
    Segment { transmission: usize },
    Ack { upto: u64, made_at: Duration },
}

const SEGMENT: u64 = 10;

impl Network {
    fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            now: Duration::ZERO,
            sampler: Sampler::new(),
            transmissions: Vec::new(),
            arrivals: BTreeMap::new(),
            created: 0,
            received: Vec::new(),
            acknowledged: 0,
            samples: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound
    }

    /// One in five is lost, the others take 1 to 100 ms.
    fn carry(&mut self, arrival: Arrival) {
        if self.below(5) > 0 {
            let at = self.now + Duration::from_micros(1_000 + self.below(99_000));
            self.created += 1;
            self.arrivals.insert((at, self.created), arrival);
        }
    }

    fn send(&mut self, segment: u64) {
        self.now += Duration::from_nanos(1); // no two transmissions at one instant
        let bytes = segment * SEGMENT..(segment + 1) * SEGMENT;
        self.sampler.handle_sent(self.now, bytes.clone());
        self.transmissions.push(Transmission {
            sent_at: self.now,
            bytes,
            arrived_at: None,
        });
        let transmission = self.transmissions.len() - 1;
        self.carry(Arrival::Segment { transmission });
    }

    /// The sender sends the next segment, or one of the unacknowledged ones again.
    fn send_something(&mut self) {
        let next = self.received.len() as u64;
        let oldest = self.acknowledged / SEGMENT;
        if next - oldest > 8 || (next > oldest && self.below(4) == 0) {
            let again = oldest + self.below(next - oldest) * self.below(2);
            self.send(again);
        } else {
            self.received.push(false);
            self.send(next);
        }
    }

    fn run_until(&mut self, end: Duration) {
        while let Some(entry) = self
            .arrivals
            .first_entry()
            .filter(|entry| entry.key().0 <= end)
        {
            let ((at, _), arrival) = entry.remove_entry();
            self.now = self.now.max(at);
            match arrival {
                Arrival::Segment { transmission } => {
                    let transmission = &mut self.transmissions[transmission];
                    transmission.arrived_at = Some(self.now);
                    self.received
                        [usize::try_from(transmission.bytes.start / SEGMENT).expect("small")] =
                        true;
                    let complete = self
                        .received
                        .iter()
                        .take_while(|received| **received)
                        .count();
                    let made_at = self.now;
                    let upto = complete as u64 * SEGMENT;
                    self.carry(Arrival::Ack { upto, made_at });
                }
                Arrival::Ack { upto, made_at } => self.acked(upto, made_at),
            }
        }
        self.now = end.max(self.now);
    }

    fn acked(&mut self, upto: u64, made_at: Duration) {
        if let Some(sample) = self.sampler.handle_acked(self.now, upto)
            && let Ok(rtt) = sample.rtt()
        {
            self.samples += 1;
            self.check(rtt, upto, made_at);
        }
        self.acknowledged = self.acknowledged.max(upto);
    }

    /// The truth: the sample is the round trip of one transmission, which this ACK answers,
    /// and no byte that the ACK newly covers was ever sent twice.
    fn check(&self, rtt: Duration, upto: u64, made_at: Duration) {
        let sent_at = self.now - rtt;
        let mut timed = self
            .transmissions
            .iter()
            .filter(|sent| sent.sent_at == sent_at);
        let timed = timed.next().expect("some transmission left then");
        assert!(timed.bytes.end <= upto, "it is not acknowledged yet");
        assert!(
            timed.arrived_at.is_some_and(|at| at <= made_at),
            "it had not arrived"
        );
        for start in (self.acknowledged..upto).step_by(10) {
            let sends = self
                .transmissions
                .iter()
                .filter(|sent| sent.bytes.start == start);
            assert_eq!(sends.count(), 1, "byte {start} was sent again");
        }
    }
}

/// Thousands of samples over lossy, reordering paths: none is ambiguous.
#[test]
fn no_sample_is_ambiguous() {
    let mut samples = 0;
    for seed in 0..200 {
        let mut network = Network::new(seed);
        for _ in 0..500 {
            network.send_something();
            let pause = Duration::from_micros(network.below(60_000));
            network.run_until(network.now + pause);
        }
        samples += network.samples;
    }
    assert!(samples > 2_000, "{samples} samples only");
}
