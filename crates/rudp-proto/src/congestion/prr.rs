//! How fast a recovery shrinks what is in flight: Proportional Rate Reduction (RFC 9937, was
//! RFC 6937), in bytes (G2).

use super::Ack;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Prr {
    /// What was in flight when the recovery began (RecoverFS).
    flight: u64,
    delivered: u64,
    sent: u64,
}

impl Prr {
    pub(super) fn new(flight: u64) -> Self {
        Self {
            flight: flight.max(1),
            delivered: 0,
            sent: 0,
        }
    }

    pub(super) fn handle_sent(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_add(bytes);
    }

    /// The window after an ACK: what is in flight, and what may leave for what has arrived. A full
    /// packet has `packet` bytes.
    pub(super) fn window(&mut self, ack: &Ack, threshold: u64, packet: u64) -> u64 {
        self.delivered = self.delivered.saturating_add(ack.acked);
        let room = if ack.flight > threshold {
            let due = u128::from(self.delivered).saturating_mul(u128::from(threshold));
            let due = due.div_ceil(u128::from(self.flight));
            let due = u64::try_from(due).unwrap_or(u64::MAX);
            due.saturating_sub(self.sent)
        } else {
            let conserved = self.delivered.saturating_sub(self.sent).max(ack.acked);
            let is_safe = ack.acked > 0 && ack.lost == 0; // nothing new is lost: catch up
            let room = conserved.saturating_add(if is_safe { packet } else { 0 });
            room.min(threshold.saturating_sub(ack.flight))
        };
        let room = if self.sent == 0 {
            room.max(packet)
        } else {
            room
        };
        // Time may prove all lost without anything delivered (L11); a packet may still leave.
        ack.flight.saturating_add(room).max(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::PACKET;

    /// A recovery of a hundred packets of which some are lost; answers the flight after a round.
    fn recover(lost: u64, threshold: u64) -> u64 {
        let flight = 100 * PACKET;
        let mut prr = Prr::new(flight);
        let mut out = flight - lost * PACKET;
        for index in 0..100 - lost {
            out -= PACKET;
            let ack = Ack {
                acked: PACKET,
                lost: if index == 0 { lost * PACKET } else { 0 },
                flight: out,
                ..Ack::default()
            };
            let window = prr.window(&ack, threshold, PACKET);
            while out + PACKET <= window {
                out += PACKET;
                prr.handle_sent(PACKET);
            }
        }
        out
    }

    #[test]
    fn a_packet_may_leave_when_time_proved_all_lost() {
        let mut prr = Prr::new(3 * PACKET);
        prr.handle_sent(PACKET);
        let ack = Ack {
            lost: 3 * PACKET,
            ..Ack::default()
        };
        assert_eq!(prr.window(&ack, 2 * PACKET, PACKET), PACKET);
    }

    #[test]
    fn a_round_ends_at_the_threshold_evenly_and_after_many_losses_too() {
        for lost in [1, 10, 40] {
            let out = recover(lost, 70 * PACKET);
            assert!(
                out.abs_diff(70 * PACKET) <= 2 * PACKET,
                "{lost} lost: {out}"
            );
        }
        let out = recover(80, 70 * PACKET);
        assert!(
            out <= 42 * PACKET,
            "twenty came through, at most twice as many leave: {out}"
        );
    }
}
