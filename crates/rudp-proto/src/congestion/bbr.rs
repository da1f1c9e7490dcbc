//! A model of the path instead of an answer to losses: its bandwidth and its shortest round trip,
//! probed in turn (G8). The states are those of BBR (draft-ietf-ccwg-bbr, version 3); what counts
//! as congestion is not: a loss alone is no evidence (G9), and what the path loses by itself is sent
//! in addition (G10).

mod base_loss;
mod bounds;
mod cycle;
mod first;
mod others;
mod path;
mod phase;

use core::time::Duration;

use super::aggregation::Aggregation;
use super::evidence::Round;
use super::math::{bytes_in, percent};
use super::pacer::MAX_QUANTUM;
use super::{Ack, FIRST_BURST, PACKET, initial_window, resized};
use crate::trace::CongestionPhase;
use base_loss::BaseLoss;
use bounds::Bounds;
use cycle::Cycle;
use others::Outbreak;
use path::Path;
use phase::{Growth, Phase};

/// So many packets must be out for a path whose receiver acknowledges every second one.
const MIN_PIPE: u64 = 4;
/// What the window keeps free for others while nothing is probed, in percent.
const HEADROOM: u64 = 15;
/// What is left by a reduction, in percent.
const BETA: u64 = 70;
/// What leaves in bursts of the pacer, but no more than three of its largest (the draft's "offload
/// budget"): more would only make the queue of a loopback interface longer.
const BURSTS: Duration = Duration::from_millis(2);
const MOST_BURSTS: u64 = 3 * MAX_QUANTUM;

#[derive(Clone, Debug)]
pub(super) struct Bbr {
    /// Bytes of a full one (SMSS).
    packet: u64,
    phase: Phase,
    bounds: Bounds,
    /// What they were before the first reduction of a recovery, and whether startup was over.
    before: Option<(Bounds, bool)>,
    path: Path,
    /// By which the first window is paced.
    first_rtt: Option<Duration>,
    cycle: Cycle,
    /// What [`Bounds::high`] was when the last probe began.
    probed_from: u64,
    outbreak: Outbreak,
    round: Round,
    base_loss: BaseLoss,
    growth: Growth,
    aggregation: Aggregation,
    /// Startup has found the bandwidth.
    filled: bool,
    /// Packets with lower numbers left before the last expiry or reduction.
    recovery_end: u64,
    /// Nothing was in flight for an RTO, and nothing has been acknowledged since.
    idle: bool,
}

impl Bbr {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            packet: PACKET,
            phase: Phase::Startup,
            bounds: Bounds::of(initial_window(FIRST_BURST, PACKET)),
            before: None,
            path: Path::new(),
            first_rtt: None,
            cycle: Cycle::new(seed),
            probed_from: u64::MAX,
            outbreak: Outbreak::default(),
            round: Round::default(),
            base_loss: BaseLoss::default(),
            growth: Growth::default(),
            aggregation: Aggregation::default(),
            filled: false,
            recovery_end: 0,
            idle: false,
        }
    }

    pub(super) fn phase(&self) -> CongestionPhase {
        self.phase.into()
    }

    pub(super) fn set_packet(&mut self, bytes: u64) {
        let (window, first) = (self.bounds.window, self.first_packets());
        self.bounds.window = resized(window, first, self.packet, bytes);
        self.packet = bytes;
    }

    fn min_pipe(&self) -> u64 {
        self.packet.saturating_mul(MIN_PIPE)
    }

    pub(super) fn recovery_end(&self) -> u64 {
        self.recovery_end
    }

    /// Never below one packet.
    pub(super) fn window(&self) -> u64 {
        let Bounds {
            window, high, low, ..
        } = self.bounds;
        let cap = match self.phase {
            Phase::Startup | Phase::Drain => u64::MAX,
            Phase::Down | Phase::Refill | Phase::Up => high,
            Phase::Cruise => self.with_headroom(),
            Phase::ProbeRtt(_) => self.with_headroom().min(self.pipe(50)),
        };
        window.min(cap.min(low).max(self.min_pipe()))
    }

    fn with_headroom(&self) -> u64 {
        percent(self.bounds.high, 100 - HEADROOM)
    }

    /// Bytes per second; `None` before the first round trip.
    pub(super) fn rate(&self) -> Option<u64> {
        let gain = match self.phase {
            Phase::Startup => 289, // 2 / ln 2
            Phase::Drain => 50,
            Phase::Down => 90,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt(_) => 100,
            Phase::Up => 125,
        };
        let rate = percent(self.bandwidth().max(self.first_bandwidth()), gain);
        (rate > 0).then_some(rate)
    }

    /// What must leave for the rate to arrive, in bytes per second.
    fn bandwidth(&self) -> u64 {
        let arrives = self.path.bandwidth().min(self.bounds.low_rate);
        self.base_loss.made_up(arrives)
    }

    /// Less leaves than the path carries.
    fn is_slow(&self) -> bool {
        matches!(self.phase, Phase::Drain | Phase::Down)
    }

    /// So many percent of what fills the pipe without a queue.
    fn pipe(&self, share: u64) -> u64 {
        self.pipe_of(self.path.min_rtt(), share)
    }

    fn pipe_of(&self, rtt: Option<Duration>, share: u64) -> u64 {
        let bandwidth = self.bandwidth();
        match rtt {
            Some(rtt) if bandwidth > 0 => {
                percent(bytes_in(rtt, bandwidth), share).max(self.min_pipe())
            }
            _ => self.first_window(),
        }
    }

    /// Says whether a recovery begins.
    pub(super) fn handle_ack(&mut self, ack: &Ack) -> bool {
        let begins = ack.lost > 0 && ack.largest_lost >= self.recovery_end;
        if begins {
            self.recovery_end = ack.next;
            self.before = None;
        }
        self.round.handle_lost(ack.lost);
        if ack.lost > 0 {
            let pipe = self.pipe(100);
            self.outbreak.handle_lost(ack.lost, pipe, self.packet);
        } else {
            self.outbreak.handle_acked(ack.acked);
        }
        if ack.acked == 0 {
            return begins; // time proved the loss, and nothing was measured
        }
        self.handle_first_rtt(ack.rtt);
        let rtt_expired = self.path.handle_rtt(ack.now, ack.rtt);
        if let Some(rate) = ack.rate {
            self.path.handle_rate(rate, ack.app_limited);
        }
        let bandwidth = self.path.bandwidth();
        self.aggregation
            .handle_acked(ack.now, ack.acked, bandwidth, self.bounds.window);
        self.round.handle_ack(ack);
        let round_over = self.round.is_over(ack);
        if round_over {
            self.handle_round(ack);
            self.round = Round::new(ack.delivered);
        }
        // A silence emptied the pipe as a probe would have.
        let was_idle = core::mem::take(&mut self.idle);
        if rtt_expired && !was_idle && !matches!(self.phase, Phase::ProbeRtt(_)) {
            self.phase = Phase::ProbeRtt(None);
        }
        self.update_phase(ack, round_over);
        if round_over {
            self.base_loss.begin_round(self.is_slow());
        }
        self.grow(ack);
        begins
    }

    /// A round ended: does it show congestion (G9), and does the bandwidth still grow?
    fn handle_round(&mut self, ack: &Ack) {
        self.base_loss.handle_round(
            &self.round,
            self.path.min_rtt(),
            self.is_slow(),
            self.packet,
        );
        self.cycle.handle_round();
        self.path
            .handle_round(self.round.mean_rtt(), ack.app_limited);
        self.aggregation.handle_round();
        let probing = matches!(self.phase, Phase::Startup | Phase::Up);
        if probing && !ack.app_limited {
            self.growth.handle_round(self.round.best_rate);
        }
        self.filled |= self.growth.is_over();
        let stalled = probing && self.growth.rounds > 0;
        if self.phase == Phase::Startup {
            self.base_loss.handle_startup(&self.round, !stalled);
        }
        if self.phase == Phase::Startup && !stalled {
            return; // it is not full, whatever chance and jitter say
        }
        let min_rtt = self.path.min_rtt();
        let marked = self.round.is_marked();
        let cruises = matches!(self.phase, Phase::Down | Phase::Cruise | Phase::Refill);
        let others = cruises && self.outbreak.shows_others(self.packet);
        let base_loss = self.base_loss.share();
        let congested = (self.round).is_congested(min_rtt, stalled, self.packet, base_loss);
        if !marked && !others && !congested {
            return;
        }
        if marked {
            self.before = None; // never a mistake (G7)
        } else {
            self.before.get_or_insert((self.bounds, self.filled));
        }
        match self.phase {
            Phase::Up if self.bounds.gives_way => {
                self.bounds.high = self.probed_from;
                self.end_probe(ack.now);
            }
            Phase::Startup | Phase::Up => {
                let most = self.base_loss.made_up(self.round.most_in_flight);
                self.bounds.high = most.max(self.pipe(100));
                self.filled = true;
                if self.phase == Phase::Up {
                    self.end_probe(ack.now);
                }
            }
            Phase::ProbeRtt(_) => {} // it is short already
            Phase::Drain | Phase::Down | Phase::Cruise | Phase::Refill => {
                if others {
                    self.give_way();
                }
                let Bounds { low, low_rate, .. } = self.bounds;
                let reduced = percent(low.min(self.bounds.window), BETA);
                self.bounds.low = reduced.max(self.pipe(100));
                let reduced = percent(low_rate.min(self.path.bandwidth()), BETA);
                self.bounds.low_rate = reduced.max(self.round.best_rate);
            }
        }
    }

    /// The window grows by what arrives, up to a multiple of the pipe and what a pacer's bursts need.
    fn grow(&mut self, ack: &Ack) {
        let pipe = match self.phase {
            // Less than a queue of one pipe holds beside it: what is too much is seen late.
            Phase::Startup => self.pipe_of(self.path.usual_rtt(), 190),
            Phase::Drain => self.pipe(200),
            Phase::Up => self.pipe(225),
            // Where CUBIC keeps the queue full, this is what bounds the share.
            _ => self.pipe_of(self.path.usual_rtt(), 170),
        };
        let bursts = bytes_in(BURSTS, self.path.bandwidth()).min(MOST_BURSTS);
        let extra = self.aggregation.extra();
        let most = pipe.saturating_add(bursts.max(extra));
        let window = &mut self.bounds.window;
        let grown = window.saturating_add(ack.acked);
        if self.filled {
            *window = grown.min(most);
        } else if *window < most {
            *window = grown;
        }
    }

    pub(super) fn handle_lost_handshake(&mut self) {
        self.bounds.window = self.packet;
    }

    /// Nothing restarts: what leaves next is paced, which is what a small window would be for.
    pub(super) fn handle_idle(&mut self) {
        self.idle = true;
    }

    /// One packet, from which the window doubles each round trip up to what the model says.
    pub(super) fn handle_timeout(&mut self, next: u64, again: bool) {
        if !again {
            self.before = Some((self.bounds, self.filled));
        }
        self.recovery_end = next;
        self.bounds.window = self.packet;
    }

    /// What the last recovery answered was late (G7). A probe that it ended is not resumed: the
    /// next comes by itself.
    pub(super) fn undo(&mut self) -> bool {
        self.round.forget_lost();
        self.outbreak = Outbreak::default();
        let before = self.before.take();
        if let Some((bounds, filled)) = before {
            self.bounds = self.bounds.max(bounds);
            self.set_packet(self.packet);
            if self.filled && !filled {
                (self.filled, self.growth) = (false, Growth::default());
                if !matches!(self.phase, Phase::ProbeRtt(_)) {
                    self.phase = Phase::Startup; // where that probe leads, too
                }
            }
        }
        before.is_some()
    }
}

#[cfg(test)]
mod tests;
