//! What NewReno (RFC 5681, RFC 6582) and CUBIC (RFC 9438) share: a loss halves the window, or
//! nearly, and they differ in by how much and in how it grows again (G1, G5).

use core::time::Duration;

use super::cubic::Cubic;
use super::hystart::{HyStart, Pace};
use super::math::{percent, rate_of};
use super::prr::Prr;
use super::{Ack, FIRST_BURST, PACKET, initial_window, resized};
use crate::trace::CongestionPhase;

/// What a reduction leaves at least, in packets (RFC 5681, equation 4).
const MIN_THRESHOLD: u64 = 2;
/// What a mark leaves of the window, in percent (RFC 8511).
const MARKED: u64 = 80;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Growth {
    /// Bytes acknowledged since the window last grew in congestion avoidance.
    NewReno {
        credit: u64,
    },
    Cubic {
        cubic: Cubic,
        hystart: HyStart,
    },
}

#[derive(Copy, Clone, Debug)]
pub(super) struct LossBased {
    /// Bytes of a full one (SMSS).
    packet: u64,
    /// Never below one packet.
    window: u64,
    /// Slow start below, congestion avoidance from here on.
    threshold: u64,
    /// Losses of packets with lower numbers belong to a round that was answered
    /// already, and their acknowledgements do not open the window (RFC 6582).
    recovery_end: u64,
    /// The most that was in flight since the last reduction (maxFS in
    /// draft-ietf-ccwg-ratelimited-increase).
    most_in_flight: u64,
    recovery: Option<Prr>,
    growth: Growth,
    /// What the last reduction changed: window, threshold, growth.
    before: Option<(u64, u64, Growth)>,
}

impl LossBased {
    fn new(growth: Growth) -> Self {
        Self {
            packet: PACKET,
            window: initial_window(FIRST_BURST, PACKET),
            threshold: u64::MAX,
            recovery_end: 0,
            most_in_flight: 0,
            recovery: None,
            growth,
            before: None,
        }
    }

    pub(super) fn new_reno() -> Self {
        Self::new(Growth::NewReno { credit: 0 })
    }

    pub(super) fn cubic() -> Self {
        Self::new(Growth::Cubic {
            cubic: Cubic::default(),
            hystart: HyStart::default(),
        })
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn recovery_end(&self) -> u64 {
        self.recovery_end
    }

    pub(super) fn set_packet(&mut self, bytes: u64) {
        self.window = resized(self.window, FIRST_BURST, self.packet, bytes);
        self.packet = bytes;
        self.threshold = self.threshold.max(self.min_threshold());
    }

    fn min_threshold(&self) -> u64 {
        self.packet.saturating_mul(MIN_THRESHOLD)
    }

    pub(super) fn phase(&self) -> CongestionPhase {
        if self.recovery.is_some() {
            CongestionPhase::Recovery
        } else if self.window < self.threshold {
            CongestionPhase::SlowStart
        } else {
            CongestionPhase::CongestionAvoidance
        }
    }

    /// Twice what the window makes in a round trip while it doubles, else 5/4 of it (G4).
    pub(super) fn rate(&self, srtt: Duration) -> u64 {
        let slow_start = self.window < self.threshold;
        let gain = if slow_start { 200 } else { 125 };
        rate_of(percent(self.window, gain), srtt)
    }

    pub(super) fn handle_sent(&mut self, bytes: u64) {
        if let Some(recovery) = &mut self.recovery {
            recovery.handle_sent(bytes);
        }
    }

    /// Says whether a recovery begins.
    pub(super) fn handle_ack(&mut self, ack: &Ack) -> bool {
        self.most_in_flight = self.most_in_flight.max(ack.flight_before);
        if self.recovery.is_some() && ack.largest >= self.recovery_end {
            self.recovery = None;
            self.window = self.threshold;
        }
        let begins = ack.lost > 0 && ack.largest_lost >= self.recovery_end;
        let marked = ack.ce > 0 && ack.largest >= self.recovery_end; // (E4)
        if begins || marked {
            self.reduce(ack.flight_before, ack.next, begins);
            self.window = self.threshold;
            // A flight of a few small packets has nothing to shrink.
            let shrinks = ack.flight_before > self.threshold;
            self.recovery = shrinks.then(|| Prr::new(ack.flight_before));
        }
        if let Some(recovery) = &mut self.recovery {
            self.window = recovery.window(ack, self.threshold, self.packet); // (G2)
        } else if ack.largest >= self.recovery_end {
            self.grow(ack);
        }
        begins
    }

    /// For a loss or, more gently, for a mark, which is never a mistake (G7).
    fn reduce(&mut self, flight: u64, next: u64, lost: bool) {
        self.before = lost.then_some((self.window, self.threshold, self.growth));
        self.recovery_end = next;
        self.most_in_flight = 0;
        let left = match &mut self.growth {
            Growth::NewReno { credit } => {
                *credit = 0;
                50 // RFC 5681, equation 4
            }
            Growth::Cubic { cubic, .. } => {
                cubic.handle_reduction(self.window);
                70 // RFC 9438, 4.6
            }
        };
        let left = if lost { left } else { MARKED };
        self.threshold = percent(flight, left).max(self.min_threshold());
    }

    fn grow(&mut self, ack: &Ack) {
        if !ack.window_used {
            if let Growth::Cubic { cubic, .. } = &mut self.growth {
                cubic.handle_unused(ack.now);
            }
            return; // no evidence for a larger one (G1)
        }
        let before = self.window;
        if before < self.threshold {
            self.slow_start(ack);
        } else {
            self.avoid_congestion(ack);
        }
        // What flow control or the application never fills says nothing of the path.
        let most = self.most_in_flight.saturating_mul(2);
        self.window = self.window.min(most).max(before);
    }

    fn avoid_congestion(&mut self, ack: &Ack) {
        match &mut self.growth {
            Growth::NewReno { credit } => {
                // One packet for each window's worth.
                *credit = credit.saturating_add(ack.acked);
                if *credit >= self.window {
                    *credit = credit.saturating_sub(self.window);
                    self.window = self.window.saturating_add(self.packet);
                }
            }
            Growth::Cubic { cubic, .. } => {
                self.window = cubic.grow(ack, self.window, self.packet);
            }
        }
    }

    fn slow_start(&mut self, ack: &Ack) {
        let more = match &mut self.growth {
            Growth::NewReno { .. } => ack.acked.min(self.packet.saturating_mul(2)), // RFC 3465
            // Later slow starts know their end.
            Growth::Cubic { .. } if self.threshold < u64::MAX => ack.acked,
            Growth::Cubic { hystart, .. } => {
                let pace = hystart.handle_ack(ack.largest, ack.next, ack.rtt);
                match pace {
                    Pace::SlowStart => ack.acked,
                    Pace::Conservative => ack.acked / 4,
                    Pace::End => {
                        self.threshold = self.window;
                        0
                    }
                }
            }
        };
        self.window = self.window.saturating_add(more);
    }

    /// The path is idle: the window is no larger than at the start (RFC 5681, 4.1), and what it
    /// was is reached by slow start (RFC 7661, 4.4.3).
    pub(super) fn handle_idle(&mut self) {
        let restart = initial_window(FIRST_BURST, self.packet);
        if self.window > restart {
            let most = self.window.saturating_sub(self.window / 4);
            self.threshold = self.threshold.max(most);
            self.window = restart;
            self.most_in_flight = 0;
        }
    }

    /// One packet begins (RFC 6928, 2).
    pub(super) fn handle_lost_handshake(&mut self) {
        self.window = self.packet;
    }

    /// One packet, then slow start (RFC 5681, 3.1). The threshold is held when what is sent
    /// again had been sent by the timer already.
    pub(super) fn handle_timeout(&mut self, flight: u64, next: u64, again: bool) {
        if again {
            self.recovery_end = next;
        } else {
            self.reduce(flight, next, true);
        }
        self.recovery = None;
        self.window = self.packet;
    }

    /// The last reduction was a mistake (G7).
    pub(super) fn undo(&mut self) -> bool {
        let before = self.before.take();
        if let Some((window, threshold, growth)) = before {
            (self.window, self.threshold, self.growth) = (window, threshold, growth);
            self.set_packet(self.packet);
            self.recovery = None;
        }
        before.is_some()
    }
}

#[cfg(test)]
mod tests;
