//! How far acknowledgements run ahead of the bandwidth when they come in bunches, after
//! draft-ietf-ccwg-bbr, 5.5.9 (G8).

use core::time::Duration;

use super::math::bytes_in;

/// How many rounds the most that was seen counts, and as many again.
const ROUNDS: u32 = 10;

#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Aggregation {
    since: Duration,
    acked: u64,
    most: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Bytes beyond what the bandwidth explains.
    pub(super) fn extra(&self) -> u64 {
        let [this, last] = self.most;
        this.max(last)
    }

    pub(super) fn handle_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds >= ROUNDS {
            let [this, _] = self.most;
            (self.most, self.rounds) = ([0, this], 0);
        }
    }

    pub(super) fn handle_acked(&mut self, now: Duration, acked: u64, bandwidth: u64, window: u64) {
        let expected = bytes_in(now.saturating_sub(self.since), bandwidth);
        let behind = self.acked <= expected;
        if behind {
            (self.since, self.acked) = (now, 0);
        }
        self.acked = self.acked.saturating_add(acked);
        let expected = if behind { 0 } else { expected };
        let extra = self.acked.saturating_sub(expected).min(window);
        let [this, _] = &mut self.most;
        *this = extra.max(*this);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bunch_counts_for_ten_to_twenty_rounds_and_a_steady_flow_for_one_ack() {
        let ms = Duration::from_millis;
        let mut aggregation = Aggregation::default();
        for at in 1..100 {
            aggregation.handle_acked(ms(at), 1_000, 1_000_000, 50_000);
        }
        assert!(aggregation.extra() <= 2_000, "{}", aggregation.extra());
        for _ in 0..9 {
            aggregation.handle_acked(ms(110), 1_000, 1_000_000, 50_000);
        }
        assert!((8_000..=9_000).contains(&aggregation.extra()));
        for _ in 0..10 {
            aggregation.handle_round();
        }
        assert!((8_000..=9_000).contains(&aggregation.extra()));
        for _ in 0..9 {
            aggregation.handle_round();
        }
        assert!((8_000..=9_000).contains(&aggregation.extra()));
        aggregation.handle_round();
        assert_eq!(aggregation.extra(), 0);
    }
}
