//! How far the peer may send: a limit that follows the reader and, on a fast path, grows.

use core::time::Duration;

use crate::wire::{MAX_DATAGRAM, MAX_VARINT};

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
    /// When the reader last had used half of the window.
    renewed_at: Duration,
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
            renewed_at: now,
        }
    }

    /// Where the window ends that the peer knows of.
    pub(crate) fn limit(&self) -> u64 {
        self.advertised
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// So many bytes will not come back; says whether the peer is to hear of a new limit: half of
    /// the window or less is left (F3).
    pub(crate) fn consume(&mut self, bytes: u64) -> bool {
        self.consumed = self.consumed.saturating_add(bytes);
        self.is_half_used()
    }

    fn is_half_used(&self) -> bool {
        self.advertised.saturating_sub(self.consumed) <= self.size / 2
    }

    /// Whether the peer, of which `received` bytes arrived, is to hear of a new limit since what
    /// is read slowly takes much of the window: today's limit adds a datagram, and more than the
    /// peer has left (F3).
    pub(crate) fn is_tight(&self, received: u64) -> bool {
        let left = self.advertised.saturating_sub(received);
        let more = self.today().saturating_sub(self.advertised);
        more >= left.max(MAX_DATAGRAM as u64)
    }

    fn today(&self) -> u64 {
        self.consumed.saturating_add(self.size).min(MAX_VARINT)
    }

    /// Makes the limit to tell now. The window doubles if half of it was used within two round
    /// trips: the path is faster than the window (F7).
    pub(crate) fn renew(&mut self, now: Duration, rtt: Option<Duration>) -> u64 {
        if self.is_half_used() {
            let patience = rtt.unwrap_or_default().saturating_mul(2);
            if now.saturating_sub(self.renewed_at) < patience {
                self.grow(self.size.saturating_mul(2));
            }
            self.renewed_at = now;
        }
        self.advertised = self.advertised.max(self.today());
        self.advertised
    }

    /// Makes it at least so large, if it may be.
    pub(crate) fn grow(&mut self, size: u64) {
        self.size = self.size.max(size.min(self.max));
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
    fn the_limit_is_due_when_half_of_the_window_is_used() {
        let mut window = Window::new(ms(0), 100, 100);
        assert!(!window.consume(49));
        assert!(window.consume(1));
        assert_eq!(window.renew(ms(1), None), 150);
        assert!(window.needs(150) && !window.needs(100));
        window.handle_acked(150);
        assert!(!window.needs(150));
    }

    #[test]
    fn what_nobody_reads_does_not_keep_the_rest_of_the_window_from_the_peer() {
        let mut window = Window::new(ms(0), 100_000, 100_000);
        assert!(!window.consume(40_000));
        assert!(!window.is_tight(59_999) && window.is_tight(60_000));
        assert_eq!(window.renew(ms(1), None), 140_000);
        assert!(!window.consume(1_199) && !window.is_tight(140_000), "silly");
        assert!(!window.consume(1) && window.is_tight(140_000));
    }

    #[test]
    fn it_doubles_while_half_is_used_within_two_round_trips_and_stops_at_the_most() {
        let rtt = Some(ms(10));
        let mut window = Window::new(ms(0), 100, 300);
        window.consume(50);
        assert_eq!(window.renew(ms(20), rtt), 150, "two round trips are slow");
        window.consume(50);
        assert_eq!(window.renew(ms(39), rtt), 300, "less is fast");
        window.consume(100);
        assert_eq!(window.renew(ms(40), rtt), 500, "at most 300");
        assert_eq!(window.size(), 300);
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
