//! How far the peer may send: a limit that follows the reader and, on a fast path, grows.

use core::time::Duration;

use crate::wire::{BASE_DATAGRAM, MAX_VARINT};

/// A receive window, of one stream or of a whole connection (F1, F3, F7).
#[derive(Debug)]
pub(crate) struct Window {
    /// How far ahead of the reader the peer may be: it only grows, up to `max`.
    size: u64,
    max: u64,
    /// Bytes that the application took, or that nobody will.
    consumed: u64,
    /// The largest limit told to the peer, and acknowledged by it.
    advertised: u64,
    confirmed: u64,
    /// The reader has used a quarter of the window, and when it last had.
    is_used: bool,
    used_at: Duration,
}

impl Window {
    pub(crate) fn new(now: Duration, size: u64, max: u64) -> Self {
        let size = size.min(max).min(MAX_VARINT);
        Self {
            size,
            max,
            consumed: 0,
            advertised: size,
            confirmed: size,
            is_used: false,
            used_at: now,
        }
    }

    /// Where the window ends that the peer knows of.
    pub(crate) fn limit(&self) -> u64 {
        self.advertised
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// So many bytes will not come back; says whether the peer is to hear of a new limit: a
    /// quarter of the window is used (F3).
    pub(crate) fn consume(&mut self, bytes: u64) -> bool {
        self.consumed = self.consumed.saturating_add(bytes);
        let left = self.advertised.saturating_sub(self.consumed);
        self.is_used = left <= self.size.saturating_sub(self.size / 4);
        self.is_used
    }

    /// So many bytes wait for a gap to be filled; says whether the window grows for that, since
    /// they fill half of it (F7).
    pub(crate) fn handle_waiting(&mut self, bytes: u64) -> bool {
        bytes >= self.size / 2 && self.grow(self.size.saturating_mul(2))
    }

    /// Whether the peer, of which `received` bytes arrived, is to hear of a new limit since what
    /// is read slowly takes much of the window: today's limit adds a datagram, and more than the
    /// peer has left (F3).
    pub(crate) fn is_tight(&self, received: u64) -> bool {
        let left = self.advertised.saturating_sub(received);
        let more = self.today().saturating_sub(self.advertised);
        more >= left.max(BASE_DATAGRAM as u64)
    }

    fn today(&self) -> u64 {
        self.consumed.saturating_add(self.size).min(MAX_VARINT)
    }

    /// Makes the limit to tell now. The window doubles if a quarter of it was used within a round
    /// trip: the path is faster than the window (F7).
    pub(crate) fn renew(&mut self, now: Duration, rtt: Option<Duration>) -> u64 {
        if core::mem::take(&mut self.is_used) {
            let patience = rtt.unwrap_or_default();
            if now.saturating_sub(self.used_at) < patience {
                self.grow(self.size.saturating_mul(2));
            }
            self.used_at = now;
        }
        self.advertised = self.advertised.max(self.today());
        self.advertised
    }

    /// Makes it at least so large, if it may be; says whether that changes anything.
    pub(crate) fn grow(&mut self, size: u64) -> bool {
        let before = self.size;
        self.size = self.size.max(size.min(self.max));
        self.size > before
    }

    pub(crate) fn handle_acked(&mut self, limit: u64) {
        self.confirmed = self.confirmed.max(limit);
    }

    /// Whether the peer may still not know of a limit as high as `limit`, which is the newest.
    pub(crate) fn needs(&self, limit: u64) -> bool {
        limit == self.advertised && limit > self.confirmed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_limit_is_due_when_a_quarter_of_the_window_is_used() {
        let mut window = Window::new(ms(0), 100, 100);
        assert!(!window.consume(24));
        assert!(window.consume(1));
        assert_eq!(window.renew(ms(1), None), 125);
        assert!(window.needs(125) && !window.needs(100));
        window.handle_acked(125);
        assert!(!window.needs(125));
    }

    #[test]
    fn what_nobody_reads_does_not_keep_the_rest_of_the_window_from_the_peer() {
        let mut window = Window::new(ms(0), 100_000, 100_000);
        assert!(!window.consume(24_000));
        assert!(!window.is_tight(75_999) && window.is_tight(76_000));
        assert_eq!(window.renew(ms(1), None), 124_000);
        assert!(!window.consume(1_199) && !window.is_tight(124_000), "silly");
        assert!(!window.consume(1) && window.is_tight(124_000));
    }

    #[test]
    fn it_doubles_while_a_quarter_is_used_within_a_round_trip_and_stops_at_the_most() {
        let rtt = Some(ms(10));
        let mut window = Window::new(ms(0), 100, 300);
        window.consume(25);
        assert_eq!(window.renew(ms(10), rtt), 125, "a round trip is slow");
        window.consume(25);
        assert_eq!(window.renew(ms(19), rtt), 250, "less is fast");
        window.consume(50);
        assert_eq!(window.renew(ms(20), rtt), 400, "at most 300");
        assert_eq!(window.size(), 300);
    }

    #[test]
    fn it_doubles_when_half_of_it_waits_for_a_gap_to_be_filled() {
        let mut window = Window::new(ms(0), 100, 150);
        assert!(!window.handle_waiting(49) && window.handle_waiting(50));
        assert_eq!(window.renew(ms(1), None), 150);
        assert!(!window.handle_waiting(150), "at most 150");
    }

    #[test]
    fn a_limit_that_is_told_again_is_not_a_sign_of_speed() {
        let mut window = Window::new(ms(0), 100, 400);
        window.consume(50);
        window.renew(ms(50), Some(ms(10)));
        window.consume(10);
        assert_eq!(window.renew(ms(51), Some(ms(10))), 160);
        assert_eq!(window.size(), 100);
    }
}
