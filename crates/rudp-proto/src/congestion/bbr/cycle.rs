//! When the bandwidth is probed again (G8).

use core::time::Duration;

/// The time between probes, and up to a second more.
const SHORTEST: Duration = Duration::from_secs(2);
/// A packet a round trip for Reno's sake: no more rounds than this without a probe.
const MOST_ROUNDS: u64 = 63;

#[derive(Clone, Debug)]
pub(super) struct Cycle {
    began_at: Duration,
    lasts: Duration,
    rounds: u64,
    /// Spreads the probes of connections that share a path.
    seed: u64,
}

impl Cycle {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            began_at: Duration::ZERO,
            lasts: Duration::ZERO,
            rounds: 0,
            seed: seed | 1,
        }
    }

    /// Rounds since it began.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }

    pub(super) fn handle_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// Counts the rounds from here.
    pub(super) fn restart_rounds(&mut self) {
        self.rounds = 0;
    }

    pub(super) fn begin(&mut self, now: Duration) {
        self.began_at = now;
        self.rounds = 0;
        // Between 2 and 3 s, different from connection to connection (xorshift).
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let spread = Duration::from_millis(self.seed % 1_000);
        self.lasts = SHORTEST.saturating_add(spread);
    }

    /// Whether it is time to probe, on a path that holds so many packets.
    pub(super) fn is_over(&self, now: Duration, packets: u64) -> bool {
        let elapsed = now.saturating_sub(self.began_at);
        elapsed >= self.lasts || self.rounds >= packets.min(MOST_ROUNDS)
    }
}
