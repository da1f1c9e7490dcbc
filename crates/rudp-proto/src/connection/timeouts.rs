//! What is due, and when.

use core::time::Duration;

use rto::{Expiry, Timeout};

use super::closing::CLOSE_RETRIES;
use super::{Connection, Delivery, Phase};
use crate::handshake::{FIRST_KEEPALIVE, HELLO_PACE, MOST_HELLO_PROBES};
use crate::loss::Content;
use crate::stats::add;
use crate::trace::{LossTrigger, Step};
use crate::{CloseReason, Lost, Side};

/// The rank of what an expiry need not repeat.
const NOTHING: u64 = u64::MAX;

impl Connection {
    /// When to call [`handle_timeout`](Self::handle_timeout). Any other call may
    /// change it.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        let retransmission = self.flight.timer().poll_timeout();
        let loss = self.flight.loss_deadline();
        let idle = self.idle_at();
        let message = self.streams.poll_timeout();
        match self.phase {
            Phase::Dead => None,
            Phase::Connecting => earliest([retransmission, idle, message, self.hello_probe_at()]),
            Phase::Open => earliest([
                retransmission,
                loss,
                idle,
                self.acks.deadline(),
                self.keepalive_at(),
                self.closing.deadline(),
                self.paced_until,
                self.path_probe_at(),
                self.tail_probe_at(),
                message,
            ]),
            Phase::Lingering { .. } => earliest([
                retransmission,
                loss,
                self.linger_end(),
                self.acks.deadline(),
                self.paced_until,
            ]),
        }
    }

    /// Does everything that is due. Early calls are harmless.
    pub(crate) fn handle_timeout(&mut self, now: Duration) {
        self.now = now;
        let due = |deadline: Option<Duration>| deadline.is_some_and(|deadline| deadline <= now);
        if matches!(self.phase, Phase::Connecting | Phase::Open) {
            if due(self.idle_at()) {
                return self.lose(CloseReason::Lost(Lost::TimedOut)); // (K2)
            }
            if due(self.closing.deadline()) {
                self.handle_closing_deadline();
            }
            self.ping_due |= due(self.keepalive_at()); // (K1)
            self.streams.handle_timeout(now); // (M4)
        }
        let flight = self.flight.bytes();
        if let Some(acked) = self.flight.handle_loss_deadline(now) {
            self.handle_acked(now, flight, acked); // (L11)
        }
        self.handle_expiry(now);
        if due(self.hello_probe_at()) {
            add(&mut self.stats.hello_probes, 1);
            self.hello_due = true; // (H13)
        }
        if due(self.tail_probe_at())
            && let Some((number, content)) = self.flight.handle_tail_deadline(now)
        {
            add(&mut self.stats.tail_probes, 1);
            self.trace(now, Step::TailProbe);
            self.handle_content_lost(number, &content);
            self.retransmission_due = true; // (L14)
            self.acks.tell_again(now);
        }
        self.path_probe_due |= self.probes_path() && self.flight.handle_path_probe_deadline(now);
        if due(self.paced_until) {
            self.paced_until = None; // the next packet asks again (G4)
        }
        if due(self.linger_end()) {
            self.end(); // (K7)
        }
        self.follow();
    }

    /// When the Hello leaves again though the timer has not expired (H13).
    fn hello_probe_at(&self) -> Option<Duration> {
        let may = self.phase == Phase::Connecting
            && !self.hello_due
            && self.stats.hello_probes < MOST_HELLO_PROBES;
        let sent_at = self.handshake.sent_at().filter(|_| may)?;
        let rto = self.flight.timer().estimator().base_rto();
        Some(sent_at.saturating_add(rto.max(HELLO_PACE)))
    }

    /// The end of a silent connection (K2); a peer that has closed may be silent.
    fn idle_at(&self) -> Option<Duration> {
        let idle_at = self.last_received.saturating_add(self.idle_timeout);
        (!self.closing.is_held()).then_some(idle_at)
    }

    /// A PING is sent after silence in both directions, unless the timer already
    /// watches something, the peer has closed (K1), or only SETTINGS may be sent (H11).
    fn keepalive_at(&self) -> Option<Duration> {
        let idle = self.flight.is_empty() && !self.ping_due;
        let quiet = self.phase == Phase::Open && idle && !self.is_half_open();
        let last = self.last_sent.max(self.last_received);
        let every = match self.keepalive {
            _ if self.side == Side::Server || self.flight.has_acked() => self.keepalive,
            Some(every) => Some(every.min(FIRST_KEEPALIVE)), // (H12)
            None => Some(FIRST_KEEPALIVE),
        };
        every
            .filter(|_| quiet && !self.closing.is_held())
            .map(|every| last.saturating_add(every))
    }

    /// A peer that has closed may be silent (L13), and an address without a proof gets no more
    /// than the timer repeats (H3).
    pub(super) fn probes_path(&self) -> bool {
        self.phase == Phase::Open && !self.closing.is_held() && !self.is_half_open()
    }

    fn path_probe_at(&self) -> Option<Duration> {
        let deadline = self.flight.path_probe_deadline();
        deadline.filter(|_| self.probes_path())
    }

    fn tail_probe_at(&self) -> Option<Duration> {
        let deadline = self.flight.tail_deadline();
        deadline.filter(|_| self.probes_path())
    }

    /// The end of lingering: later while the CLOSE is not acknowledged (K7).
    fn linger_end(&self) -> Option<Duration> {
        match self.phase {
            Phase::Lingering { until } if self.is_close_settled() => Some(until),
            Phase::Lingering { until } => Some(until.saturating_add(self.idle_timeout)),
            _ => None,
        }
    }

    fn handle_expiry(&mut self, now: Duration) {
        let expiry = match self.flight.timer_mut().handle_timeout(now) {
            None => return,
            Some(Timeout::GiveUp(why)) => return self.handle_given_up(why),
            Some(Timeout::Retransmit(expiry)) => expiry,
        };
        add(&mut self.stats.timeouts, 1);
        self.events.unanswered |= expiry.r1; // (K10)
        if self.phase == Phase::Connecting {
            return self.handle_hello_expiry(now, &expiry);
        }
        let flight = self.flight.bytes();
        let (streams, settings) = (&self.streams, self.settings);
        let rank = |content: &Content| {
            let in_control = content.close || (content.settings && settings == Delivery::InFlight);
            if in_control || content.told.iter().any(|told| streams.needs_telling(*told)) {
                return 0;
            }
            let chunks = content.chunks.iter();
            let nearest = chunks.filter_map(|chunk| streams.distance(chunk)).min();
            nearest.map_or(NOTHING, |distance| distance.saturating_add(1))
        };
        self.ecn_path.handle_expiry();
        if let Some(packet) = &self.flight.handle_expiry(now, expiry.rto, rank) {
            add(&mut self.stats.packets_lost, 1);
            self.ecn_path.handle_lost(packet.marked.into());
            self.trace_lost(now, packet, LossTrigger::Expiry);
            self.mtu.handle_lost(now, packet.sent_at, packet.bytes);
            self.handle_content_lost(packet.number, &packet.content);
            let next = self.flight.next_number();
            let again = packet.by_timer && expiry.backoffs > 1; // or a Hello had it sent (H13)
            self.congestion.handle_timeout(next, flight, packet, again);
            let step = Step::Retransmit {
                rto: expiry.rto,
                last_sent_at: packet.sent_at,
            };
            self.trace(now, step);
        }
        if self.is_refused(now, expiry.rto) {
            return self.lose(CloseReason::Lost(Lost::Refused));
        }
        self.probe_due = true;
        if self.is_over() {
            self.closing.retries = self.closing.retries.saturating_add(1);
            if self.closing.retries > CLOSE_RETRIES {
                self.closing.delivery = Delivery::Unneeded; // (K7)
                self.probe_due = false;
                self.flight.give_up(now);
            }
        }
    }

    /// Whether an expiry after `rto` makes a hint the truth: the peer had the whole
    /// RTO to say anything, and half of it to contradict the hint (K6).
    fn is_refused(&self, now: Duration, rto: Duration) -> bool {
        let half = rto.checked_div(2).unwrap_or_default();
        let hint = self.unreachable_at;
        hint.is_some_and(|hint| hint.saturating_add(half) <= now)
            && self.last_received.saturating_add(rto) <= now
    }

    fn handle_hello_expiry(&mut self, now: Duration, expiry: &Expiry) {
        self.hello_due = true;
        let step = Step::Retransmit {
            rto: expiry.rto,
            last_sent_at: self.handshake.sent_at().unwrap_or(now),
        };
        self.trace(now, step);
    }
}

fn earliest<const N: usize>(deadlines: [Option<Duration>; N]) -> Option<Duration> {
    deadlines.into_iter().flatten().min()
}
