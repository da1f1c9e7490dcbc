//! Section 5 of RFC 6298 on a clock that wraps.

use super::{Estimator, Params, Sample, elapsed};
use crate::{Outcome, handshake::Handshake};

/// The retransmission timer in 24 bytes, one per connection; see [`compact`](super) for an
/// example. What was sent stays with you.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitTimer {
    estimator: Estimator,
    /// Meaningful while `running`: an `Option` would take four bytes more.
    deadline_us: u32,
    running: bool,
    handshake: Handshake,
}

/// What an ACK tells about the data outstanding, as [`rto::Progress`](crate::Progress) with
/// instants of this clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It covers no new data: a duplicate, a window update. The timer is not moved.
    None,
    /// It covers new data and more is outstanding: the timer restarts (5.3-1).
    Some,
    /// As [`Some`](Self::Some), but the restarted timer counts from when the earliest segment
    /// outstanding was last sent (T6): an RTO after it, or an RTO from now if that is over.
    SomeSince(u32),
    /// It covers new data and nothing is left outstanding: the timer stops (5.2-1).
    All,
}

/// The timer has expired: retransmit the earliest unacknowledged segment now (5.4-1), or the
/// earliest one last sent at least [`rto_us`](Self::rto_us) ago if that one was repeated since
/// (5-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The RTO that was in force, in µs.
    pub rto_us: u32,
    /// The doubled RTO, with which the timer runs again (5.5-1), (5.6-1).
    pub next_rto_us: u32,
    /// How often the RTO was doubled since the last sample, this time included.
    pub backoffs: u16,
}

impl RetransmitTimer {
    /// Makes a stopped timer.
    #[must_use]
    pub const fn new(estimator: Estimator) -> Self {
        Self {
            estimator,
            deadline_us: 0,
            running: false,
            handshake: Handshake::Over,
        }
    }

    /// A segment left, new or repeated, for whatever reason (D10), or would have left if the
    /// driver had taken it (D8). Starts a stopped timer and leaves a running one alone (5.1-1).
    #[inline]
    pub fn handle_sent(&mut self, now_us: u32) {
        if !self.running {
            self.start(now_us);
        }
    }

    /// A SYN, or whatever opens the connection, was sent: as [`handle_sent`](Self::handle_sent),
    /// and its expiry will count as one of the handshake (5.7-1).
    pub fn handle_handshake_sent(&mut self, now_us: u32) {
        self.handshake.sent();
        self.handle_sent(now_us);
    }

    /// Data transmission begins: if the handshake timed out and no valid sample has come since
    /// (D2), the RTO is raised to 3 s (5.7-1). A running timer is not moved (D18), so call this
    /// before telling of the first data sent.
    pub fn handle_data_phase(&mut self, params: &Params) {
        if self.handshake.end() {
            self.estimator.begin_data_after_lost_handshake(params);
        }
    }

    /// An ACK arrived, with a sample if it gives one. The RTO is recomputed before the timer
    /// restarts with it; without a valid sample it stays backed off (5-N1, D6).
    ///
    /// Returns what became of the sample.
    #[inline]
    pub fn handle_acked(
        &mut self,
        params: &Params,
        now_us: u32,
        progress: Progress,
        sample: Option<Sample>,
    ) -> Option<Outcome> {
        if progress != Progress::None {
            self.estimator.acknowledge(params);
        }
        let outcome = sample.map(|sample| self.handle_sample(params, sample));
        match progress {
            Progress::None => {}
            Progress::Some => self.start(now_us), // (5.3-1)
            Progress::SomeSince(sent_us) => {
                let age = elapsed(sent_us, now_us); // `None`: it lies ahead
                let running = age.is_some_and(|age| age < self.estimator.rto_us());
                self.start(if running { sent_us } else { now_us }); // (T6)
            }
            Progress::All => self.stop(), // (5.2-1)
        }
        outcome
    }

    /// A sample came by itself, as timestamps give one with every ACK (3-3). A running timer is
    /// not moved (D18).
    #[inline]
    pub fn handle_sample(&mut self, params: &Params, sample: Sample) -> Outcome {
        let outcome = self.estimator.sample(params, sample);
        if !matches!(outcome, Outcome::Rejected(_)) {
            self.handshake.sampled();
        }
        outcome
    }

    /// When the deadline has come, doubles the RTO (5.5-1), restarts from `now_us` (D7) and asks
    /// you to retransmit. Before it, and while stopped, does nothing. A late call is one expiry.
    ///
    /// Call it within 2^31 µs (35.8 minutes) of the deadline: from then on, and for as long, the
    /// deadline is taken for one to come (P72).
    #[must_use]
    pub fn handle_timeout(&mut self, params: &Params, now_us: u32) -> Option<Expiry> {
        if !self.running || elapsed(self.deadline_us, now_us).is_none() {
            return None; // (5-1, D17)
        }
        let rto_us = self.estimator.rto_us();
        self.estimator.back_off(params);
        self.handshake.timed_out();
        self.start(now_us); // (5.6-1)
        Some(Expiry {
            rto_us,
            next_rto_us: self.estimator.rto_us(),
            backoffs: self.estimator.backoffs(),
        })
    }

    /// The deadline, while the timer runs: call [`handle_timeout`](Self::handle_timeout) then.
    /// Every `handle_*` call and [`stop`](Self::stop) may change it.
    #[must_use]
    #[inline]
    pub const fn poll_timeout(&self) -> Option<u32> {
        if self.running {
            Some(self.deadline_us)
        } else {
            None
        }
    }

    /// Stops the timer, as when the connection is over; a later send or ACK of part of the data
    /// starts it again. The RTO and its back-off stay.
    #[inline]
    pub fn stop(&mut self) {
        self.running = false;
    }

    /// SRTT, RTTVAR, RTO.
    #[must_use]
    pub const fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// The RTO is below 2^31 µs, so that the deadline lies ahead of `now_us` (P73).
    #[inline]
    fn start(&mut self, now_us: u32) {
        self.deadline_us = now_us.wrapping_add(self.estimator.rto_us());
        self.running = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_is_24_bytes() {
        assert!(size_of::<RetransmitTimer>() <= 24);
    }
}
