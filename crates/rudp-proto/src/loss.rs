//! What is in flight, what an ACK tells about it, and when something is lost.
//!
//! Two judges and no third: later packets that were acknowledged (L3, L11), and the
//! one [`RetransmitTimer`] (L4). A probe repeats, and judges nothing (L14).
//!
//! [`acked`] takes ACKs and finds losses, [`repeating`] chooses what leaves again, [`sent`] keeps
//! the packets.

mod acked;
mod packet;
mod reordering;
mod repeating;
mod sent;
mod silence;
mod tail;

use alloc::vec::Vec;
use core::time::Duration;

use rto::{Estimator, Observer, RetransmitTimer};

use crate::Config;
use crate::wire::ShortNumber;
pub(crate) use acked::Acked;
pub(crate) use packet::{Content, SentPacket};
use reordering::Reordering;
use sent::{KEPT, Sent};
use silence::Silence;
use tail::Tail;

/// So many numbers above the largest acknowledged one, an ACK asks for one itself (W11).
const MOST_UNANSWERED: u64 = 1 << 14;
/// Packets that ask for no answer of which it is remembered when they left (L14).
const MOST_BARE: usize = 4;

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
    sent_at: Duration,
    rtt: Duration,
}

#[derive(Debug)]
pub(crate) struct Flight {
    sent: Sent,
    /// The next packet number; none is ever used again (L1).
    next: u64,
    newest: Option<Newest>,
    /// The last packets that asked for no answer, the newest first, and when each left.
    bare: [Option<(u64, Duration)>; MOST_BARE],
    silence: Option<Silence>,
    tail: Tail,
    reordering: Reordering,
    timer: RetransmitTimer<TimerEvents>,
    /// When the last packet that asks for an answer left.
    last_sent: Option<Duration>,
    /// Nothing but memory for the next ACK.
    spare: Acked,
}

impl Flight {
    pub(crate) fn new(estimator: Estimator, config: &Config) -> Self {
        let events = TimerEvents {
            wanted: config.trace,
            queue: Vec::new(),
        };
        Self {
            sent: Sent::default(),
            next: 0,
            newest: None,
            bare: [None; MOST_BARE],
            silence: None,
            tail: Tail::new(config.max_ack_delay),
            reordering: Reordering::new(config.adapts_to_reordering),
            timer: RetransmitTimer::new(estimator)
                .with_limits(config.limits)
                .observed_by(events),
            last_sent: None,
            spare: Acked::default(),
        }
    }

    /// Whether nothing is in flight and nothing left for an RTO: what the window knows of the
    /// path is old (L10).
    pub(crate) fn is_idle(&self, now: Duration) -> bool {
        let rto = self.timer.estimator().rto();
        let old = |sent: Duration| sent.saturating_add(rto) <= now;
        self.is_empty() && self.last_sent.is_some_and(old)
    }

    /// Gives back the memory that a larger flight needed: a connection that only keeps itself alive
    /// has little.
    pub(crate) fn handle_idle(&mut self) {
        self.sent.shrink();
        self.spare.packets.shrink_to(KEPT);
        self.spare.lost.shrink_to(KEPT);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.sent.bytes()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
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
            sent_at: Duration::ZERO,
            rtt: Duration::ZERO,
        });
    }

    /// Whether this packet is in flight.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.sent.has(number)
    }

    fn largest_acked(&self) -> Option<u64> {
        self.newest.map(|newest| newest.number)
    }

    /// Whether the peer has acknowledged anything.
    pub(crate) fn has_acked(&self) -> bool {
        self.newest.is_some()
    }

    /// Whether many packets have left since one was acknowledged, and none of them asks for that
    /// (W11).
    pub(crate) fn is_unanswered(&self) -> bool {
        let acked = self.largest_acked().unwrap_or_default();
        self.is_empty() && self.next.saturating_sub(acked) >= MOST_UNANSWERED
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
            self.bare.rotate_right(1);
            self.bare[0] = Some((number, now));
            return;
        };
        if packet.by_timer {
            self.timer.handle_retransmitted(now); // the new RTO counts from here (5.6-1)
        } else {
            self.timer.handle_sent(now); // (5.1-1)
        }
        self.last_sent = Some(now);
        if self.is_empty() {
            self.tail.begin(now);
        }
        if self.silence.is_some() && packet.content != Content::default() && !self.has_content() {
            self.silence.iter_mut().for_each(|it| it.ask(now)); // nothing waited before (L13)
        }
        self.sent.push(SentPacket { number, ..packet });
    }

    /// Forgets everything in flight: nobody waits for it any more.
    pub(crate) fn give_up(&mut self, now: Duration) {
        self.sent = Sent::default();
        self.silence = None;
        self.timer.stop(now);
    }
}

#[cfg(test)]
mod tests;
