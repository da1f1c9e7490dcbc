//! Optimistic concurrency: clients that write one row, each if nobody wrote since it read.

use std::time::Duration;

use crate::{
    draws::Draws,
    engine::Queue,
    fleet::{Behaviour, Fleet},
};

/// Each client reads the row's version, writes with it, and where another was faster waits and
/// reads again, until its write is taken. The model behind the AWS Architecture Blog's "Exponential
/// Backoff And Jitter".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occ {
    /// How many there are.
    pub clients: u32,
    /// The mean of the normal distribution whose absolute value each message is under way.
    pub delay: Duration,
    /// Its standard deviation.
    pub deviation: Duration,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When the last client heard of its success.
    pub completed: Duration,
    /// Writes that the server got, the refused ones included.
    pub writes: u64,
    /// Clients that gave up.
    pub gave_up: u32,
}

/// A message arrives: at the server (`Read`, `Write`) or at the client.
#[derive(Clone, Copy, Debug)]
enum Message {
    Read,
    Version,
    Write,
    Refused,
    Written,
}

impl Occ {
    /// 100 clients, 10 ms one way, deviation 2 ms. Published with a base of 5 ms, doubled, to 2 s,
    /// but 10 ms as the first ceiling: [`Behaviour::from_ceiling`] 1.
    pub const PUBLISHED: Self = Self {
        clients: 100,
        delay: Duration::from_millis(10),
        deviation: Duration::from_millis(2),
    };

    /// Runs it.
    #[must_use]
    pub fn run(&self, behaviour: &Behaviour, seed: u64) -> Outcome {
        let mut fleet = Fleet::new(behaviour, self.clients, seed);
        let mut draws = Draws::of(seed, u64::MAX); // the network's
        let (mean, deviation) = (self.delay.as_secs_f64(), self.deviation.as_secs_f64());
        let mut trip = || (draws.normal(mean, deviation).abs() * 1e9) as u64;
        let mut queue = Queue::new();
        for client in 0..self.clients {
            let _ = fleet.start(client, 0);
            queue.push(trip(), (client, Message::Read));
        }
        let mut read = vec![0_u32; self.clients as usize]; // the version that each has seen
        let mut version = 0;
        let mut writes = 0;
        while let Some((now, (client, message))) = queue.pop() {
            let seen = &mut read[client as usize];
            let (from, reply) = match message {
                Message::Read => {
                    *seen = version; // it is on its way in the reply
                    (now, Message::Version)
                }
                Message::Version => (now, Message::Write),
                Message::Write => {
                    writes += 1;
                    let taken = *seen == version;
                    version += u32::from(taken);
                    (
                        now,
                        if taken {
                            Message::Written
                        } else {
                            Message::Refused
                        },
                    )
                }
                Message::Refused => {
                    let Some(next) = fleet.fail(client, now) else {
                        continue;
                    };
                    let _ = fleet.start(client, next);
                    (next, Message::Read)
                }
                Message::Written => continue,
            };
            queue.push(from.saturating_add(trip()), (client, reply));
        }
        Outcome {
            completed: Duration::from_nanos(queue.now()),
            writes,
            gave_up: fleet.gave_up(),
        }
    }
}
