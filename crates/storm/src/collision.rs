//! Clients that share a channel: two at once destroy each other's attempt.

use std::time::Duration;

use backoff_policy::nanos;

use crate::{
    engine::Queue,
    fleet::{Behaviour, Fleet},
};

/// Time comes in slots of so much.
const SLOT: u64 = 1_000_000;

/// All clients fire at 0. A slot of 1 ms with one attempt in it is a success, and that client is
/// done; where there are more, all fail, and each comes back in the first slot that is not before
/// the end of its wait, the next one at the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collision {
    /// How many there are.
    pub clients: u32,
    /// How long it goes on, its end included.
    pub window: Duration,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Attempts in all.
    pub attempts: u64,
    /// When each client that is done was done, in order.
    pub drained: Vec<Duration>,
    /// Clients that gave up.
    pub gave_up: u32,
    /// Attempts in each slot that had one.
    pub arrivals: Vec<(Duration, u32)>,
}

impl Collision {
    /// 100 clients for 200 s. Published with a base of 10 ms, doubled, to 1 s, but 20 ms as the
    /// first ceiling: [`Behaviour::from_ceiling`] 1.
    pub const PUBLISHED: Self = Self {
        clients: 100,
        window: Duration::from_secs(200),
    };

    /// Runs it.
    #[must_use]
    pub fn run(&self, behaviour: &Behaviour, seed: u64) -> Outcome {
        let mut fleet = Fleet::new(behaviour, self.clients, seed);
        let mut queue = Queue::new();
        (0..self.clients).for_each(|client| queue.push(0, client));
        let mut outcome = Outcome {
            attempts: 0,
            drained: Vec::new(),
            gave_up: 0,
            arrivals: Vec::new(),
        };
        let mut here = Vec::new();
        while let Some(slot) = queue.pop_all(&mut here)
            && slot <= nanos(self.window)
        {
            outcome.attempts += here.len() as u64;
            outcome
                .arrivals
                .push((Duration::from_nanos(slot), here.len() as u32));
            if here.len() == 1 {
                outcome.drained.push(Duration::from_nanos(slot));
                continue;
            }
            for &client in &here {
                // The series draws at a start or at a failure: here both are at once.
                let _ = fleet.start(client, slot);
                if let Some(next) = fleet.fail(client, slot) {
                    let next = next.div_ceil(SLOT).saturating_mul(SLOT);
                    queue.push(next.max(slot.saturating_add(SLOT)), client);
                }
            }
        }
        outcome.gave_up = fleet.gave_up();
        outcome
    }
}
