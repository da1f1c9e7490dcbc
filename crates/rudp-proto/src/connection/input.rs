//! What arrives.

use core::time::Duration;

use rto::{Progress, Sample};

use super::{Connection, Delivery, Phase};
use crate::ack::Urgency;
use crate::handshake::{Handshake, MOST_FOR_HELLOS, same};
use crate::receiver::Unacceptable;
use crate::stats::add;
use crate::trace::{HandshakeStep, Step, TracedPacket};
use crate::wire::{Cookie, Frame, Frames, Params, ResetToken, Versions};
use crate::{CloseReason, Ecn, Lost, Side};

impl Connection {
    /// A Hello of the client, the first one or again, with a proof of its address or without.
    pub(crate) fn handle_hello(&mut self, now: Duration, proved: bool) {
        self.now = now;
        let few = self.flight.next_number() < MOST_FOR_HELLOS;
        let waits = self.phase == Phase::Open && self.settings == Delivery::InFlight;
        if waits
            && few
            && let Some((number, content, again)) = self.flight.repeat_settings()
        {
            if again {
                self.congestion.handle_lost_handshake(); // (L10)
            }
            // They may be lost, and are repeated as by an expiry: the RTO counts from then (H13).
            self.ecn_path.handle_expiry(); // (E3)
            self.handle_content_lost(number, &content);
            self.probe_due = true;
        }
        let Some(half_open) = &mut self.half_open else {
            return;
        };
        half_open.handle_hello();
        self.last_received = now;
        if proved {
            self.handle_proved();
        }
    }

    /// The client receives at its address: the application hears of it (H11).
    fn handle_proved(&mut self) {
        if self.half_open.take().is_some() {
            self.events.connected = true;
            self.events.unanswered = false; // it was about the SETTINGS alone
        }
    }

    /// The server asks for a proof of the address (H4).
    pub(crate) fn handle_challenge(&mut self, now: Duration, cookie: Cookie) {
        self.now = now;
        if self.phase != Phase::Connecting || !self.handshake.handle_challenge(cookie) {
            return;
        }
        let sample = self.handshake.sample(now);
        self.handle_handshake_acked(now, sample);
        self.hello_due = true;
        self.follow();
    }

    /// The server does not speak the version of the Hello, but these (N3).
    pub(crate) fn handle_versions(&mut self, now: Duration, theirs: &Versions) {
        self.now = now;
        let asks = self.phase == Phase::Connecting && self.handshake.cookie.is_none();
        if !asks || self.negotiated || theirs.contains(self.version) {
            return;
        }
        let Some(version) = self.params.versions.common(theirs) else {
            return self.lose(CloseReason::Lost(Lost::Version(*theirs)));
        };
        (self.version, self.negotiated) = (version, true);
        let sample = self.handshake.sample(now);
        self.handle_handshake_acked(now, sample);
        self.handshake = Handshake::default();
        self.hello_due = true;
        self.follow();
    }

    /// The server is at its limit (H9).
    pub(crate) fn handle_refusal(&mut self, now: Duration) {
        self.now = now;
        if self.phase == Phase::Connecting {
            self.lose(CloseReason::Lost(Lost::Busy));
        }
    }

    /// Nobody listens at the peer's port, somebody says: believed at once only
    /// while there is no connection to lose (K6).
    pub(crate) fn handle_unreachable(&mut self, now: Duration) {
        self.now = now;
        match self.phase {
            Phase::Connecting => self.lose(CloseReason::Lost(Lost::Refused)),
            Phase::Open if self.is_half_open() => self.lose(CloseReason::Lost(Lost::Refused)),
            Phase::Open | Phase::Lingering { .. } => _ = self.unreachable_at.get_or_insert(now),
            Phase::Dead => {}
        }
    }

    /// The peer does not know this connection, and proves that it is the peer (K5).
    pub(crate) fn handle_reset(&mut self, now: Duration, token: &ResetToken) {
        self.now = now;
        if self
            .remote
            .is_some_and(|remote| same(&remote.params.reset_token, token))
        {
            self.handle_forgotten();
        }
    }

    /// A Data packet of `bytes` bytes.
    pub(crate) fn handle_data(
        &mut self,
        now: Duration,
        bytes: usize,
        ecn: Option<Ecn>,
        number: u64,
        frames: Frames<'_>,
    ) {
        self.now = now;
        let accepts = |frame| matches!(frame, Frame::Settings { .. });
        let strange = self.phase == Phase::Connecting && !frames.iter().any(accepts);
        if self.phase == Phase::Dead || strange {
            return; // the SETTINGS are on another packet, and this one comes again (H8)
        }
        self.handle_proved();
        add(&mut self.stats.packets_received, 1);
        add(&mut self.stats.bytes_received, bytes as u64);
        self.trace(now, Step::Received(TracedPacket { number, bytes }));
        self.last_received = now;
        self.unreachable_at = None;
        if self.acks.is_duplicate(number) {
            add(&mut self.stats.duplicates, 1);
            if frames.iter().any(|frame| frame.is_ack_eliciting()) {
                self.acks.acknowledge_now(now); // (L7)
            }
            return;
        }
        self.peer_marks = None;
        self.peer_gap |= number != self.acks.expected();
        let mut urgencies = frames.iter().map(|frame| self.handle_frame(now, &frame));
        match urgencies.try_fold(Urgency::None, |most, urgency| Ok(most.max(urgency?))) {
            Ok(urgency) => {
                let own_next = self.flight.next_number();
                self.acks
                    .handle_packet(now, own_next, number, bytes, urgency);
                self.acks.handle_ecn(now, ecn);
                self.path_probe_due |= self.probes_path() && self.flight.handle_heard(now);
            }
            // Not acknowledged: it comes again (F5), or is nothing to this connection (H7).
            Err(Unacceptable::NoRoom | Unacceptable::Foreign) => {}
            Err(Unacceptable::Violation(what)) => self.handle_violation(what),
        }
        self.follow();
    }

    fn handle_frame(&mut self, now: Duration, frame: &Frame<'_>) -> Result<Urgency, Unacceptable> {
        match *frame {
            Frame::Ping => Ok(Urgency::AtOnce),
            Frame::Ack(ref ack) => {
                self.handle_ack(now, ack)?;
                Ok(Urgency::None)
            }
            Frame::Ecn(counts) => {
                self.peer_marks = Some(counts);
                Ok(Urgency::None)
            }
            Frame::Stream {
                id,
                offset,
                data,
                fin,
            } => {
                if self.is_over() {
                    return Err(Unacceptable::NoRoom); // nobody reads: never acknowledged
                }
                let data = (offset, data, fin);
                let (fresh, urgency) = self.streams.handle_data(now, id, data)?;
                add(&mut self.stats.stream_bytes_received, fresh);
                if fresh > 0 {
                    self.closing.put_off(); // (K3)
                }
                Ok(urgency)
            }
            Frame::MaxData(_)
            | Frame::MaxStreamData { .. }
            | Frame::MaxStreams { .. }
            | Frame::ResetStream { .. }
            | Frame::StopSending { .. } => {
                if !self.is_over() {
                    self.handle_stream_control(now, frame)?;
                }
                Ok(Urgency::Normal)
            }
            Frame::Settings {
                connection_id,
                params,
            } => {
                self.handle_settings(now, connection_id, params)?;
                Ok(Urgency::AtOnce)
            }
            Frame::Close {
                code,
                reason,
                abort,
            } => {
                self.handle_close(code, reason, abort);
                Ok(Urgency::AtOnce)
            }
        }
    }

    /// What the peer says about streams beside their bytes.
    fn handle_stream_control(
        &mut self,
        now: Duration,
        frame: &Frame<'_>,
    ) -> Result<(), Unacceptable> {
        let streams = &mut self.streams;
        match *frame {
            Frame::MaxData(limit) => streams.handle_max_data(limit),
            Frame::MaxStreamData { id, limit } => {
                streams.handle_max_stream_data(now, id, limit)?;
            }
            Frame::MaxStreams { kind, count } => streams.handle_max_streams(kind, count),
            Frame::ResetStream { id, code, size } => {
                let is_first = streams.handle_reset(now, id, code, size)?;
                if is_first {
                    self.closing.put_off(); // (K3)
                }
            }
            Frame::StopSending { id, code } => streams.handle_stop(now, id, code)?,
            _ => {}
        }
        Ok(())
    }

    /// The server accepted (H7).
    fn handle_settings(
        &mut self,
        now: Duration,
        id: u64,
        params: Params,
    ) -> Result<(), Unacceptable> {
        if self.phase != Phase::Connecting {
            let known = self.remote.filter(|_| self.side == Side::Client);
            return match known {
                Some(remote) if remote.id != id => Err(Unacceptable::Foreign), // of an old Hello
                Some(remote) if remote.params == params => Ok(()),
                _ => Err(Unacceptable::Violation("other SETTINGS than before (H7)")),
            };
        }
        if self.params.versions.common(&params.versions) != Some(self.version) {
            let what = "a version that negotiation does not lead to (N4)";
            return Err(Unacceptable::Violation(what));
        }
        self.hello_due = false;
        let sample = self.handshake.sample(now);
        self.flight.timer_mut().handle_data_phase(now); // (5.7-1); a clean sample, next, wins
        self.handle_handshake_acked(now, sample);
        if let Some(sent_at) = self.handshake.sent_at() {
            self.flight.guess_rtt(now.saturating_sub(sent_at));
        }
        self.trace(now, Step::Handshake(HandshakeStep::Settings));
        if self.stats.timeouts.saturating_add(self.stats.hello_probes) > 1 {
            self.congestion.handle_lost_handshake(); // (L10)
        } else if let Some(rtt) = self.flight.timer().estimator().srtt() {
            self.congestion.handle_handshake_rtt(now, rtt);
        }
        self.handle_established(id, params);
        Ok(())
    }

    fn handle_handshake_acked(&mut self, now: Duration, sample: Option<Sample>) {
        let timer = self.flight.timer_mut();
        let outcome = timer.handle_acked(now, Progress::All, sample);
        self.events.unanswered = false;
        self.count_sample(outcome);
    }
}
