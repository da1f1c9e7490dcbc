//! What shows congestion in a round trip's worth of ACKs (G9).

use core::time::Duration;

use super::Ack;

/// The share of losses in percent that proves something without a queue: of a path that brings no
/// more, and of any path; and the fewest full packets that tell it from chance.
const SOME: (u64, u64) = (2, 6);
const MANY: (u64, u64) = (20, 20);
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
    /// ones, of `packet` bytes.
    pub(super) fn is_congested(
        &self,
        min_rtt: Option<Duration>,
        stalled: bool,
        packet: u64,
    ) -> bool {
        let sent = self.acked.saturating_add(self.lost);
        let lost = |(share, least): (u64, u64)| {
            self.lost >= packet.saturating_mul(least)
                && self.lost.saturating_mul(100) > sent.saturating_mul(share)
        };
        let many = lost(MANY) || (stalled && lost(SOME));
        many || (self.lost > 0 && self.is_queued(min_rtt))
    }

    /// The mean of its round trips.
    pub(super) fn mean_rtt(&self) -> Option<Duration> {
        self.rtts.checked_div(self.acks)
    }

    /// The network said so (E4).
    pub(super) fn is_marked(&self) -> bool {
        self.ce > 0
    }

    fn is_queued(&self, min_rtt: Option<Duration>) -> bool {
        let Some((rtt, min)) = self.rtt.zip(min_rtt) else {
            return false;
        };
        let sixteenth = min.checked_div(16).unwrap_or_default();
        rtt > min.saturating_add(sixteenth.max(LEAST_QUEUE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::PACKET;

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

    #[test]
    fn a_loss_is_congestion_with_evidence_only() {
        let min = Some(Duration::from_millis(20));
        for (lost, rtt, stalled, congested) in [
            (10, 20, false, false),
            (20, 21, false, false),
            (21, 20, false, true), // too many
            (10, 23, false, true), // a queue
            (10, 20, true, true),  // no more gets through
            (1, 23, false, true),  // a queue and a loss
            (5, 20, true, false),  // too few to tell
            (0, 90, true, false),
        ] {
            let found = round(lost, rtt).is_congested(min, stalled, PACKET);
            assert_eq!(found, congested, "{lost} lost, {rtt} ms, {stalled}");
        }
        assert!(
            !round(10, 90).is_congested(None, false, PACKET),
            "nothing to compare with"
        );
        let mut two = round(0, 20);
        two.handle_ack(&Ack {
            rtt: Duration::from_millis(40),
            ..Ack::default()
        });
        assert_eq!(two.mean_rtt(), Some(Duration::from_millis(30)));
        let mut short = Round::new(0);
        short.handle_lost(6 * PACKET);
        assert!(!short.is_congested(min, false, PACKET), "chance");
    }
}
