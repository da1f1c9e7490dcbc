//! A server is away, and its clients dial until it is back.

use std::time::Duration;

use crate::{
    engine::Queue,
    fleet::{Behaviour, Fleet, nanos},
    stats::{Histogram, percentile},
};

/// All clients dial at 0, which fails; each attempt fails at once until the outage is over, and
/// succeeds from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// How many there are.
    pub clients: u32,
    /// How long the server is away.
    pub outage: Duration,
    /// The width of the bins in which attempts are counted.
    pub bin: Duration,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Attempts in all, the first ones included.
    pub attempts: u64,
    /// How long after the end of the outage each client was back, in order, in ns.
    pub recovery: Vec<u64>,
    /// Attempts over time, but for the first ones.
    pub arrivals: Histogram,
}

impl Outcome {
    /// The most attempts in one bin, the first ones aside.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.arrivals.bins().iter().copied().max().unwrap_or(0)
    }

    /// The time after the outage by which this share of the clients was back; `None` of no clients.
    #[must_use]
    pub fn recovered(&self, share: f64) -> Option<Duration> {
        percentile(&self.recovery, share).map(Duration::from_nanos)
    }
}

impl Reconnect {
    /// 10,000 clients, 60 s, 100 ms.
    pub const PUBLISHED: Self = Self {
        clients: 10_000,
        outage: Duration::from_secs(60),
        bin: Duration::from_millis(100),
    };

    /// Runs it.
    #[must_use]
    pub fn run(&self, behaviour: &Behaviour, seed: u64) -> Outcome {
        let mut fleet = Fleet::new(behaviour, self.clients, seed);
        let mut queue = Queue::new();
        (0..self.clients).for_each(|client| queue.push(0, client));
        let back = nanos(self.outage);
        let mut outcome = Outcome {
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
            let _ = fleet.start(client, now);
            queue.push(fleet.fail(client, now), client);
        }
        outcome
    }
}
