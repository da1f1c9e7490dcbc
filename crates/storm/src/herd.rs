//! Clients that fail together: how close together they come back.

use std::time::Duration;

use crate::{
    engine::Queue,
    fleet::{Behaviour, Fleet},
    stats::Peak,
};

/// All clients fail at 0, and every later attempt fails at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Herd {
    /// How many there are.
    pub clients: u32,
    /// How many times each comes back.
    pub waves: u32,
    /// The length of the window that slides over the arrivals.
    pub window: Duration,
}

impl Herd {
    /// 500 clients, six waves, 100 ms.
    pub const PUBLISHED: Self = Self {
        clients: 500,
        waves: 6,
        window: Duration::from_millis(100),
    };

    /// Runs it; gives the most arrivals in any window for each wave: among all first retries, among
    /// all second ones, and so on.
    #[must_use]
    pub fn run(&self, behaviour: &Behaviour, seed: u64) -> Vec<usize> {
        let mut fleet = Fleet::new(behaviour, self.clients, seed);
        let mut peaks = vec![Peak::new(self.window); self.waves as usize];
        let mut queue = Queue::new();
        (0..self.clients).for_each(|client| queue.push(0, (client, 0)));
        while let Some((now, (client, wave))) = queue.pop() {
            if wave > 0 {
                peaks[wave as usize - 1].add(now);
            }
            if wave < self.waves {
                let _ = fleet.start(client, now);
                if let Some(next) = fleet.fail(client, now) {
                    queue.push(next, (client, wave + 1));
                }
            }
        }
        peaks.iter().map(Peak::most).collect()
    }
}
