//! What the path loses by itself, however little is sent (G10).

use core::time::Duration;

use crate::congestion::evidence::Round;
use crate::congestion::math::mul_div;

/// Losses of so many full packets are no chance.
const LEAST: u64 = 6;
/// In thousandths: more is congestion (G9).
const MOST: u64 = 200;

/// Bytes that left, and those of them that were lost.
#[derive(Copy, Clone, Debug, Default)]
struct Count {
    sent: u64,
    lost: u64,
}

#[derive(Copy, Clone, Debug, Default)]
pub(super) struct BaseLoss {
    count: Count,
    share: u64,
    /// Since the round under way began, less leaves than the path carries.
    is_slow: bool,
    /// Of such packets tells the round under way.
    counts: bool,
    /// The last round of a startup: it counts if the next one brings more.
    startup: Option<Count>,
    /// The round under way tells of a probe's last packets,
    probe_ended: bool,
    /// and in those of the last one a queue was seen.
    has_queue: bool,
}

impl BaseLoss {
    /// A round ended, at whose end less leaves than the path carries if `is_slow`; full packets
    /// have so many bytes.
    pub(super) fn handle_round(
        &mut self,
        round: &Round,
        min_rtt: Option<Duration>,
        is_slow: bool,
        packet: u64,
    ) {
        if core::mem::take(&mut self.probe_ended) {
            self.has_queue = round.is_mostly_queued(min_rtt);
        }
        if self.counts {
            self.add(Count::of(round));
        }
        self.counts = self.is_slow && is_slow;
        let Count { sent, lost } = self.count;
        let is_known = self.has_queue && lost >= packet.saturating_mul(LEAST);
        self.share = if is_known {
            mul_div(lost, 1_000, sent).min(MOST)
        } else {
            0
        };
    }

    /// Another round begins, at this pace.
    pub(super) fn begin_round(&mut self, is_slow: bool) {
        self.is_slow = is_slow;
    }

    /// A round of a startup ended. One that `grew` shows that no queue was full in the one before.
    pub(super) fn handle_startup(&mut self, round: &Round, grew: bool) {
        let before = self.startup.take();
        if grew {
            self.add(before.unwrap_or_default());
            self.startup = Some(Count::of(round));
        }
    }

    /// A startup or a probe is over: what is older counts half.
    pub(super) fn handle_probe_end(&mut self) {
        self.count.sent /= 2;
        self.count.lost /= 2;
        self.probe_ended = true;
    }

    fn add(&mut self, count: Count) {
        self.count.sent = self.count.sent.saturating_add(count.sent);
        self.count.lost = self.count.lost.saturating_add(count.lost);
    }

    /// In thousandths; 0 while it is not known, or may be a policer's.
    pub(super) fn share(&self) -> u64 {
        self.share
    }

    /// What must be sent for so much to arrive.
    pub(super) fn made_up(&self, value: u64) -> u64 {
        if self.share == 0 {
            return value; // mostly, and without a division
        }
        mul_div(value, 1_000, 1_000_u64.saturating_sub(self.share))
    }
}

impl Count {
    fn of(round: &Round) -> Self {
        Self {
            sent: round.sent(),
            lost: round.lost(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Ack, PACKET};

    /// A round of a hundred packets with so many losses and a round trip of so many ms.
    fn round(lost: u64, rtt: u64) -> Round {
        let mut round = Round::new(0);
        round.handle_lost(lost * PACKET);
        round.handle_ack(&Ack {
            acked: (100 - lost) * PACKET,
            rtt: Duration::from_millis(rtt),
            ..Ack::default()
        });
        round
    }

    /// Rounds that end slow or not, with so many losses; the first meets a queue of so many ms.
    fn rounds(base: &mut BaseLoss, queue: u64, rounds: &[(bool, u64)]) -> u64 {
        let min_rtt = Some(Duration::from_millis(20));
        let mut rtt = 20 + queue;
        for &(is_slow, lost) in rounds {
            base.handle_round(&round(lost, rtt), min_rtt, is_slow, PACKET);
            base.begin_round(is_slow);
            rtt = 20;
        }
        base.share()
    }

    /// After a probe that left such a queue, two slow rounds: the first tells of the probe itself,
    /// the one after the second of what the second sent.
    fn probe(queue: u64, lost: u64) -> BaseLoss {
        let mut base = BaseLoss::default();
        base.handle_probe_end();
        base.begin_round(true);
        rounds(
            &mut base,
            queue,
            &[(true, 40), (true, lost), (false, lost), (false, 40)],
        );
        base
    }

    #[test]
    fn it_is_the_share_in_the_rounds_that_tell_of_slow_ones() {
        let base = probe(10, 10);
        assert_eq!(base.share(), 100);
        assert_eq!(base.made_up(900), 1_000);
        assert_eq!(probe(10, 30).share(), 200, "the most");
        assert_eq!(probe(10, 2).share(), 0, "four of 200 may be chance");
        assert_eq!(probe(10, 3).share(), 30);
    }

    #[test]
    fn without_a_queue_it_may_be_a_policer() {
        assert_eq!(probe(1, 10).share(), 0);
        assert_eq!(probe(2, 10).share(), 100, "more than a sixteenth");
        let mut base = probe(10, 20);
        base.handle_probe_end();
        assert_eq!(rounds(&mut base, 0, &[(false, 0)]), 0);
        base.handle_probe_end();
        assert_eq!(rounds(&mut base, 10, &[(false, 0)]), 200, "remembered");
    }

    #[test]
    fn what_is_older_counts_half_after_each_probe() {
        let mut base = probe(10, 20); // 40 of 200
        base.handle_probe_end();
        base.begin_round(true);
        let share = rounds(&mut base, 10, &[(true, 0), (false, 0)]);
        assert_eq!(share, 100, "20 of 200");
    }

    #[test]
    fn a_round_of_a_startup_counts_when_the_next_one_grows() {
        let mut base = BaseLoss::default();
        for (lost, grew) in [(10, true), (10, true), (50, true), (50, false)] {
            base.handle_startup(&round(lost, 20), grew);
        }
        base.handle_probe_end();
        assert_eq!(rounds(&mut base, 10, &[(false, 50)]), 100, "10 of 100");
    }
}
