//! What shows congestion in a round trip's worth of ACKs (G9).

use core::time::Duration;

use super::Ack;
use super::math::percent;

/// The share of losses in thousandths that proves something without a queue: of a path that brings no
/// more, and of any path; and the fewest full packets that tell it from chance.
const SOME: (u64, u64) = (20, 6);
const MANY: (u64, u64) = (200, 20);
/// A queue is one from so much above the shortest round trip: a sixteenth, and at least this.
const LEAST_QUEUE: Duration = Duration::from_millis(1);

#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Round {
    /// It ends with the ACK of a packet that left when so much had been delivered.
    ends_at: u64,
    acked: u64,
    lost: u64,
    ce: u64,
    rtt: Option<Duration>,
    /// Of so many ACKs, the sum of their round trips.
    acks: u32,
    rtts: Duration,
    /// The best delivery rate, and the most that was delivered between a packet's departure and
    /// its acknowledgement.
    pub(super) best_rate: u64,
    pub(super) most_in_flight: u64,
}

impl Round {
    /// A round that begins when so much has been delivered.
    pub(super) fn new(delivered: u64) -> Self {
        Self {
            ends_at: delivered,
            ..Self::default()
        }
    }

    pub(super) fn handle_lost(&mut self, lost: u64) {
        self.lost = self.lost.saturating_add(lost);
    }

    /// They were late (G7).
    pub(super) fn forget_lost(&mut self) {
        self.lost = 0;
    }

    pub(super) fn handle_ack(&mut self, ack: &Ack) {
        self.acked = self.acked.saturating_add(ack.acked);
        self.ce = self.ce.saturating_add(ack.ce);
        self.rtt = Some(self.rtt.map_or(ack.rtt, |rtt| rtt.min(ack.rtt)));
        self.acks = self.acks.saturating_add(1);
        self.rtts = self.rtts.saturating_add(ack.rtt);
        self.best_rate = self.best_rate.max(ack.rate.unwrap_or_default());
        self.most_in_flight = self.most_in_flight.max(ack.delivered_in_flight);
    }

    pub(super) fn is_over(&self, ack: &Ack) -> bool {
        ack.prior_delivered >= self.ends_at
    }

    /// Whether its losses are congestion: because of a queue even at its best, because the
    /// delivery rate is `stalled` although more is sent, or because there are too many of the full
    /// ones, of `packet` bytes. `base_loss` is what the path loses by itself, in thousandths.
    pub(super) fn is_congested(
        &self,
        min_rtt: Option<Duration>,
        stalled: bool,
        packet: u64,
        base_loss: u64,
    ) -> bool {
        let lost = |(share, least): (u64, u64)| {
            self.lost >= packet.saturating_mul(least)
                && self.lost.saturating_mul(1_000) > self.sent().saturating_mul(share)
        };
        let usual = percent(base_loss, 150); // and chance
        let some = SOME.0.saturating_add(usual);
        let many = lost((MANY.0.max(some), MANY.1)) || (stalled && lost((some, SOME.1)));
        many || (self.lost > 0 && is_queued(self.rtt, min_rtt))
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn sent(&self) -> u64 {
        self.acked.saturating_add(self.lost)
    }

    /// Most of its packets met a queue.
    pub(super) fn is_mostly_queued(&self, min_rtt: Option<Duration>) -> bool {
        is_queued(self.mean_rtt(), min_rtt)
    }

    /// The mean of its round trips.
    pub(super) fn mean_rtt(&self) -> Option<Duration> {
        self.rtts.checked_div(self.acks)
    }

    /// The network said so (E4).
    pub(super) fn is_marked(&self) -> bool {
        self.ce > 0
    }
}

fn is_queued(rtt: Option<Duration>, min_rtt: Option<Duration>) -> bool {
    let Some((rtt, min)) = rtt.zip(min_rtt) else {
        return false;
    };
    let sixteenth = min.checked_div(16).unwrap_or_default();
    rtt > min.saturating_add(sixteenth.max(LEAST_QUEUE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::PACKET;

    /// A round of so many packets, some of them lost, with a round trip of so many us.
    fn round(sent: u64, lost: u64, rtt: u64) -> Round {
        let mut round = Round::new(0);
        round.handle_lost(lost * PACKET);
        round.handle_ack(&Ack {
            acked: (sent - lost) * PACKET,
            rtt: Duration::from_micros(rtt),
            ..Ack::default()
        });
        round
    }

    #[test]
    fn a_loss_is_congestion_with_evidence_only() {
        let min = |ms| Some(Duration::from_millis(ms));
        for (sent, lost, rtt, shortest, stalled, congested) in [
            // A queue is a sixteenth of the shortest round trip, and at least 1 ms.
            (100, 1, 34_000, 32, false, false),
            (100, 1, 34_001, 32, false, true),
            (100, 1, 9_000, 8, false, false),
            (100, 1, 9_001, 8, false, true),
            (100, 0, 90_000, 8, true, false),
            // 20 packets and more than 20 % are too many anywhere.
            (100, 20, 32_000, 32, false, false),
            (99, 20, 32_000, 32, false, true),
            (90, 19, 32_000, 32, false, false),
            // Six and more than 2 % where no more gets through.
            (300, 6, 32_000, 32, true, false),
            (299, 6, 32_000, 32, true, true),
            (299, 6, 32_000, 32, false, false),
            (100, 5, 32_000, 32, true, false),
        ] {
            let found = round(sent, lost, rtt).is_congested(min(shortest), stalled, PACKET, 0);
            assert_eq!(found, congested, "{lost} of {sent}, {rtt} us, {stalled}");
        }
        let unknown = round(100, 10, 90_000);
        assert!(
            !unknown.is_congested(None, false, PACKET, 0),
            "no round trip to compare"
        );
        let mut late = round(100, 50, 32_000);
        late.forget_lost();
        assert!(!late.is_congested(min(32), false, PACKET, 0));
    }

    #[test]
    fn what_the_path_loses_by_itself_is_no_evidence() {
        let min = Some(Duration::from_millis(32));
        for (lost, congested) in [(17, false), (18, true)] {
            let round = round(100, lost, 32_000); // 10 %, half as much by chance, and 2 %
            assert_eq!(round.is_congested(min, true, PACKET, 100), congested);
        }
        for (lost, congested) in [(24, false), (25, true)] {
            let round = round(100, lost, 32_000); // 15 %, half as much, and 2 %
            assert_eq!(round.is_congested(min, false, PACKET, 150), congested);
        }
    }

    #[test]
    fn a_round_knows_the_mean_of_its_round_trips() {
        let mut two = round(100, 0, 20_000);
        two.handle_ack(&Ack {
            rtt: Duration::from_millis(40),
            ..Ack::default()
        });
        assert_eq!(two.mean_rtt(), Some(Duration::from_millis(30)));
    }
}
