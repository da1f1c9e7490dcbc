//! How much may be in flight: NewReno (RFC 5681, RFC 6582), counted in bytes (L10).

use crate::wire::MAX_DATAGRAM;

const PACKET: u64 = MAX_DATAGRAM as u64;
/// RFC 6928: ten packets.
const INITIAL_WINDOW: u64 = 10 * PACKET;
const MIN_THRESHOLD: u64 = 2 * PACKET;

#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    /// Never below one packet.
    window: u64,
    /// Slow start below, congestion avoidance from here on.
    threshold: u64,
    /// Losses of packets with lower numbers belong to a round that was answered
    /// already, and their acknowledgements do not open the window (RFC 6582).
    recovery_end: u64,
    /// Bytes acknowledged since the window last grew in congestion avoidance.
    credit: u64,
}

impl NewReno {
    pub(crate) fn new() -> Self {
        Self {
            window: INITIAL_WINDOW,
            threshold: u64::MAX,
            recovery_end: 0,
            credit: 0,
        }
    }

    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// An ACK covered `bytes` more, up to packet `largest`. The window was full
    /// when the last packet left, else there is no evidence for a larger one.
    pub(crate) fn handle_acked(&mut self, bytes: u64, largest: u64, window_full: bool) {
        if largest < self.recovery_end || !window_full {
            return;
        }
        if self.window < self.threshold {
            // Slow start: at most two packets for each ACK (RFC 3465).
            self.window = self.window.saturating_add(bytes.min(2 * PACKET));
            return;
        }
        // Congestion avoidance: one packet for each window's worth.
        self.credit = self.credit.saturating_add(bytes);
        if self.credit >= self.window {
            self.credit = self.credit.saturating_sub(self.window);
            self.window = self.window.saturating_add(PACKET);
        }
    }

    /// Packets up to `largest` were lost while `flight` bytes were out; the next
    /// packet will be `next`. One reduction per round; says whether this was it.
    pub(crate) fn handle_lost(&mut self, largest: u64, next: u64, flight: u64) -> bool {
        if largest < self.recovery_end {
            return false;
        }
        self.recovery_end = next;
        self.threshold = (flight / 2).max(MIN_THRESHOLD); // RFC 5681, equation 4
        self.window = self.threshold;
        self.credit = 0;
        true
    }

    /// Nothing was sent for an RTO: the window is no larger than at the start
    /// (RFC 5681, 4.1).
    pub(crate) fn handle_idle(&mut self) {
        self.window = self.window.min(INITIAL_WINDOW);
    }

    /// The handshake was repeated more than once: the path is bad, one packet begins
    /// (RFC 6928, 2).
    pub(crate) fn handle_lost_handshake(&mut self) {
        self.window = PACKET;
    }

    /// The timer expired: one packet, then slow start (RFC 5681, 3.1). The
    /// threshold is held when what is sent again had been sent by the timer
    /// already.
    pub(crate) fn handle_timeout(&mut self, next: u64, flight: u64, again: bool) {
        if !again {
            self.threshold = (flight / 2).max(MIN_THRESHOLD);
        }
        self.recovery_end = next;
        self.window = PACKET;
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_packet_a_round() {
        let mut reno = NewReno::new();
        for ack in 0..5 {
            reno.handle_acked(2 * PACKET, ack, true);
        }
        assert_eq!(reno.window(), 20 * PACKET);
        reno.handle_lost(4, 30, 20 * PACKET);
        assert_eq!(reno.window(), 10 * PACKET);
        for ack in 30..35 {
            reno.handle_acked(2 * PACKET, ack, true);
        }
        assert_eq!(reno.window(), 11 * PACKET);
    }

    #[test]
    fn one_round_is_reduced_once() {
        let mut reno = NewReno::new();
        reno.handle_lost(3, 10, 10 * PACKET);
        reno.handle_lost(9, 15, 10 * PACKET);
        reno.handle_acked(2 * PACKET, 9, true);
        assert_eq!(reno.window(), 5 * PACKET);
        reno.handle_lost(10, 20, 5 * PACKET);
        assert_eq!(reno.window(), 5 * PACKET / 2);
    }

    #[test]
    fn an_expiry_leaves_one_packet_and_a_second_one_holds_the_threshold() {
        let mut reno = NewReno::new();
        reno.handle_timeout(10, 10 * PACKET, false);
        assert_eq!((reno.window(), reno.threshold), (PACKET, 5 * PACKET));
        reno.handle_timeout(11, PACKET, true);
        assert_eq!((reno.window(), reno.threshold), (PACKET, 5 * PACKET));
        reno.handle_lost(9, 12, PACKET);
        assert_eq!(reno.window(), PACKET, "the expiry answered this round");
    }

    #[test]
    fn recovery_grows_nothing_and_halves_what_was_in_flight() {
        let mut reno = NewReno::new();
        assert!(reno.handle_lost(3, 10, 6 * PACKET)); // of a window of ten
        assert_eq!(reno.window(), 3 * PACKET);
        reno.handle_acked(20 * PACKET, 9, true);
        assert_eq!(reno.window(), 3 * PACKET);
        assert!(!reno.handle_lost(9, 15, 3 * PACKET));
    }

    #[test]
    fn slow_start_grows_by_two_packets_an_ack_at_most() {
        let mut reno = NewReno::new();
        reno.handle_acked(9 * PACKET, 0, true);
        assert_eq!(reno.window(), 12 * PACKET);
        reno.handle_acked(PACKET / 2, 1, true);
        assert_eq!(reno.window(), 12 * PACKET + PACKET / 2);
    }

    #[test]
    fn an_idle_path_starts_over_and_a_bad_one_with_a_packet() {
        let mut reno = NewReno::new();
        for ack in 0..20 {
            reno.handle_acked(2 * PACKET, ack, true);
        }
        reno.handle_idle();
        assert_eq!(reno.window(), INITIAL_WINDOW);
        reno.handle_lost_handshake();
        reno.handle_idle();
        assert_eq!(reno.window(), PACKET);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut reno = NewReno::new();
        reno.handle_acked(2 * PACKET, 0, false);
        assert_eq!(reno.window(), INITIAL_WINDOW);
    }
}
