//! What is in flight, what an ACK tells about it, and when something is lost.
//!
//! Two judges and no third: later packets that were acknowledged (L3, L11), and the
//! one [`RetransmitTimer`] (L4). A probe repeats, and judges nothing (L14).

mod reordering;
mod silence;
mod tail;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use smallvec::SmallVec;

use rto::{Estimator, Observer, Outcome, Progress, RetransmitTimer, Sample};

use crate::Config;
use crate::congestion::Snapshot;
use crate::ranges::length;
use crate::sender::Chunk;
use crate::streams::Told;
use crate::wire::{AckRanges, ShortNumber};
use reordering::Reordering;
use silence::Silence;
use tail::Tail;

/// So many numbers above the largest acknowledged one, an ACK asks for one itself (W11).
const MOST_UNANSWERED: u64 = 1 << 14;
/// A STREAM frame has no longer header (L15).
const MOST_STREAM_HEADER: u64 = 20;
/// Packets declared lost that are remembered, to recognise their late ACKs (L5).
const MAX_REMEMBERED: usize = 2048;

/// What an ack-eliciting packet carries, as far as it must arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Pieces of streams: one in a bulk transfer, several small ones in a packet of thin streams.
    pub(crate) chunks: SmallVec<[Chunk; 1]>,
    /// So many of them, the last ones, are repeated from packets before (L15).
    pub(crate) bundled: usize,
    pub(crate) told: Vec<Told>,
    pub(crate) settings: bool,
    pub(crate) close: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct SentPacket {
    pub(crate) number: u64,
    pub(crate) sent_at: Duration,
    /// None in a probe of the path, which congestion control does not know (L13).
    pub(crate) bytes: u64,
    pub(crate) content: Content,
    /// Its ACK, if it has one, is of numbers below (L16).
    pub(crate) acks_below: u64,
    /// The timer's expiry made it.
    pub(crate) by_timer: bool,
    /// A later packet carries its content too: only the loss of that one makes it due (L14).
    pub(crate) repeated: bool,
    /// A later packet has the pieces that it was the first to carry (L15).
    pub(crate) bundled: bool,
    /// It left with ECT(0) (E1).
    pub(crate) marked: bool,
    /// It was declared lost; an acknowledgement of it comes late (L5).
    pub(crate) declared_lost: bool,
    /// What had been delivered when it left (G3).
    pub(crate) snapshot: Snapshot,
}

impl SentPacket {
    fn is_in_a_later_one(&self) -> bool {
        self.repeated || self.bundled
    }

    /// What it is the first to carry.
    pub(crate) fn own_chunks(&self) -> &[Chunk] {
        let Content {
            chunks, bundled, ..
        } = &self.content;
        chunks
            .get(..chunks.len().saturating_sub(*bundled))
            .unwrap_or(&[])
    }

    fn is_path_probe(&self) -> bool {
        self.bytes == 0
    }
}

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

/// The packet that was acknowledged and left last.
#[derive(Copy, Clone, Debug)]
struct Newest {
    number: u64,
    rtt: Duration,
}

#[derive(Debug)]
pub(crate) struct Flight {
    packets: BTreeMap<u64, SentPacket>,
    bytes: u64,
    /// The next packet number; none is ever used again (L1).
    next: u64,
    remembered: BTreeMap<u64, SentPacket>,
    newest: Option<Newest>,
    silence: Option<Silence>,
    tail: Tail,
    reordering: Reordering,
    timer: RetransmitTimer<TimerEvents>,
    /// When the last packet that asks for an answer left.
    last_sent: Option<Duration>,
}

impl Flight {
    pub(crate) fn new(estimator: Estimator, config: &Config) -> Self {
        let events = TimerEvents {
            wanted: config.trace,
            queue: Vec::new(),
        };
        Self {
            packets: BTreeMap::new(),
            bytes: 0,
            next: 0,
            remembered: BTreeMap::new(),
            newest: None,
            silence: None,
            tail: Tail::new(config.max_ack_delay),
            reordering: Reordering::new(config.adapts_to_reordering),
            timer: RetransmitTimer::new(estimator)
                .with_limits(config.limits)
                .observed_by(events),
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

    /// The same as it travels; `None` if no packet may follow (W10).
    pub(crate) fn short_number(&self) -> Option<ShortNumber> {
        ShortNumber::new(self.next, self.largest_acked())
    }

    /// The next packet has this number, as if all before it were acknowledged.
    #[cfg(test)]
    pub(crate) fn skip_to(&mut self, number: u64) {
        self.next = number;
        self.newest = Some(Newest {
            number: number - 1,
            rtt: Duration::ZERO,
        });
    }

    /// Whether this packet is in flight.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.packets.contains_key(&number)
    }

    fn largest_acked(&self) -> Option<u64> {
        self.newest.map(|newest| newest.number)
    }

    /// Whether many packets have left since one was acknowledged, and none of them asks for that
    /// (W11).
    pub(crate) fn is_unanswered(&self) -> bool {
        let acked = self.largest_acked().unwrap_or_default();
        self.packets.is_empty() && self.next.saturating_sub(acked) >= MOST_UNANSWERED
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
        if self.packets.is_empty() {
            self.tail.begin(now);
        }
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
        ranges: &AckRanges<'_>,
    ) -> Result<Acked, &'static str> {
        if ranges.iter().any(|range| range.end > self.next) {
            return Err("an acknowledgement of a packet never sent (L9)");
        }
        let mut acked = Acked::default();
        let mut newest_sent_at = None;
        let mut oldest_sent_at: Option<Duration> = None;
        for range in ranges.iter() {
            let late = take(&mut self.remembered, range.clone());
            acked.late = acked.late.saturating_add(late.len() as u64);
            let packets = take(&mut self.packets, range.clone());
            let bytes = packets
                .iter()
                .fold(0, |sum: u64, (_, p)| sum.saturating_add(p.bytes));
            self.bytes = self.bytes.saturating_sub(bytes);
            for (number, packet) in packets.into_iter().chain(late) {
                self.measure_reordering(now, number, packet.sent_at);
                if acked.packets.is_empty() || number >= acked.largest {
                    acked.largest = number;
                    newest_sent_at = Some(packet.sent_at);
                }
                if !packet.declared_lost {
                    let sent_at =
                        oldest_sent_at.map_or(packet.sent_at, |at| at.min(packet.sent_at));
                    oldest_sent_at = Some(sent_at);
                }
                acked.packets.push(packet);
            }
        }
        let Some(sent_at) = newest_sent_at else {
            return Ok(acked); // a duplicate: the timer is not moved (5.3-1)
        };
        if self.silence.take().is_some() {
            self.packets.retain(|_, packet| !packet.is_path_probe());
        }
        self.tail.handle_acked(now, oldest_sent_at);
        let rtt = now.saturating_sub(sent_at);
        self.reordering.handle_round_trip(rtt);
        if self
            .newest
            .is_none_or(|newest| newest.number < acked.largest)
        {
            let number = acked.largest;
            self.newest = Some(Newest { number, rtt });
        }
        // Every transmission has its own number: the ACK names it (3-2), (L2).
        let sample = Sample::of_transmission(sent_at, now);
        self.find_losses(now, &mut acked);
        let progress = if self.packets.is_empty() {
            Progress::All
        } else {
            Progress::Some
        };
        acked.sample = self.timer.handle_acked(now, progress, Some(sample));
        Ok(acked)
    }

    /// A packet was acknowledged: later than one that left after it?
    fn measure_reordering(&mut self, now: Duration, number: u64, sent_at: Duration) {
        let Some(newest) = self.newest.filter(|newest| number < newest.number) else {
            return;
        };
        let distance = newest.number.saturating_sub(number);
        let expected = sent_at.saturating_add(newest.rtt);
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
        let (number, earliest) = self.packets.first_key_value()?;
        let overtaken = *number < newest.number;
        overtaken.then(|| earliest.sent_at.saturating_add(self.patience(newest.rtt)))
    }

    /// The patience with overtaken packets is over.
    pub(crate) fn handle_loss_deadline(&mut self, now: Duration) -> Option<Acked> {
        let is_due = |it: &Self| it.loss_deadline().is_some_and(|at| at <= now);
        if !is_due(self) {
            return None;
        }
        let mut acked = Acked::default();
        while is_due(self) {
            self.find_losses(now, &mut acked); // whose recovery may end the patience with others
        }
        if self.packets.is_empty() {
            self.timer.stop(now); // (5.2-1)
        }
        Some(acked)
    }

    fn find_losses(&mut self, now: Duration, acked: &mut Acked) {
        let Some(Newest {
            number: newest,
            rtt,
        }) = self.newest
        else {
            return;
        };
        let far = newest
            .saturating_add(1)
            .saturating_sub(self.reordering.packets()); // (L3)
        acked.lost_by_number = far;
        let patience = self.patience(rtt);
        let awaited = |number: u64, packet: &SentPacket| {
            number >= far && packet.sent_at.saturating_add(patience) > now // (L11)
        };
        let mut overtaken = self.packets.range(..newest);
        let end = overtaken.find(|(number, packet)| awaited(**number, packet));
        let end = end.map_or(newest, |(number, _)| *number);
        for (number, packet) in take(&mut self.packets, 0..end) {
            if packet.is_path_probe() {
                continue; // made to be lost
            }
            acked.largest_lost = number;
            acked.lost.push(packet.clone());
            self.bytes = self.bytes.saturating_sub(packet.bytes);
            self.remember(number, packet);
        }
    }

    /// A packet is declared lost (L5).
    fn remember(&mut self, number: u64, mut packet: SentPacket) {
        self.reordering.handle_loss(number, self.next);
        packet.declared_lost = true;
        self.remembered.insert(number, packet);
        if self.remembered.len() > MAX_REMEMBERED {
            self.remembered.pop_first();
        }
    }

    /// After an `rto` ran out, takes the packet whose contents are to be sent again: among
    /// those that left so long ago, the one with the lowest `rank` (5.4-1), (L4).
    pub(crate) fn handle_expiry(
        &mut self,
        now: Duration,
        rto: Duration,
        rank: impl Fn(&Content) -> u64,
    ) -> Option<SentPacket> {
        self.silence
            .get_or_insert_with(|| Silence::begin(now))
            .ask(now);
        // What left after the timer was armed has not had its RTO yet (5-1).
        let young = |packet: &SentPacket| packet.sent_at.saturating_add(rto) > now;
        let first_young = self.packets.iter().find(|(_, packet)| young(packet));
        let end = first_young.map_or(self.next, |(number, _)| *number);
        let candidates = self.packets.range(..end);
        let candidates =
            candidates.filter(|(_, packet)| !packet.is_path_probe() && !packet.is_in_a_later_one());
        let earliest = candidates.min_by_key(|(_, packet)| rank(&packet.content));
        let number = earliest.map(|(number, _)| *number)?;
        let packet = self.packets.remove(&number)?;
        self.bytes = self.bytes.saturating_sub(packet.bytes);
        self.remember(number, packet.clone());
        Some(packet)
    }

    /// What packet `number` was the first to carry, if that is nothing but pieces of which the peer
    /// lacks all, of `most` bytes together: the next packet repeats it (L15).
    pub(crate) fn bundle(
        &mut self,
        number: u64,
        most: u64,
        is_whole: impl Fn(&Chunk) -> bool,
    ) -> SmallVec<[Chunk; 1]> {
        let Some(packet) = self.packets.get_mut(&number) else {
            return SmallVec::new();
        };
        let own = packet.own_chunks();
        let bytes = own.iter().fold(0, |sum: u64, chunk| {
            let frame = length(&chunk.range).saturating_add(MOST_STREAM_HEADER);
            sum.saturating_add(frame)
        });
        let Content {
            told,
            settings,
            close,
            ..
        } = &packet.content;
        let more = !told.is_empty() || *settings || *close || packet.repeated;
        if more || bytes > most || !own.iter().all(is_whole) {
            return SmallVec::new();
        }
        let own: SmallVec<_> = own.into();
        packet.bundled = !own.is_empty();
        own
    }

    /// What is to be repeated next if nothing arrives, and when (L14).
    fn tail(&self) -> Option<(u64, Duration)> {
        let srtt = self.timer.estimator().srtt()?;
        let mut packets = self.packets.iter().filter(|_| self.silence.is_none());
        let waits = |packet: &SentPacket| {
            !packet.is_in_a_later_one() && packet.content != Content::default()
        };
        let (number, oldest) = packets.find(|(_, packet)| waits(packet))?;
        let window = self.reordering.window(srtt);
        let deadline = self.tail.deadline(oldest.sent_at, srtt, window)?;
        Some((*number, deadline))
    }

    pub(crate) fn tail_deadline(&self) -> Option<Duration> {
        self.tail().map(|(_, deadline)| deadline)
    }

    /// The number of a packet whose content is to be repeated since it is time; it stays in flight.
    pub(crate) fn handle_tail_deadline(&mut self, now: Duration) -> Option<(u64, Content)> {
        let (number, _) = self.tail().filter(|(_, deadline)| *deadline <= now)?;
        self.tail.handle_probe(now);
        let packet = self.packets.get_mut(&number)?;
        packet.repeated = true;
        Some((number, packet.content.clone()))
    }

    /// When to ask whether a silent path is back (L13).
    pub(crate) fn path_probe_deadline(&self) -> Option<Duration> {
        let srtt = self.timer.estimator().srtt()?;
        let silence = self.silence.filter(|_| self.has_content())?;
        Some(silence.deadline(srtt))
    }

    /// Whether to probe the path, since it is time.
    pub(crate) fn handle_path_probe_deadline(&mut self, now: Duration) -> bool {
        let is_due = self.path_probe_deadline().is_some_and(|at| at <= now);
        if let Some(silence) = self.silence.as_mut().filter(|_| is_due) {
            silence.ask(now);
        }
        is_due
    }

    /// Whether to probe the path at once, since the peer was heard in the silence.
    pub(crate) fn handle_heard(&mut self, now: Duration) -> bool {
        let waits = self.has_content();
        let silence = self.silence.as_mut().filter(|_| waits);
        silence.is_some_and(|silence| silence.hear(now))
    }

    /// Whether anything in flight must arrive.
    fn has_content(&self) -> bool {
        let mut packets = self.packets.values();
        packets.any(|packet| packet.content != Content::default())
    }

    /// Forgets everything in flight: nobody waits for it any more.
    pub(crate) fn give_up(&mut self, now: Duration) {
        self.packets.clear();
        self.remembered.clear();
        self.silence = None;
        self.bytes = 0;
        self.timer.stop(now);
    }
}

/// Takes the packets of a range of numbers out of a map.
fn take(map: &mut BTreeMap<u64, SentPacket>, range: Range<u64>) -> Vec<(u64, SentPacket)> {
    map.extract_if(range, |_, _| true).collect()
}

#[cfg(test)]
mod tests;
