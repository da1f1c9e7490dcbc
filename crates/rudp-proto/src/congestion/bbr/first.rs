//! What leaves before anything is known of the path's bandwidth (L10, G8).

use core::time::Duration;

use super::Bbr;
use crate::congestion::math::rate_of;
use crate::congestion::{FIRST_BURST, FIRST_PACED, initial_window};

impl Bbr {
    /// In packets: more once there is a round trip to pace them by.
    pub(super) fn first_packets(&self) -> u64 {
        match self.first_rtt {
            Some(_) => FIRST_PACED,
            None => FIRST_BURST,
        }
    }

    pub(super) fn first_window(&self) -> u64 {
        initial_window(self.first_packets(), self.packet)
    }

    /// A round trip of the handshake, or of the first data where that had none. The handshake's is
    /// one of small packets, so it is no measure of the path.
    pub(in crate::congestion) fn handle_first_rtt(&mut self, rtt: Duration) {
        if self.first_rtt.is_none() {
            let is_whole = self.bounds.window >= self.first_window();
            self.first_rtt = Some(rtt);
            if is_whole {
                self.bounds.window = self.first_window();
            }
        }
    }

    /// While the path is searched, no less than the first window in a round trip: what a few bytes
    /// at the beginning showed is not the path's (draft-ietf-ccwg-bbr, 5.6.2).
    pub(super) fn first_bandwidth(&self) -> u64 {
        let first = self.bounds.window.min(self.first_window());
        match self.path.min_rtt().or(self.first_rtt) {
            Some(rtt) if !self.filled => rate_of(first, rtt),
            _ => 0,
        }
    }
}
