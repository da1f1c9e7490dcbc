//! What is sent.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Connection, Delivery, Phase};
use crate::congestion::Admission;
use crate::loss::{Content, SentPacket};
use crate::ranges::length;
use crate::sender::Chunk;
use crate::stats::add;
use crate::trace::Step;
use crate::wire::{self, BASE_DATAGRAM, Frame, Packet, RESET_LEN, TAG_LEN};
use crate::{CloseReason, Lost};

/// The most that a frame about a stream needs, beside STREAM itself: type and three varints.
const CONTROL_LEN: usize = 1 + 3 * 8;
/// A flight of so many bytes is thin, and a packet of it repeats at most so many bytes of as many
/// packets before (L15).
const MOST_THIN: u64 = 4 * wire::BASE_DATAGRAM as u64;
const MOST_BUNDLED: u64 = 256;
const LOOKS_BACK: u64 = 8;
/// More than a packet needs beside its stream data, to ask the window.
const PACKET_OVERHEAD: u64 = 64;

impl Connection {
    /// Appends the next datagram to be sent, of at most `room` bytes, if it can be; answers whether there is
    /// one. Without stream data, only one of 1,200 bytes is sure to have room for all that waits.
    pub(crate) fn poll_transmit(&mut self, now: Duration, room: usize, out: &mut Vec<u8>) -> bool {
        self.now = now;
        self.conclude_if_delivered();
        let begin = out.len();
        let sent = match self.phase {
            Phase::Connecting => self.poll_hello(now, out),
            Phase::Open | Phase::Lingering { .. } => self.poll_data(now, room, out),
            Phase::Dead => false,
        };
        if sent {
            self.last_sent = now;
            if let Some(half_open) = &mut self.half_open {
                half_open.handle_sent(out.len().saturating_sub(begin));
            }
            add(&mut self.stats.packets_sent, 1);
            add(&mut self.stats.bytes_sent, written(out, begin));
            self.follow();
        }
        sent
    }

    fn poll_hello(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        if !core::mem::take(&mut self.hello_due) {
            return false;
        }
        let (client_id, params) = (self.local_id, self.params);
        let cookie = self.handshake.cookie;
        Packet::Hello {
            client_id,
            params,
            cookie,
        }
        .encode_as(self.version, out);
        let step = self.handshake.handle_sent(now);
        self.trace(now, Step::Handshake(step));
        let timer = self.flight.timer_mut();
        if cookie.is_none() {
            timer.handle_handshake_sent(now); // (H1)
        }
        timer.handle_retransmitted(now); // the RTO counts from the last one (5-1), (H13)
        true
    }

    fn poll_data(&mut self, now: Duration, room: usize, out: &mut Vec<u8>) -> bool {
        let Some(remote) = self.remote else {
            return false;
        };
        if self.half_open.is_some_and(|it| !it.may_send()) {
            return false; // until the next Hello (H3)
        }
        self.congestion.set_packet(self.mtu.size() as u64); // (U6)
        let by_timer = core::mem::take(&mut self.probe_due);
        let ack_due = self.acks.deadline().is_some_and(|deadline| deadline <= now);
        self.ping_due |= ack_due && self.phase == Phase::Open && self.flight.is_unanswered(); // (W11)
        let wants = self.wants_to_send();
        if self.flight.is_idle(now) {
            self.congestion.handle_idle();
            self.flight.handle_idle();
            self.streams.handle_idle();
        }
        let forced = by_timer || (core::mem::take(&mut self.retransmission_due) && wants.is_some());
        let eliciting = forced || self.is_admitted(now, wants);
        let probe = self.mtu_probe(now, room, wants);
        let probe = probe.filter(|_| eliciting && !forced);
        let probes_path = core::mem::take(&mut self.path_probe_due) && !eliciting;
        if !eliciting && !ack_due && !probes_path {
            return false;
        }
        let Some(short) = self.flight.short_number() else {
            self.acks.handle_sent(); // nobody hears it any more
            self.lose(CloseReason::Lost(Lost::Exhausted)); // (W10)
            return false;
        };
        let number = self.flight.next_number();
        let begin = out.len();
        wire::start_data(out, self.version, remote.id, short);
        let asks = eliciting || probes_path;
        let marked = self.ecn_path.is_used() && (asks || self.ecn_path.is_settled());
        self.left_marked = marked;
        if marked {
            self.ecn_path.handle_sent(); // (E1)
        }
        let marks = self.acks.marks();
        let ack = self.acks.poll(now).map(|(delay, ranges)| {
            if let Some(marks) = marks {
                Frame::Ecn(marks).encode(out); // (E2)
            }
            wire::put_ack(out, delay, ranges);
        });
        let told = ack.map(|()| self.acks.handle_sent());
        if !eliciting && !probes_path {
            wire::finish(out, begin, 0, Some(number));
            self.trace_sent(now, number, written(out, begin));
            self.flight.handle_sent(now, None);
            return true;
        }
        let content = if let Some(size) = probe {
            Frame::Ping.encode(out); // (U2)
            self.mtu.handle_probe_sent(number, size);
            Content::default()
        } else if probes_path {
            Frame::Ping.encode(out); // (L13)
            add(&mut self.stats.path_probes, 1);
            self.trace(now, Step::PathProbe);
            Content::default()
        } else {
            // It is to get through a black hole (U4).
            let most = if by_timer || (forced && self.mtu.is_suspicious()) {
                BASE_DATAGRAM
            } else {
                self.mtu.size()
            };
            self.fill(now, begin.saturating_add(room.min(most)), out)
        };
        let least = probe.unwrap_or(RESET_LEN.saturating_add(1)); // (W6)
        wire::finish(out, begin, least, Some(number));
        self.trace_sent(now, number, written(out, begin));
        self.trace_bundled(now, number, &content);
        let is_probe = probes_path || probe.is_some();
        let bytes = if is_probe { 0 } else { written(out, begin) };
        let in_flight = self.flight.bytes();
        let packet = SentPacket {
            number,
            sent_at: now,
            bytes,
            content,
            told: told.unwrap_or_default(),
            by_timer,
            repeated: false,
            bundled: false,
            marked,
            declared_lost: false,
            snapshot: self.congestion.handle_sent(now, bytes, in_flight),
        };
        self.flight.handle_sent(now, Some(packet));
        true
    }

    /// The size to probe the path for, if data would fill a packet and a round trip is known (U2).
    fn mtu_probe(&mut self, now: Duration, room: usize, wants: Option<u64>) -> Option<usize> {
        let full = (self.mtu.size() as u64).saturating_sub(PACKET_OVERHEAD);
        let fills = wants.is_some_and(|bytes| bytes >= full);
        let measured = self.flight.timer().estimator().srtt().is_some();
        let waits = fills && measured && room > self.mtu.size() && self.phase == Phase::Open;
        waits.then(|| self.mtu.poll_probe(now)).flatten()
    }

    /// How many stream bytes want to be sent, possibly none beside other frames.
    fn wants_to_send(&mut self) -> Option<u64> {
        let chunk = self.streams.next_chunk(usize::MAX);
        let control = self.ping_due
            || self.settings == Delivery::Due
            || self.closing.delivery == Delivery::Due
            || self.streams.has_control();
        match chunk {
            Some(_) if self.streams.has_several() => Some(self.mtu.size() as u64),
            Some(chunk) => Some(length(&chunk.range)),
            None => control.then_some(0),
        }
    }

    /// Whether congestion control lets so many stream bytes go (L10, G4).
    fn is_admitted(&mut self, now: Duration, wants: Option<u64>) -> bool {
        self.paced_until = None;
        let flight = self.flight.bytes();
        let Some(stream_bytes) = wants else {
            self.congestion.handle_app_limited(flight);
            return false;
        };
        let payload = stream_bytes.saturating_add(PACKET_OVERHEAD);
        let next = payload.min(self.mtu.size() as u64);
        match self
            .congestion
            .admit(now, self.flight.next_number(), next, flight)
        {
            Admission::Now => true,
            Admission::Full => false,
            Admission::Wait(until) => {
                self.paced_until = Some(until);
                false
            }
        }
    }

    /// Appends every frame that is due, and stream data up to `brim` bytes, checksum included.
    fn fill(&mut self, now: Duration, brim: usize, out: &mut Vec<u8>) -> Content {
        let mut content = Content::default();
        if self.settings == Delivery::Due {
            let (connection_id, params) = (self.local_id, self.params);
            Frame::Settings {
                connection_id,
                params,
            }
            .encode(out);
            self.settings = Delivery::InFlight;
            content.settings = true;
        }
        if self.closing.delivery == Delivery::Due
            && let Some(close) = &self.closing.own
        {
            let (code, abort) = (close.code, close.abort);
            Frame::Close {
                code,
                reason: &close.reason,
                abort,
            }
            .encode(out);
            self.closing.delivery = Delivery::InFlight;
            content.close = true;
        }
        let pings = core::mem::take(&mut self.ping_due);
        if pings {
            Frame::Ping.encode(out);
        }
        let rtt = self.flight.timer().estimator().srtt();
        while left(brim, out) >= CONTROL_LEN
            && let Some(told) = self.streams.poll_control(now, rtt, out)
        {
            content.told.push(told);
        }
        self.fill_streams(brim, out, &mut content);
        if !pings && content == Content::default() {
            Frame::Ping.encode(out); // an expiry that has nothing else to repeat
        }
        content
    }

    /// Appends pieces of streams while there is room (S5).
    fn fill_streams(&mut self, brim: usize, out: &mut Vec<u8>, content: &mut Content) {
        let number = self.flight.next_number();
        let mut room = left(brim, out);
        while let Some(chunk) = self.streams.next_chunk(room) {
            room = room.saturating_sub(frame_len(&chunk));
            let fresh = self.streams.handle_sent(number, &chunk);
            content.fills |= fresh < length(&chunk.range);
            content.chunks.push(chunk);
        }
        if !self.is_closing() {
            self.streams.announce_room_to_writers();
        }
        self.bundle(room, content);
        let last = content.chunks.len().saturating_sub(1);
        for (index, chunk) in content.chunks.iter().enumerate() {
            self.put_chunk(chunk, index == last, out);
        }
    }

    /// Adds what the packets just before carried, the newest first, while little is in flight and
    /// nothing is held back (L15).
    fn bundle(&mut self, room: usize, content: &mut Content) {
        let next = self.flight.next_number();
        let flight = self.flight.bytes();
        let thin = flight <= MOST_THIN && flight <= self.congestion.window() / 2;
        if !self.bundles || !thin || content.chunks.is_empty() {
            return;
        }
        let mut room = MOST_BUNDLED.min(room as u64);
        for number in (next.saturating_sub(LOOKS_BACK)..next).rev() {
            let is_whole = |chunk: &Chunk| self.streams.is_whole(chunk);
            for chunk in self.flight.bundle(number, room, is_whole) {
                room = room.saturating_sub(frame_len(&chunk) as u64);
                self.streams.handle_sent(next, &chunk);
                content.chunks.push(chunk);
                content.bundled = content.bundled.saturating_add(1);
            }
        }
    }

    fn put_chunk(&mut self, chunk: &Chunk, is_last: bool, out: &mut Vec<u8>) {
        let len = length(&chunk.range);
        let told = (!is_last || len < wire::LEAST_LAST).then_some(len);
        wire::put_stream_header(out, chunk.id, chunk.range.start, told, chunk.fin);
        self.streams.copy(chunk, out);
        add(&mut self.stats.stream_bytes_sent, len);
    }
}

/// How long a STREAM frame is that others follow.
fn frame_len(chunk: &Chunk) -> usize {
    let len = length(&chunk.range);
    let header = wire::stream_header_len(chunk.id, chunk.range.start, Some(len));
    header.saturating_add(usize::try_from(len).unwrap_or(usize::MAX))
}

/// What fits before the brim, beside the checksum.
fn left(brim: usize, out: &[u8]) -> usize {
    brim.saturating_sub(out.len().saturating_add(TAG_LEN))
}

/// The bytes from `begin` on.
fn written(out: &[u8], begin: usize) -> u64 {
    out.len().saturating_sub(begin) as u64
}
