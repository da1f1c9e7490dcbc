//! Whether a reduction was a mistake: all that it answered was late, not lost (G7).

use core::time::Duration;

use crate::loss::SentPacket;

/// The losses since the last reduction, of which no acknowledgement came.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Suspects {
    packets: u64,
    /// When the first of them left: late packets from before answer for older losses.
    since: Duration,
}

impl Suspects {
    /// These were declared lost, and `begins` a reduction.
    pub(super) fn handle_lost(&mut self, lost: &[SentPacket], begins: bool) {
        if begins {
            let first = lost.iter().map(|packet| packet.sent_at).min();
            self.since = first.unwrap_or_default();
            self.packets = 0;
        }
        let ours = lost.iter().filter(|packet| packet.sent_at >= self.since);
        self.packets = self.packets.saturating_add(ours.count() as u64);
    }

    /// These were acknowledged. Answers whether that clears the last suspect.
    pub(super) fn handle_acked(&mut self, acked: &[SentPacket]) -> bool {
        let late = |packet: &&SentPacket| packet.declared_lost && packet.sent_at >= self.since;
        let late = acked.iter().filter(late).count() as u64;
        let cleared = late > 0 && self.packets > 0 && late >= self.packets;
        self.packets = self.packets.saturating_sub(late);
        cleared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn packets(at: &[u64]) -> Vec<SentPacket> {
        let packet = |ms: &u64| SentPacket {
            sent_at: Duration::from_millis(*ms),
            bytes: 100,
            declared_lost: true,
            ..SentPacket::default()
        };
        at.iter().map(packet).collect()
    }

    #[test]
    fn a_mistake_is_one_when_every_suspect_has_arrived() {
        let mut suspects = Suspects::default();
        suspects.handle_lost(&packets(&[5, 6]), true);
        suspects.handle_lost(&packets(&[8]), false);
        assert!(!suspects.handle_acked(&packets(&[8, 5])));
        assert!(!suspects.handle_acked(&packets(&[1])), "of an older round");
        assert!(suspects.handle_acked(&packets(&[6])));
        assert!(!suspects.handle_acked(&packets(&[6])), "once");
        suspects.handle_lost(&packets(&[20, 21]), true);
        suspects.handle_lost(&packets(&[30]), true);
        assert!(
            !suspects.handle_acked(&packets(&[20, 21])),
            "answered before"
        );
        let mut on_time = packets(&[30]);
        on_time[0].declared_lost = false;
        assert!(!suspects.handle_acked(&on_time));
        assert!(suspects.handle_acked(&packets(&[30])));
    }
}
