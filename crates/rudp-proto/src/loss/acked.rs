//! What an ACK brought, and what it shows to be lost.

use alloc::vec::Vec;
use core::time::Duration;

use rto::{Outcome, Progress, Sample};

use super::packet::SentPacket;
use super::{Flight, Newest};
use crate::wire::{Ack, AckRanges};

/// What one ACK brought, or the end of the patience with what it overtook.
#[derive(Debug, Default)]
pub(crate) struct Acked {
    /// The newly acknowledged packets, late ones included.
    pub(crate) packets: Vec<SentPacket>,
    /// The highest number among them.
    pub(crate) largest: u64,
    /// How many of them had been declared lost (L5).
    pub(crate) late: u64,
    /// Packets shown to be lost (L3, L11), and their highest number.
    pub(crate) lost: Vec<SentPacket>,
    pub(crate) largest_lost: u64,
    /// Those below this number are by numbers (L3), the others by time (L11).
    pub(crate) lost_by_number: u64,
    /// How many more packets the network has marked (E4).
    pub(crate) ce: u64,
    /// What the estimator made of its round trip.
    pub(crate) sample: Option<Outcome>,
}

impl Flight {
    /// Takes the ranges of an ACK, newest first; `in_order`: of the peer's packets since the last ACK,
    /// none is missing, so that no ACK before it was lost.
    ///
    /// # Errors
    /// One of them was never sent (L9).
    pub(crate) fn handle_ack(
        &mut self,
        now: Duration,
        ranges: &AckRanges<'_>,
        in_order: bool,
    ) -> Result<Acked, &'static str> {
        if ranges.iter().any(|range| range.end > self.next) {
            return Err("an acknowledgement of a packet never sent (L9)");
        }
        let mut acked = core::mem::take(&mut self.spare);
        for range in ranges.iter() {
            self.sent.take(&range, &mut acked.packets);
        }
        for packet in &acked.packets {
            self.measure_reordering(now, packet);
        }
        let newest = acked.packets.iter().max_by_key(|packet| packet.number);
        let Some((number, sent_at)) = newest.map(|packet| (packet.number, packet.sent_at)) else {
            return Ok(acked); // a duplicate: the timer is not moved (5.3-1)
        };
        acked.largest = number;
        let in_time = acked.packets.iter().filter(|packet| !packet.declared_lost);
        let oldest = in_time.clone().map(|packet| packet.sent_at).min();
        let late = acked.packets.len().saturating_sub(in_time.count());
        acked.late = late as u64;
        if self.silence.take().is_some() {
            self.sent.sweep(0);
        }
        let rtt = now.saturating_sub(sent_at);
        let is_behind = |it: &SentPacket| oldest.is_some_and(|oldest| it.sent_at < oldest);
        let gaps = !in_order || self.sent.oldest().is_some_and(is_behind);
        self.tail.handle_acked(now, oldest, rtt, gaps);
        self.reordering.handle_round_trip(rtt);
        if self.largest_acked().is_none_or(|largest| largest < number) {
            self.newest = Some(Newest {
                number,
                sent_at,
                rtt,
            });
        }
        // Every transmission has its own number: the ACK names it (3-2), (L2).
        let sample = Sample::of_transmission(sent_at, now);
        self.find_losses(now, &mut acked);
        let progress = if self.is_empty() {
            Progress::All
        } else {
            Progress::Some
        };
        acked.sample = self.timer.handle_acked(now, progress, Some(sample));
        Ok(acked)
    }

    /// The sender of an ACK had the newest packet there for so long, and nothing of what left within
    /// that time after it; whatever it says, nothing is missing before the shortest round trip (L14).
    pub(crate) fn handle_ack_delay(&mut self, now: Duration, ack: &Ack<'_>) {
        let Some(newest) = self.newest else {
            return;
        };
        let largest = ack.ranges.iter().next().map(|range| range.end);
        let is_largest = |(number, _): &&(u64, _)| largest == Some(number.saturating_add(1));
        // What left later than the newest did asked for no answer, or its answer is on its way.
        let bare = self.bare.iter().flatten().find(is_largest);
        if largest > Some(newest.number) {
            let left_at = bare.map_or(newest.sent_at, |(_, left_at)| *left_at);
            let missing = left_at.saturating_add(ack.delay);
            let heard = self.reordering.latest_heard(now);
            let patience = self.reordering.one_way(newest.rtt);
            self.tail
                .handle_missing(missing.min(heard).saturating_sub(patience));
        }
    }

    /// The memory of an ACK that was answered serves the next one.
    pub(crate) fn recycle(&mut self, acked: Acked) {
        let (mut packets, mut lost) = (acked.packets, acked.lost);
        packets.clear();
        lost.clear();
        self.spare = Acked {
            packets,
            lost,
            ..Acked::default()
        };
    }

    /// A packet was acknowledged: later than one that left after it?
    fn measure_reordering(&mut self, now: Duration, packet: &SentPacket) {
        let is_before = |newest: &Newest| packet.number < newest.number;
        let Some(newest) = self.newest.filter(is_before) else {
            return;
        };
        let distance = newest.number.saturating_sub(packet.number);
        let expected = packet.sent_at.saturating_add(newest.rtt);
        self.reordering
            .handle_reordered(distance, now.saturating_sub(expected));
    }

    /// How long after its departure an overtaken packet is awaited (L11).
    fn patience(&self, rtt: Duration) -> Duration {
        let srtt = self.timer.estimator().srtt().unwrap_or(rtt);
        rtt.saturating_add(self.reordering.window(srtt))
    }

    /// When the earliest packet in flight is lost if nothing arrives; `None` while none
    /// that left later was acknowledged (L11).
    pub(crate) fn loss_deadline(&self) -> Option<Duration> {
        let newest = self.newest?;
        let earliest = self.sent.oldest()?;
        let overtaken = earliest.number < newest.number;
        overtaken.then(|| earliest.sent_at.saturating_add(self.patience(newest.rtt)))
    }

    /// The patience with overtaken packets is over.
    pub(crate) fn handle_loss_deadline(&mut self, now: Duration) -> Option<Acked> {
        let is_due = |it: &Self| it.loss_deadline().is_some_and(|at| at <= now);
        if !is_due(self) {
            return None;
        }
        let mut acked = core::mem::take(&mut self.spare);
        while is_due(self) {
            self.find_losses(now, &mut acked); // whose recovery may end the patience with others
        }
        if self.is_empty() {
            self.timer.stop(now); // (5.2-1)
        }
        Some(acked)
    }

    fn find_losses(&mut self, now: Duration, acked: &mut Acked) {
        let Some(newest) = self.newest else {
            return;
        };
        let beyond = newest.number.saturating_add(1);
        let far = beyond.saturating_sub(self.reordering.packets()); // (L3)
        acked.lost_by_number = far;
        let patience = self.patience(newest.rtt);
        let is_lost = |packet: &&SentPacket| {
            let number = packet.number;
            number < newest.number && (number < far || packet.is_older(patience, now)) // (L11)
        };
        while let Some(number) = self.sent.oldest().filter(is_lost).map(|it| it.number)
            && let Some(packet) = self.sent.lose(number)
        {
            if packet.is_path_probe() {
                continue; // made to be lost
            }
            self.reordering.handle_loss(number, self.next);
            acked.largest_lost = number;
            acked.lost.push(packet);
        }
        self.sent.forget_below(newest.number);
    }
}
