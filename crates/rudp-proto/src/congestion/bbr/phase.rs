//! What the model does at a time, and when it does something else (G8).

use core::time::Duration;

use super::Bbr;
use super::others::Outbreak;
use crate::congestion::Ack;
use crate::congestion::evidence::Round;
use crate::congestion::math::percent;
use crate::trace::CongestionPhase;

const PROBE_RTT_LASTS: Duration = Duration::from_millis(200);
/// By then what a startup and a probe left in a queue is gone. If more is out, the path is longer
/// than its shortest round trip says, and to wait on would starve it.
const MOST_DRAIN_ROUNDS: u64 = 2;
const MOST_DOWN_ROUNDS: u64 = 4;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    /// Until then, once little enough is in flight.
    ProbeRtt(Option<Duration>),
}

impl From<Phase> for CongestionPhase {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Startup => Self::Startup,
            Phase::Drain => Self::Drain,
            Phase::Down => Self::ProbeDown,
            Phase::Cruise => Self::Cruise,
            Phase::Refill => Self::Refill,
            Phase::Up => Self::ProbeUp,
            Phase::ProbeRtt(_) => Self::ProbeRtt,
        }
    }
}

/// Whether the bandwidth still grows.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Growth {
    pub(super) best: u64,
    pub(super) rounds: u8,
}

impl Growth {
    /// Another round ended, at this rate.
    pub(super) fn handle_round(&mut self, rate: u64) {
        if rate >= percent(self.best, 125) {
            *self = Self {
                best: rate,
                rounds: 0,
            };
        } else {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// Three rounds without 25 % more: the pipe is full.
    pub(super) fn is_over(self) -> bool {
        self.rounds >= 3
    }
}

impl Bbr {
    pub(super) fn update_phase(&mut self, ack: &Ack, round_over: bool) {
        match self.phase {
            Phase::Startup if self.filled => {
                self.phase = Phase::Drain;
                self.base_loss.handle_probe_end();
                self.cycle.restart_rounds();
            }
            Phase::Drain
                if ack.flight <= self.pipe(100) || self.cycle.rounds() >= MOST_DRAIN_ROUNDS =>
            {
                self.begin_cycle(ack.now);
            }
            Phase::Down | Phase::Cruise if self.is_time_to_probe(ack.now) => {
                self.forget_low();
                self.phase = Phase::Refill;
                self.round = Round::new(ack.delivered);
            }
            Phase::Down
                if (ack.flight <= self.pipe(100).min(self.with_headroom())
                    && !self.measures_loss())
                    || self.cycle.rounds() >= MOST_DOWN_ROUNDS =>
            {
                self.phase = Phase::Cruise;
            }
            Phase::Refill if round_over => {
                self.phase = Phase::Up;
                self.probed_from = self.bounds.high;
                self.growth = Growth {
                    best: self.path.bandwidth(),
                    ..Growth::default()
                };
            }
            Phase::Up => self.probe_up(ack, round_over),
            Phase::ProbeRtt(until) => self.probe_rtt(ack, until),
            _ => {}
        }
    }

    /// Where something is lost, the slow part of a cycle lasts a round, which tells what the path
    /// loses by itself (G10).
    fn measures_loss(&self) -> bool {
        let loses = self.base_loss.share() > 0 || self.round.lost() > 0;
        loses && self.cycle.rounds() == 0
    }

    /// More is sent until it shows, as a queue of a quarter of the pipe.
    fn probe_up(&mut self, ack: &Ack, round_over: bool) {
        let high = &mut self.bounds.high;
        if *high < u64::MAX && ack.window_used {
            *high = high.saturating_add(ack.acked / 4);
        }
        let shows = ack.flight_before >= self.pipe(125);
        let is_over = shows || !ack.window_used || self.growth.is_over();
        // Others fill the queue: it has no room for more.
        let is_full = ack.flight_before >= self.pipe(150);
        if is_full || (round_over && is_over) {
            self.bounds.gives_way = false;
            self.end_probe(ack.now);
        }
    }

    pub(super) fn end_probe(&mut self, now: Duration) {
        self.begin_cycle(now);
        self.path.handle_cycle();
        self.base_loss.handle_probe_end();
    }

    fn probe_rtt(&mut self, ack: &Ack, until: Option<Duration>) {
        match until {
            None if ack.flight <= self.window() => {
                let until = ack.now.saturating_add(PROBE_RTT_LASTS);
                self.phase = Phase::ProbeRtt(Some(until));
            }
            Some(until) if until <= ack.now => {
                self.path.handle_rtt_probed(ack.now);
                if self.filled {
                    self.begin_cycle(ack.now);
                } else {
                    self.phase = Phase::Startup;
                }
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Duration) -> bool {
        let packets = self.pipe(100).checked_div(self.packet);
        self.cycle.is_over(now, packets.unwrap_or(u64::MAX))
    }

    fn begin_cycle(&mut self, now: Duration) {
        self.phase = Phase::Down;
        self.cycle.begin(now);
        self.outbreak = Outbreak::default(); // what a probe loses is its own
    }

    fn forget_low(&mut self) {
        (self.bounds.low, self.bounds.low_rate) = (u64::MAX, u64::MAX);
    }
}
