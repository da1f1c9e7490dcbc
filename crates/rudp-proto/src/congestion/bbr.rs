//! A model of the path instead of an answer to losses: its bandwidth and its shortest round trip,
//! probed in turn (G8). The states are those of BBR (draft-ietf-ccwg-bbr, version 3); what counts
//! as congestion is not: a loss alone is no evidence (G9).

use core::time::Duration;

use super::aggregation::Aggregation;
use super::evidence::Round;
use super::math::{bytes_in, mul_div, percent, rate_of};
use super::{Ack, PACKET, initial_window, resized};
use crate::trace::CongestionPhase;

/// So many packets must be out for a path whose receiver acknowledges every second one.
const MIN_PIPE: u64 = 4;
const PROBE_RTT_EVERY: Duration = Duration::from_secs(5);
const MIN_RTT_LIVES: Duration = Duration::from_secs(10);
const PROBE_RTT_LASTS: Duration = Duration::from_millis(200);
/// What the window keeps free for others while nothing is probed, in percent.
const HEADROOM: u64 = 15;
/// What is left by a reduction, in percent.
const BETA: u64 = 70;
/// A packet a round trip for Reno's sake: no more rounds than this without a probe.
const MOST_ROUNDS: u64 = 63;
/// The time between probes, and up to a second more.
const SHORTEST_CYCLE: Duration = Duration::from_secs(2);
/// By then what a startup and a probe left in a queue is gone. If more is out, the path is longer
/// than its shortest round trip says, and to wait on would starve it.
const MOST_DRAIN_ROUNDS: u64 = 2;
const MOST_DOWN_ROUNDS: u64 = 4;
/// What leaves in a burst of the pacer.
const BURSTS: Duration = Duration::from_millis(2);

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    /// Until then, once little enough is in flight.
    ProbeRtt(Option<Duration>),
}

/// What congestion has reduced, and an undo restores.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Bounds {
    window: u64,
    /// What was in flight when the last probe went too far.
    high: u64,
    /// Until the next probe: what is in flight, and bytes per second.
    low: u64,
    low_rate: u64,
}

/// Whether the bandwidth still grows.
#[derive(Copy, Clone, Debug, Default)]
struct Growth {
    best: u64,
    rounds: u8,
}

impl Growth {
    /// Another round ended, at this rate.
    fn handle_round(&mut self, rate: u64) {
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
    fn is_over(self) -> bool {
        self.rounds >= 3
    }
}

#[derive(Clone, Debug)]
pub(super) struct Bbr {
    /// Bytes of a full one (SMSS).
    packet: u64,
    phase: Phase,
    bounds: Bounds,
    /// What they were, and whether startup was over.
    before: Option<(Bounds, bool)>,
    /// The best of this cycle and of the one before.
    bandwidth: [u64; 2],
    min_rtt: Option<Duration>,
    min_rtt_at: Duration,
    /// The shortest mean of a round: with jitter well above the shortest of all.
    usual_rtt: Option<Duration>,
    /// The shortest round trip since the last probe for it, and when it was.
    probed_rtt: (Duration, Duration),
    round: Round,
    growth: Growth,
    aggregation: Aggregation,
    /// Startup has found the bandwidth.
    filled: bool,
    /// When this cycle began, how long it waits to probe, and its rounds.
    cycle_at: Duration,
    cycle_wait: Duration,
    cycle_rounds: u64,
    /// Packets with lower numbers left before the last expiry or reduction.
    recovery_end: u64,
    /// Spreads the probes of connections that share a path.
    seed: u64,
}

impl Bbr {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            packet: PACKET,
            phase: Phase::Startup,
            bounds: Bounds {
                window: initial_window(PACKET),
                high: u64::MAX,
                low: u64::MAX,
                low_rate: u64::MAX,
            },
            before: None,
            bandwidth: [0; 2],
            min_rtt: None,
            min_rtt_at: Duration::ZERO,
            usual_rtt: None,
            probed_rtt: (Duration::MAX, Duration::ZERO),
            round: Round::default(),
            growth: Growth::default(),
            aggregation: Aggregation::default(),
            filled: false,
            cycle_at: Duration::ZERO,
            cycle_wait: Duration::ZERO,
            cycle_rounds: 0,
            recovery_end: 0,
            seed: seed | 1,
        }
    }

    pub(super) fn phase(&self) -> CongestionPhase {
        match self.phase {
            Phase::Startup => CongestionPhase::Startup,
            Phase::Drain => CongestionPhase::Drain,
            Phase::Down => CongestionPhase::ProbeDown,
            Phase::Cruise => CongestionPhase::Cruise,
            Phase::Refill => CongestionPhase::Refill,
            Phase::Up => CongestionPhase::ProbeUp,
            Phase::ProbeRtt(_) => CongestionPhase::ProbeRtt,
        }
    }

    pub(super) fn set_packet(&mut self, bytes: u64) {
        self.bounds.window = resized(self.bounds.window, self.packet, bytes);
        self.packet = bytes;
    }

    fn min_pipe(&self) -> u64 {
        self.packet.saturating_mul(MIN_PIPE)
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

    fn max_bandwidth(&self) -> u64 {
        let [this, last] = self.bandwidth;
        this.max(last)
    }

    /// Bytes per second; `None` before the first sample.
    pub(super) fn rate(&self) -> Option<u64> {
        let gain = match self.phase {
            Phase::Startup => 289, // 2 / ln 2
            Phase::Drain => 50,
            Phase::Down => 90,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt(_) => 100,
            Phase::Up => 125,
        };
        let bandwidth = self.max_bandwidth().min(self.bounds.low_rate);
        let rate = percent(bandwidth.max(self.first_bandwidth()), gain);
        (rate > 0).then_some(rate)
    }

    /// While the path is searched, no less than the first window in a round trip: what a few bytes
    /// at the beginning showed is not the path's (draft-ietf-ccwg-bbr, 5.6.2).
    fn first_bandwidth(&self) -> u64 {
        let first = self.bounds.window.min(initial_window(self.packet));
        match self.min_rtt {
            Some(rtt) if !self.filled => rate_of(first, rtt),
            _ => 0,
        }
    }

    /// So many percent of what fills the pipe without a queue.
    fn pipe(&self, share: u64) -> u64 {
        self.pipe_of(self.min_rtt, share)
    }

    fn pipe_of(&self, rtt: Option<Duration>, share: u64) -> u64 {
        let bandwidth = self.max_bandwidth().min(self.bounds.low_rate);
        match rtt {
            Some(rtt) if bandwidth > 0 => {
                percent(bytes_in(rtt, bandwidth), share).max(self.min_pipe())
            }
            _ => initial_window(self.packet),
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
        if ack.acked == 0 {
            return begins; // time proved the loss, and nothing was measured
        }
        let rtt_expired = self.update_min_rtt(ack);
        let known = self.max_bandwidth();
        if let Some(rate) = ack.rate
            && (!ack.app_limited || rate > known)
        {
            let [this, _] = &mut self.bandwidth;
            *this = rate.max(*this);
        }
        let bandwidth = self.max_bandwidth();
        self.aggregation
            .handle_acked(ack.now, ack.acked, bandwidth, self.bounds.window);
        self.round.handle_ack(ack);
        let round_over = self.round.is_over(ack);
        if round_over {
            self.handle_round(ack);
            self.round = Round::new(ack.delivered);
        }
        if rtt_expired && !matches!(self.phase, Phase::ProbeRtt(_)) {
            self.phase = Phase::ProbeRtt(None);
        }
        self.update_phase(ack, round_over);
        self.grow(ack);
        begins
    }

    /// Says whether the shortest round trip was not seen for so long that it must be probed.
    fn update_min_rtt(&mut self, ack: &Ack) -> bool {
        let since = |at: Duration| ack.now.saturating_sub(at);
        let (probed, probed_at) = self.probed_rtt;
        let known = probed < Duration::MAX; // what was never measured is not old
        let expired = known && since(probed_at) > PROBE_RTT_EVERY;
        if expired || ack.rtt <= probed {
            self.probed_rtt = (ack.rtt, ack.now);
        }
        let (probed, probed_at) = self.probed_rtt;
        let old = since(self.min_rtt_at) > MIN_RTT_LIVES;
        if old || self.min_rtt.is_none_or(|min| probed <= min) {
            (self.min_rtt, self.min_rtt_at) = (Some(probed), probed_at);
        }
        expired
    }

    /// A round ended: does it show congestion (G9), and does the bandwidth still grow?
    fn handle_round(&mut self, ack: &Ack) {
        self.cycle_rounds = self.cycle_rounds.saturating_add(1);
        self.usual_rtt = [self.usual_rtt, self.round.mean_rtt()]
            .into_iter()
            .flatten()
            .min();
        self.aggregation.handle_round();
        let probing = matches!(self.phase, Phase::Startup | Phase::Up);
        if probing && !ack.app_limited {
            self.growth.handle_round(self.round.best_rate);
        }
        self.filled |= self.growth.is_over();
        let stalled = probing && self.growth.rounds > 0;
        // While the rate still grows, a longer round trip may be the path's own.
        let grows = self.phase == Phase::Startup && !stalled;
        let min_rtt = self.min_rtt.filter(|_| !grows);
        let marked = self.round.is_marked() && !grows;
        if !marked && !self.round.is_congested(min_rtt, stalled, self.packet) {
            return;
        }
        self.before = Some((self.bounds, self.filled));
        match self.phase {
            Phase::Startup | Phase::Up => {
                self.bounds.high = self.round.most_in_flight.max(self.pipe(100));
                self.filled = true;
                if self.phase == Phase::Up {
                    self.end_probe(ack.now);
                }
            }
            Phase::ProbeRtt(_) => {} // it is short already
            Phase::Drain | Phase::Down | Phase::Cruise | Phase::Refill => {
                let Bounds { low, low_rate, .. } = self.bounds;
                let reduced = percent(low.min(self.bounds.window), BETA);
                self.bounds.low = reduced.max(self.pipe(100));
                let reduced = percent(low_rate.min(self.max_bandwidth()), BETA);
                self.bounds.low_rate = reduced.max(self.round.best_rate);
            }
        }
    }

    fn update_phase(&mut self, ack: &Ack, round_over: bool) {
        match self.phase {
            Phase::Startup if self.filled => {
                self.phase = Phase::Drain;
                self.cycle_rounds = 0;
            }
            Phase::Drain
                if ack.flight <= self.pipe(100) || self.cycle_rounds >= MOST_DRAIN_ROUNDS =>
            {
                self.begin_cycle(ack.now);
            }
            Phase::Down | Phase::Cruise if self.is_time_to_probe(ack.now) => {
                self.forget_low();
                self.phase = Phase::Refill;
                self.round = Round::new(ack.delivered);
            }
            Phase::Down
                if ack.flight <= self.pipe(100).min(self.with_headroom())
                    || self.cycle_rounds >= MOST_DOWN_ROUNDS =>
            {
                self.phase = Phase::Cruise;
            }
            Phase::Refill if round_over => {
                self.phase = Phase::Up;
                self.growth = Growth {
                    best: self.max_bandwidth(),
                    ..Growth::default()
                };
            }
            Phase::Up => self.probe_up(ack, round_over),
            Phase::ProbeRtt(until) => self.probe_rtt(ack, until),
            _ => {}
        }
    }

    /// More is sent until it shows, as a queue of a quarter of the pipe.
    fn probe_up(&mut self, ack: &Ack, round_over: bool) {
        let high = &mut self.bounds.high;
        if *high < u64::MAX && ack.window_used {
            *high = high.saturating_add(ack.acked / 4);
        }
        let shows = ack.flight_before >= self.pipe(125);
        if round_over && (shows || !ack.window_used || self.growth.is_over()) {
            self.end_probe(ack.now);
        }
    }

    fn end_probe(&mut self, now: Duration) {
        self.begin_cycle(now);
        let [this, _] = self.bandwidth;
        self.bandwidth = [0, this]; // what is older than the last cycle is forgotten
    }

    fn probe_rtt(&mut self, ack: &Ack, until: Option<Duration>) {
        match until {
            None if ack.flight <= self.window() => {
                let until = ack.now.saturating_add(PROBE_RTT_LASTS);
                self.phase = Phase::ProbeRtt(Some(until));
            }
            Some(until) if until <= ack.now => {
                let (shortest, _) = self.probed_rtt;
                self.probed_rtt = (shortest, ack.now);
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
        let rounds = mul_div(self.pipe(100), 1, self.packet).min(MOST_ROUNDS);
        now.saturating_sub(self.cycle_at) >= self.cycle_wait || self.cycle_rounds >= rounds
    }

    fn begin_cycle(&mut self, now: Duration) {
        self.phase = Phase::Down;
        self.cycle_at = now;
        self.cycle_rounds = 0;
        // Between 2 and 3 s, different from connection to connection (xorshift).
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let spread = Duration::from_millis(self.seed % 1_000);
        self.cycle_wait = SHORTEST_CYCLE.saturating_add(spread);
    }

    fn forget_low(&mut self) {
        (self.bounds.low, self.bounds.low_rate) = (u64::MAX, u64::MAX);
    }

    /// The window grows by what arrives, up to twice the pipe and what a pacer's bursts need.
    fn grow(&mut self, ack: &Ack) {
        let pipe = match self.phase {
            // Less than a queue of one pipe holds beside it: what is too much is seen late.
            Phase::Startup => self.pipe_of(self.usual_rtt.or(self.min_rtt), 190),
            Phase::Up => self.pipe(225),
            _ => self.pipe(200),
        };
        let bursts = bytes_in(BURSTS, self.max_bandwidth());
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

    /// One packet, from which the window doubles each round trip up to what the model says.
    pub(super) fn handle_timeout(&mut self, next: u64, again: bool) {
        if !again {
            self.before = Some((self.bounds, self.filled));
        }
        self.recovery_end = next;
        self.bounds.window = self.packet;
    }

    /// The last reduction was a mistake (G7).
    pub(super) fn undo(&mut self) -> bool {
        let before = self.before.take();
        if let Some((bounds, filled)) = before {
            self.bounds = bounds;
            self.set_packet(self.packet);
            if self.filled && !filled {
                (self.filled, self.phase) = (false, Phase::Startup);
                self.growth = Growth::default();
            }
        }
        before.is_some()
    }
}
