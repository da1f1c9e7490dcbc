//! The model on a path that does as it is told, where each number shows by itself.

mod histories;
mod phases;
mod undo;
mod window;

use CongestionPhase::{Cruise, Drain, ProbeDown, ProbeRtt, ProbeUp, Refill, Startup};

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 24 Mbit/s and 40 ms, which 100 packets fill.
const RATE: u64 = 3_000_000;
const RTT: Duration = ms(40);
const PIPE: u64 = 100 * PACKET;

/// A model, and a path that is full and has no queue.
struct World {
    bbr: Bbr,
    rate: u64,
    rtt: Duration,
    /// The time from ACK to ACK: at first a round trip, so that each ends a round.
    spacing: Duration,
    now: Duration,
    delivered: u64,
    next: u64,
}

impl World {
    fn new(rate: u64, rtt: Duration, seed: u64) -> Self {
        Self {
            bbr: Bbr::new(seed),
            rate,
            rtt,
            spacing: rtt,
            now: Duration::from_secs(1),
            delivered: 0,
            next: 0,
        }
    }

    /// On the usual path, once the model does this.
    fn at(phase: CongestionPhase) -> Self {
        let mut world = Self::new(RATE, RTT, 7);
        world.until(phase);
        world
    }

    /// The same with an ACK a millisecond.
    fn finely_at(phase: CongestionPhase) -> Self {
        let mut world = Self::new(RATE, RTT, 7);
        world.spacing = ms(1);
        world.until(phase);
        world
    }

    fn phase(&self) -> CongestionPhase {
        self.bbr.phase()
    }

    /// What the path answers next.
    fn ack(&self) -> Ack {
        let acked = bytes_in(self.spacing, self.rate);
        let pipe = bytes_in(self.rtt, self.rate);
        let delivered = self.delivered + acked;
        Ack {
            now: self.now + self.spacing,
            acked,
            largest: self.next,
            largest_lost: self.next,
            next: self.next + 1,
            flight_before: pipe,
            flight: pipe,
            window_used: true,
            rtt: self.rtt,
            srtt: self.rtt,
            rate: Some(self.rate),
            delivered,
            prior_delivered: delivered.saturating_sub(pipe),
            delivered_in_flight: pipe,
            ..Ack::default()
        }
    }

    /// The same with so many packets lost, too many for chance (G9).
    fn lossy(&self) -> Ack {
        Ack {
            lost: 30 * PACKET,
            ..self.ack()
        }
    }

    fn handle(&mut self, ack: Ack) {
        (self.now, self.delivered, self.next) = (ack.now, ack.delivered, ack.next);
        self.bbr.handle_ack(&ack);
    }

    fn step(&mut self) {
        self.handle(self.ack());
    }

    fn steps(&mut self, count: u32) {
        for _ in 0..count {
            self.step();
        }
    }

    /// Answers how many steps it took.
    fn until(&mut self, phase: CongestionPhase) -> u32 {
        self.until_with(phase, Self::ack)
    }

    fn until_with(&mut self, phase: CongestionPhase, ack: impl Fn(&Self) -> Ack) -> u32 {
        for count in 0..100_000 {
            if self.phase() == phase {
                return count;
            }
            self.handle(ack(self));
        }
        panic!("never {phase}");
    }
}
