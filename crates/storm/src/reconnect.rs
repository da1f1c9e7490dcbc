//! A server is away, and its clients dial until it is back.

use std::time::Duration;

use backoff_policy::nanos;

use crate::{
    engine::Queue,
    fleet::{Behaviour, Fleet},
    stats::{Histogram, reached},
};

/// All clients dial at 0, which fails; each attempt fails after a round trip until the outage is
/// over, and succeeds from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// How many there are.
    pub clients: u32,
    /// How long the server is away.
    pub outage: Duration,
    /// How long an attempt takes to fail, unless its client ends it before; at least 1 ms for clients
    /// that try again at once, who would stop time.
    pub round_trip: Duration,
    /// The width of the bins in which attempts are counted.
    pub bin: Duration,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How many clients there were.
    pub clients: u32,
    /// Attempts in all, the first ones included.
    pub attempts: u64,
    /// Clients that gave up.
    pub gave_up: u32,
    /// How long after the end of the outage each client was back, in order, in ns.
    pub recovery: Vec<u64>,
    /// Attempts over time, but for the first ones.
    pub arrivals: Histogram,
}

impl Outcome {
    /// The most attempts in one bin, the first ones aside.
    #[must_use]
    pub fn peak(&self) -> u64 {
        let bins = self.arrivals.bins().iter();
        bins.map(|&(_, events)| events).max().unwrap_or(0)
    }

    /// The time after the outage by which this share of all clients was back, if it was.
    #[must_use]
    pub fn recovered(&self, share: f64) -> Option<Duration> {
        reached(&self.recovery, self.clients, share)
    }
}

impl Reconnect {
    /// 10,000 clients, 60 s, attempts that fail in no time, bins of 100 ms.
    pub const PUBLISHED: Self = Self {
        clients: 10_000,
        outage: Duration::from_secs(60),
        round_trip: Duration::ZERO,
        bin: Duration::from_millis(100),
    };

    /// Runs it.
    #[must_use]
    pub fn run(&self, behaviour: &Behaviour, seed: u64) -> Outcome {
        let mut fleet = Fleet::new(behaviour, self.clients, seed);
        let mut queue = Queue::new();
        (0..self.clients).for_each(|client| queue.push(0, client));
        let back = nanos(self.outage);
        let round_trip = nanos(match behaviour {
            Behaviour::AtOnce => self.round_trip.max(Duration::from_millis(1)),
            _ => self.round_trip,
        });
        let mut outcome = Outcome {
            clients: self.clients,
            gave_up: 0,
            attempts: 0,
            recovery: Vec::with_capacity(self.clients as usize),
            arrivals: Histogram::new(self.bin),
        };
        while let Some((now, client)) = queue.pop_ahead(|client| fleet.touch(client)) {
            outcome.attempts += 1;
            if now > 0 {
                outcome.arrivals.add(now);
            }
            if now >= back {
                outcome.recovery.push(now - back);
                continue;
            }
            let deadline = fleet.start(client, now);
            let failed = now.saturating_add(round_trip).min(deadline);
            if let Some(next) = fleet.fail(client, failed) {
                queue.push(next, client);
            }
        }
        outcome.gave_up = fleet.gave_up();
        outcome
    }
}
