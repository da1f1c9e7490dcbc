//! What an ACK says of what this side sent.

use core::time::Duration;

use rto::Outcome;

use super::{Connection, Delivery};
use crate::congestion::Surroundings;
use crate::loss::{Acked, Content};
use crate::receiver::Unacceptable;
use crate::stats::add;
use crate::trace::Step;
use crate::wire::Ack;

impl Connection {
    /// What the peer says of our packets.
    pub(super) fn handle_ack(&mut self, now: Duration, ack: &Ack<'_>) -> Result<(), Unacceptable> {
        let ranges = &ack.ranges;
        let flight = self.flight.bytes();
        let covers = |number: u64| ranges.iter().any(|range| range.contains(&number));
        if self.mtu.probe_number().is_some_and(covers) {
            self.mtu.handle_probe_acked();
        }
        let in_order = !core::mem::take(&mut self.peer_gap);
        let acked = self.flight.handle_ack(now, ranges, in_order);
        let mut acked = acked.map_err(Unacceptable::Violation)?;
        let marked = acked.packets.iter().filter(|packet| packet.marked);
        self.flight.handle_ack_delay(now, ack);
        if !acked.packets.is_empty() {
            let (largest, marked) = (acked.largest, marked.count() as u64);
            acked.ce = self.ecn_path.handle_ack(largest, marked, self.peer_marks);
            add(&mut self.stats.ecn_marked, acked.ce);
        }
        self.handle_acked(now, flight, acked);
        Ok(())
    }

    /// Packets were acknowledged while `flight` bytes were out, or the patience with what they
    /// overtook is over.
    pub(super) fn handle_acked(&mut self, now: Duration, flight: u64, acked: Acked) {
        for packet in &acked.packets {
            self.acks.handle_acked(packet.number, &packet.told);
            self.mtu.handle_acked(packet.sent_at, packet.bytes);
            self.handle_content_acked(&packet.content);
        }
        let around = Surroundings {
            flight_before: flight,
            flight: self.flight.bytes(),
            next: self.flight.next_number(),
            srtt: self.flight.timer().estimator().srtt(),
        };
        let undone_before = self.congestion.undone();
        self.retransmission_due |= self.congestion.handle_acked(now, &acked, around);
        self.trace_judged(now, &acked);
        if !acked.lost.is_empty() {
            let packets = acked.lost.len() as u64;
            add(&mut self.stats.packets_lost, packets);
            let marked = acked.lost.iter().filter(|packet| packet.marked).count();
            self.ecn_path.handle_lost(marked as u64);
            add(&mut self.stats.fast_retransmits, 1);
            let packets = u32::try_from(packets).unwrap_or(u32::MAX);
            self.trace(now, Step::FastRetransmit { packets });
        }
        let flight = &self.flight;
        if self
            .mtu
            .probe_number()
            .is_some_and(|number| !flight.has(number))
        {
            self.mtu.handle_probe_lost();
        }
        for packet in &acked.lost {
            self.mtu.handle_lost(now, packet.sent_at, packet.bytes);
        }
        for packet in acked.lost.iter().filter(|packet| !packet.repeated) {
            self.handle_content_lost(packet.number, &packet.content);
        }
        add(&mut self.stats.spurious_losses, acked.late);
        if acked.late > 0 {
            let step = Step::SpuriousLoss {
                packets: acked.late,
                undone: self.congestion.undone() > undone_before,
            };
            self.trace(now, step);
        }
        self.events.unanswered &= acked.sample.is_none(); // only what is new gives one (K10)
        self.count_sample(acked.sample);
        self.flight.recycle(acked);
        self.streams.set_window(self.congestion.window());
        if !self.is_closing() {
            self.streams.announce_room();
        }
        self.conclude_if_delivered();
    }

    fn handle_content_acked(&mut self, content: &Content) {
        for chunk in &content.chunks {
            let fresh = self.streams.handle_acked(chunk);
            add(&mut self.stats.stream_bytes_acked, fresh);
            if fresh > 0 {
                self.closing.put_off(); // (K3)
            }
        }
        for told in &content.told {
            self.streams.handle_told(*told);
        }
        if content.settings {
            self.settings = Delivery::Acked;
        }
        if content.close {
            self.handle_close_acked();
        }
    }

    /// What a lost packet carried and is still needed becomes due again.
    pub(super) fn handle_content_lost(&mut self, number: u64, content: &Content) {
        for chunk in &content.chunks {
            self.streams.handle_lost(number, chunk);
        }
        for told in &content.told {
            self.streams.handle_told_lost(*told);
        }
        if content.settings && self.settings == Delivery::InFlight {
            self.settings = Delivery::Due;
        }
        if content.close && self.closing.delivery == Delivery::InFlight {
            self.closing.delivery = Delivery::Due;
        }
    }

    pub(super) fn count_sample(&mut self, outcome: Option<Outcome>) {
        if let Some(Outcome::First | Outcome::Accepted) = outcome {
            add(&mut self.stats.samples, 1);
        }
    }
}
