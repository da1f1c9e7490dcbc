//! What is in flight, what an ACK tells about it, and when something is lost.
//!
//! Two judges and no third: later packets that were acknowledged (L3), and the
//! one [`RetransmitTimer`] (L4).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use rto::{Estimator, Expiry, Observer, Outcome, Progress, RetransmitTimer, Sample, Timeout};

use crate::congestion::Snapshot;
use crate::sender::Chunk;

/// Packets declared lost that are remembered, to recognise their late ACKs (L5).
const MAX_REMEMBERED: usize = 2048;

/// What an ack-eliciting packet carries, as far as it must arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) stream: Option<Chunk>,
    pub(crate) max_data: Option<u64>,
    pub(crate) settings: bool,
    pub(crate) close: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct SentPacket {
    pub(crate) sent_at: Duration,
    pub(crate) bytes: u64,
    pub(crate) content: Content,
    /// The timer's expiry made it.
    pub(crate) by_timer: bool,
    /// It was declared lost; an acknowledgement of it comes late (L5).
    pub(crate) declared_lost: bool,
    /// What had been delivered when it left (G3).
    pub(crate) snapshot: Snapshot,
}

/// What one ACK brought.
#[derive(Debug, Default)]
pub(crate) struct Acked {
    /// The newly acknowledged packets, late ones included.
    pub(crate) packets: Vec<SentPacket>,
    /// The highest number among them.
    pub(crate) largest: u64,
    /// How many of them had been declared lost (L5).
    pub(crate) late: u64,
    /// Packets this ACK shows to be lost (L3), and their highest number.
    pub(crate) lost: Vec<SentPacket>,
    pub(crate) largest_lost: u64,
    /// How many of those later packets alone prove lost, without an expiry's help.
    pub(crate) overtaken: u32,
    /// What the estimator made of its round trip.
    pub(crate) sample: Option<Outcome>,
}

/// What the timer told since it was last asked; nothing unless somebody wants to know.
#[derive(Debug)]
pub(crate) struct TimerEvents {
    wanted: bool,
    queue: Vec<(Duration, rto::Event)>,
}

impl Observer for TimerEvents {
    fn observe(&mut self, now: Duration, event: rto::Event) {
        self.queue.push((now, event));
    }

    fn listens(&self) -> bool {
        self.wanted
    }
}

/// After an expiry: once a packet from `after` on is acknowledged, those below
/// `old` are lost, for they left at least an RTO before it (L3).
#[derive(Copy, Clone, Debug)]
struct Expired {
    after: u64,
    old: u64,
}

#[derive(Debug)]
pub(crate) struct Flight {
    packets: BTreeMap<u64, SentPacket>,
    bytes: u64,
    /// The next packet number; none is ever used again (L1).
    next: u64,
    remembered: BTreeMap<u64, SentPacket>,
    /// How many packets later an acknowledged one must be to prove a loss.
    reordering_threshold: u64,
    timer: RetransmitTimer<TimerEvents>,
    expired: Option<Expired>,
    /// When the last packet that asks for an answer left.
    last_sent: Option<Duration>,
}

impl Flight {
    pub(crate) fn new(estimator: Estimator, tracing: bool) -> Self {
        let events = TimerEvents {
            wanted: tracing,
            queue: Vec::new(),
        };
        Self {
            packets: BTreeMap::new(),
            bytes: 0,
            next: 0,
            remembered: BTreeMap::new(),
            reordering_threshold: 3,
            timer: RetransmitTimer::new(estimator).observed_by(events),
            expired: None,
            last_sent: None,
        }
    }

    /// Whether nothing is in flight and nothing left for an RTO: what the window knows of the
    /// path is old (L10).
    pub(crate) fn is_idle(&self, now: Duration) -> bool {
        let rto = self.timer.estimator().rto();
        let old = |sent: Duration| sent.saturating_add(rto) <= now;
        self.packets.is_empty() && self.last_sent.is_some_and(old)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    pub(crate) fn timer(&self) -> &RetransmitTimer<TimerEvents> {
        &self.timer
    }

    /// Takes what the timer told.
    pub(crate) fn timer_events(&mut self) -> impl Iterator<Item = (Duration, rto::Event)> {
        self.timer.observer_mut().queue.drain(..)
    }

    /// The handshake, which has no packet numbers, uses the timer directly (H1).
    pub(crate) fn timer_mut(&mut self) -> &mut RetransmitTimer<TimerEvents> {
        &mut self.timer
    }

    /// The packet [`next_number`](Self::next_number) left; `None` for one that
    /// nobody will acknowledge.
    pub(crate) fn handle_sent(&mut self, now: Duration, packet: Option<SentPacket>) {
        let number = self.next;
        self.next = number.saturating_add(1);
        let Some(packet) = packet else {
            return;
        };
        if packet.by_timer {
            self.timer.handle_retransmitted(now); // the new RTO counts from here (5.6-1)
        } else {
            self.timer.handle_sent(now); // (5.1-1)
        }
        self.last_sent = Some(now);
        self.bytes = self.bytes.saturating_add(packet.bytes);
        self.packets.insert(number, packet);
    }

    /// Takes the ranges of an ACK, newest first.
    ///
    /// # Errors
    /// One of them was never sent (L9).
    pub(crate) fn handle_ack(
        &mut self,
        now: Duration,
        ranges: &[Range<u64>],
    ) -> Result<Acked, &'static str> {
        if ranges.first().is_some_and(|newest| newest.end > self.next) {
            return Err("an acknowledgement of a packet never sent (L9)");
        }
        let mut acked = Acked::default();
        let mut newest_sent_at = None;
        for range in ranges {
            let packets = take(&mut self.packets, range.clone());
            let bytes = packets
                .iter()
                .fold(0, |sum: u64, (_, p)| sum.saturating_add(p.bytes));
            self.bytes = self.bytes.saturating_sub(bytes);
            let late = take(&mut self.remembered, range.clone());
            acked.late = acked.late.saturating_add(late.len() as u64);
            for (number, packet) in packets.into_iter().chain(late) {
                if acked.packets.is_empty() || number >= acked.largest {
                    acked.largest = number;
                    newest_sent_at = Some(packet.sent_at);
                }
                acked.packets.push(packet);
            }
        }
        let Some(sent_at) = newest_sent_at else {
            return Ok(acked); // a duplicate: the timer is not moved (5.3-1)
        };
        self.detect_losses(&mut acked);
        let progress = if self.packets.is_empty() {
            Progress::All
        } else {
            Progress::Some
        };
        // Every transmission has its own number: the ACK names it (3-2), (L2).
        let sample = Sample::of_transmission(sent_at, now);
        acked.sample = self.timer.handle_acked(now, progress, Some(sample));
        Ok(acked)
    }

    fn detect_losses(&mut self, acked: &mut Acked) {
        let overtaken = acked
            .largest
            .saturating_add(1)
            .saturating_sub(self.reordering_threshold);
        let expired = self
            .expired
            .take_if(|expired| acked.largest >= expired.after);
        let old = expired.map_or(0, |expired| expired.old);
        for (number, packet) in take(&mut self.packets, 0..overtaken.max(old)) {
            acked.largest_lost = number; // (L3)
            acked.overtaken = acked.overtaken.saturating_add(u32::from(number >= old));
            acked.lost.push(packet.clone());
            self.bytes = self.bytes.saturating_sub(packet.bytes);
            self.remember(number, packet);
        }
    }

    fn remember(&mut self, number: u64, mut packet: SentPacket) {
        packet.declared_lost = true;
        self.remembered.insert(number, packet);
        if self.remembered.len() > MAX_REMEMBERED {
            self.remembered.pop_first(); // (L5)
        }
    }

    /// The expiry of the timer, if it is due; it has no limits, so it never gives up.
    pub(crate) fn expire(&mut self, now: Duration) -> Option<Expiry> {
        match self.timer.handle_timeout(now)? {
            Timeout::Retransmit(expiry) => Some(expiry),
            Timeout::GiveUp(_) => None,
        }
    }

    /// On expiry takes the packet whose contents are to be sent again: among
    /// those that left an RTO ago, the one with the lowest `rank` (5.4-1), (L4).
    pub(crate) fn handle_timeout(
        &mut self,
        now: Duration,
        rank: impl Fn(&Content) -> u64,
    ) -> Option<(Expiry, Option<SentPacket>)> {
        let expiry = self.expire(now)?;
        // What left after the timer was armed has not had its RTO yet (5-1).
        let young = |packet: &SentPacket| packet.sent_at.saturating_add(expiry.rto) > now;
        let first_young = self.packets.iter().find(|(_, packet)| young(packet));
        let end = first_young.map_or(self.next, |(number, _)| *number);
        self.expired = Some(Expired {
            after: self.next,
            old: end,
        });
        let candidates = self.packets.range(..end);
        let earliest = candidates.min_by_key(|(_, packet)| rank(&packet.content));
        let number = earliest.map(|(number, _)| *number);
        let packet = number.and_then(|number| self.packets.remove(&number));
        if let (Some(number), Some(packet)) = (number, &packet) {
            self.bytes = self.bytes.saturating_sub(packet.bytes);
            self.remember(number, packet.clone());
        }
        Some((expiry, packet))
    }

    /// Forgets everything in flight: nobody waits for it any more.
    pub(crate) fn give_up(&mut self, now: Duration) {
        self.packets.clear();
        self.remembered.clear();
        self.bytes = 0;
        self.timer.stop(now);
    }
}

/// Takes the packets of a range of numbers out of a map.
fn take(map: &mut BTreeMap<u64, SentPacket>, range: Range<u64>) -> Vec<(u64, SentPacket)> {
    map.extract_if(range, |_, _| true).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rto::Config;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn packet(sent_at: Duration, offset: u64) -> SentPacket {
        let chunk = Chunk {
            range: offset..offset.saturating_add(10),
            fin: false,
        };
        let content = Content {
            stream: Some(chunk),
            ..Content::default()
        };
        SentPacket {
            sent_at,
            bytes: 100,
            content,
            by_timer: false,
            declared_lost: false,
            snapshot: Snapshot::default(),
        }
    }

    fn rank(content: &Content) -> u64 {
        content
            .stream
            .as_ref()
            .map_or(u64::MAX, |chunk| chunk.range.start)
    }

    /// Packets 0, 1, 2, ... that left at these times, with ascending offsets.
    fn flight(sent: &[u64]) -> Flight {
        let estimator = Estimator::new(Config::RFC6298).unwrap();
        let mut flight = Flight::new(estimator, false);
        for (index, at) in sent.iter().enumerate() {
            flight.handle_sent(ms(*at), Some(packet(ms(*at), 10 * index as u64)));
        }
        flight
    }

    fn ack(flight: &mut Flight, at: u64, range: Range<u64>) -> Acked {
        flight.handle_ack(ms(at), &[range]).unwrap()
    }

    #[test]
    fn three_packets_later_is_lost_and_two_are_not() {
        let mut flight = flight(&[0; 5]);
        assert!(ack(&mut flight, 50, 2..3).lost.is_empty());
        let acked = ack(&mut flight, 50, 4..5);
        assert_eq!((acked.lost.len(), acked.largest_lost), (2, 1));
        assert_eq!(flight.bytes(), 100, "packet 3 is still out");
    }

    #[test]
    fn a_late_ack_is_recognised_once_and_gives_a_sample() {
        let mut flight = flight(&[0; 5]);
        ack(&mut flight, 50, 4..5);
        let late = ack(&mut flight, 70, 0..1);
        assert_eq!(late.late, 1);
        assert_eq!(late.sample, Some(Outcome::Accepted));
        let srtt = flight.timer().estimator().srtt();
        assert_eq!(srtt, Some((ms(50) * 7 + ms(70)) / 8));
        let again = ack(&mut flight, 80, 0..1);
        assert!(again.late == 0 && again.sample.is_none() && again.packets.is_empty());
    }

    #[test]
    fn a_duplicate_moves_no_deadline() {
        let mut flight = flight(&[0; 6]);
        ack(&mut flight, 50, 4..5);
        let armed = flight.timer().poll_timeout();
        ack(&mut flight, 60, 4..5);
        assert_eq!(flight.timer().poll_timeout(), armed);
        ack(&mut flight, 70, 2..3);
        assert_ne!(flight.timer().poll_timeout(), armed);
    }

    #[test]
    fn a_flight_is_idle_an_rto_after_its_last_packet() {
        let mut flight = flight(&[0]);
        ack(&mut flight, 50, 0..1);
        assert!(!flight.is_idle(ms(999)) && flight.is_idle(ms(1_000)));
    }

    #[test]
    fn an_expiry_takes_the_lowest_offset_of_what_left_an_rto_ago() {
        let mut flight = flight(&[0, 0]);
        let stale = packet(ms(1), 5); // a lower offset than packet 1, and sent later
        flight.handle_sent(ms(1), Some(stale));
        ack(&mut flight, 2, 0..1); // arms the timer again
        flight.handle_sent(ms(3), Some(packet(ms(3), 0))); // lower still, but too young
        assert!(flight.handle_timeout(ms(1_001), rank).is_none(), "early");
        let (expiry, taken) = flight.handle_timeout(ms(1_002), rank).unwrap();
        let taken = taken.unwrap();
        assert_eq!(
            (expiry.rto, taken.sent_at, rank(&taken.content)),
            (ms(1_000), ms(1), 5)
        );
    }

    #[test]
    fn an_ack_of_what_followed_an_expiry_proves_what_came_an_rto_before_it_lost() {
        let mut flight = flight(&[0, 0, 900]);
        flight.handle_timeout(ms(1_000), rank).unwrap();
        flight.handle_sent(ms(1_000), Some(packet(ms(1_000), 0)));
        let acked = ack(&mut flight, 1_050, 3..4);
        assert_eq!(acked.lost.len(), 1, "packet 1, and not packet 2");
        assert_eq!(acked.overtaken, 0, "it took the expiry to prove it");
        assert_eq!(flight.bytes(), 100);
    }

    #[test]
    fn the_rto_after_an_expiry_counts_from_the_repetition() {
        let mut flight = flight(&[0]);
        flight.handle_timeout(ms(1_000), rank).unwrap();
        let repetition = SentPacket {
            by_timer: true,
            ..packet(ms(1_007), 0)
        };
        flight.handle_sent(ms(1_007), Some(repetition));
        assert_eq!(flight.timer().poll_timeout(), Some(ms(3_007)));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let count = 5_000_u64;
        let mut flight = flight(&[0; 5_000]);
        let acked = ack(&mut flight, 50, count - 1..count);
        assert_eq!(acked.lost.len(), 4_997);
        assert_eq!(flight.remembered.len(), MAX_REMEMBERED);
    }
}
