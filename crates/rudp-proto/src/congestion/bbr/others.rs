//! Losses that show others on the path, where its queue is too short to show them (G9).

use super::{BETA, Bbr};
use crate::congestion::math::percent;

/// So much must have arrived in a row, in full packets and in pipes: where packets are lost by chance,
/// that is rare.
const CLEAN: (u64, u64) = (3_000, 12);
/// So many full packets lost after that, each within so many pipes of the one before, are no chance.
const LOST: u64 = 3;
const CLOSE: u64 = 4;

/// What arrived and what was lost since the last probe.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Outbreak {
    /// Acknowledged since the last loss.
    clean: u64,
    /// Lost since a clean time ended, while the losses are close to each other.
    lost: Option<u64>,
}

impl Outbreak {
    pub(super) fn handle_acked(&mut self, acked: u64) {
        self.clean = self.clean.saturating_add(acked);
    }

    /// So much was lost on a path that holds `pipe` bytes, in full packets of `packet`.
    pub(super) fn handle_lost(&mut self, lost: u64, pipe: u64, packet: u64) {
        let (packets, pipes) = CLEAN;
        let least = packet.saturating_mul(packets);
        if self.clean >= least.max(pipe.saturating_mul(pipes)) {
            self.lost = Some(0);
        } else if self.clean > pipe.saturating_mul(CLOSE) {
            self.lost = None;
        }
        self.lost = self.lost.map(|before| before.saturating_add(lost));
        self.clean = 0;
    }

    /// Whether others show; said once.
    pub(super) fn shows_others(&mut self, packet: u64) -> bool {
        let shows = self.lost >= Some(packet.saturating_mul(LOST));
        if shows {
            self.lost = None;
        }
        shows
    }
}

impl Bbr {
    /// Leaves others as much as CUBIC would, until a probe finds more.
    pub(super) fn give_way(&mut self) {
        let most = self.bounds.high.min(self.round.most_in_flight);
        self.bounds.high = percent(most, BETA);
        self.bounds.gives_way = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::PACKET;

    const PIPE: u64 = 100 * PACKET;

    /// Whether others show after so many packets in a row, and losses of a packet each after so many
    /// more.
    fn shows(clean: u64, pipe: u64, gaps: &[u64]) -> bool {
        let mut outbreak = Outbreak::default();
        outbreak.handle_acked(clean * PACKET);
        for gap in gaps {
            outbreak.handle_acked(gap * PACKET);
            outbreak.handle_lost(PACKET, pipe, PACKET);
        }
        let shows = outbreak.shows_others(PACKET);
        assert!(!outbreak.shows_others(PACKET), "once");
        shows
    }

    #[test]
    fn losses_close_to_each_other_after_a_clean_time_show_others() {
        assert!(shows(3_000, PIPE, &[0, 0, 0]));
        assert!(shows(3_000, PIPE, &[0, 150, 400]));
        assert!(shows(2_000, PIPE, &[50, 1_000, 100, 3_000, 10, 10]));
        assert!(!shows(3_000, PIPE, &[0, 0]), "two are chance");
        assert!(!shows(3_000, PIPE, &[0, 401, 10, 10]), "far apart");
        assert!(!shows(2_999, PIPE, &[0, 0, 0]), "it lost before");
        assert!(!shows(3_000, 3 * PIPE, &[0, 0, 0]), "a long path");
        assert!(shows(3_600, 3 * PIPE, &[0, 0, 0]));
    }
}
