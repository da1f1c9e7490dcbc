//! What leaves again while it may still arrive: by the timer (L4), in bundles (L15), when its ACK is
//! overdue (L14) or a Hello asks for it (H13); and probes of a silent path (L13).

use core::time::Duration;

use smallvec::SmallVec;

use super::Flight;
use super::packet::{Content, SentPacket};
use super::sent::MOST_PROBES;
use super::silence::Silence;
use crate::ranges::length;
use crate::sender::Chunk;

/// A STREAM frame has no longer header (L15).
const MOST_STREAM_HEADER: u64 = 20;

impl Flight {
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
        let had_its_rto = |packet: &SentPacket| packet.is_older(rto, now);
        self.sent.sweep(MOST_PROBES);
        let sent = self.sent.in_flight();
        let candidates = sent.take_while(|packet| had_its_rto(packet));
        let candidates =
            candidates.filter(|packet| !packet.is_path_probe() && !packet.is_in_a_later_one());
        let earliest = candidates.min_by_key(|packet| rank(&packet.content))?;
        let packet = self.sent.lose(earliest.number)?;
        self.reordering.handle_loss(packet.number, self.next);
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
        let bundled = self.sent.update(number, |packet| {
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
        });
        bundled.unwrap_or_default()
    }

    /// What is to be repeated next if nothing arrives, and when (L14).
    fn tail(&self) -> Option<(u64, Duration)> {
        let srtt = self.timer.estimator().srtt().or(self.tail.guess);
        let oldest = self.sent.oldest_waiting();
        let oldest = oldest.filter(|_| self.silence.is_none())?;
        let window = srtt.map(|srtt| self.reordering.tail_window(srtt));
        let window = window.unwrap_or_default();
        let deadline = self.tail.deadline(oldest, srtt, window)?;
        Some((oldest.number, deadline))
    }

    /// The SETTINGS came so long after the last Hello. That may have been an earlier one's round trip,
    /// so it is no sample, but says enough of when to repeat (L14).
    pub(crate) fn guess_rtt(&mut self, since_hello: Duration) {
        self.tail.guess = Some(since_hello);
    }

    pub(crate) fn tail_deadline(&self) -> Option<Duration> {
        self.tail().map(|(_, deadline)| deadline)
    }

    /// The number of a packet whose content is to be repeated since it is time; it stays in flight.
    pub(crate) fn handle_tail_deadline(&mut self, now: Duration) -> Option<(u64, Content)> {
        let (number, _) = self.tail().filter(|(_, deadline)| *deadline <= now)?;
        self.tail.handle_probe(now);
        self.repeat(number)
    }

    /// The same of the packet that carried the SETTINGS last, which a Hello asks for again (H13), and
    /// whether it was sent again already.
    pub(crate) fn repeat_settings(&mut self) -> Option<(u64, Content, bool)> {
        let is_last = |packet: &&SentPacket| packet.content.settings && !packet.repeated;
        let last = self.sent.in_flight().find(is_last)?;
        let again = last.by_timer;
        let (number, content) = self.repeat(last.number)?;
        Some((number, content, again))
    }

    fn repeat(&mut self, number: u64) -> Option<(u64, Content)> {
        self.sent.update(number, |packet| {
            packet.repeated = true;
            (number, packet.content.clone())
        })
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
    pub(super) fn has_content(&self) -> bool {
        let mut packets = self.sent.in_flight();
        packets.any(|packet| packet.content != Content::default())
    }
}
