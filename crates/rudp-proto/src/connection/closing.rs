//! How a connection ends: gracefully, by an abort, or by being lost (K3 to K8).

use alloc::string::String;
use core::time::Duration;

use rto::GiveUp;

use super::{Connection, Delivery, Phase, bounded};
use crate::{CloseReason, Lost};

/// How often the CLOSE is sent again once the application has heard the end (K7).
pub(super) const CLOSE_RETRIES: u32 = 3;
/// The code of an abort for a broken rule; the reason names it (K8).
pub const VIOLATION_CODE: u64 = u64::MAX;

/// What both sides have said about the end.
#[derive(Debug)]
pub(super) struct Closing {
    /// What our CLOSE says.
    pub(super) own: Option<Close>,
    /// How far our CLOSE has come.
    pub(super) delivery: Delivery,
    pub(super) retries: u32,
    /// The peer's CLOSE arrived.
    peer: bool,
    /// What the application hears once it has read everything.
    held: Option<CloseReason>,
    /// When waiting for the next step ends (K3); unset by each step, and set
    /// again by the next call that knows the time.
    deadline: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Close {
    pub(super) code: u64,
    pub(super) reason: String,
    pub(super) abort: bool,
}

impl Default for Closing {
    fn default() -> Self {
        Self {
            own: None,
            delivery: Delivery::Unneeded,
            retries: 0,
            peer: false,
            held: None,
            deadline: None,
        }
    }
}

impl Closing {
    pub(super) fn has_peer_closed(&self) -> bool {
        self.peer
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Data moved, or the end came nearer: the patience begins anew (K3).
    pub(super) fn put_off(&mut self) {
        self.deadline = None;
    }

    /// The peer closed, and the application reads on: nothing more is expected
    /// from the peer (K3).
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }
}

impl Connection {
    /// Closes after all that was written is acknowledged; nothing written is
    /// lost. [`Event::Closed`](crate::Event::Closed) follows when the peer has
    /// closed too, which it does at once unless it has data to deliver of a
    /// [`close`](Self::close) of its own (K3); it reports a loss if nothing moves
    /// for the idle timeout. `code` 0 is "no error"; of `reason` at most 256 bytes
    /// travel. What the peer has sent and not yet delivered may be lost: read to
    /// the end first. Does nothing if already closing.
    pub fn close(&mut self, code: u64, reason: &str) {
        if self.is_over() {
            return;
        }
        if let Some(held) = self.closing.held.take() {
            return self.conclude(held); // the peer closed first: nobody reads on
        }
        if self.closing.own.is_none() {
            self.closing.own = Some(Close {
                code,
                reason: bounded(reason),
                abort: false,
            });
            self.streams.finish_all();
        }
    }

    /// Ends the connection at once; what is not delivered is dropped. The peer is
    /// told `code` and `reason`, of which at most 256 bytes travel; a refusal is an
    /// abort with a code that is not 0 (K4). Does nothing once the connection is
    /// over.
    pub fn abort(&mut self, code: u64, reason: &str) {
        if !self.is_over() {
            self.tell_abort(code, reason);
            self.conclude(self.own_reason());
        }
    }

    /// The peer broke a rule (K8).
    pub(super) fn handle_violation(&mut self, what: &'static str) {
        if !self.is_over() {
            self.tell_abort(VIOLATION_CODE, what);
            self.conclude(CloseReason::Lost(Lost::Violation(what)));
        }
    }

    fn tell_abort(&mut self, code: u64, reason: &str) {
        self.closing.own = Some(Close {
            code,
            reason: bounded(reason),
            abort: true,
        });
        self.closing.delivery = Delivery::Due;
        self.flight.give_up(self.now);
        if self.settings == Delivery::InFlight {
            self.settings = Delivery::Due; // without them the client would not listen (H8)
        }
    }

    /// The application has called `close`, or either side is over.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.own.is_some() || self.is_over()
    }

    /// Whether the application has heard the end, or is about to.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Lingering { .. } | Phase::Dead)
    }

    /// The peer's CLOSE.
    pub(super) fn handle_close(&mut self, code: u64, reason: &str, abort: bool) {
        if self.is_over() {
            return;
        }
        self.settings = Delivery::Unneeded; // who closes has seen them
        let said = CloseReason::Peer {
            code,
            reason: reason.into(),
        };
        if abort {
            self.flight.give_up(self.now);
            self.closing.delivery = Delivery::Unneeded;
            return self.conclude(said); // (K4)
        }
        if self.closing.peer {
            return;
        }
        self.closing.peer = true;
        self.closing.put_off();
        if self.closing.own.is_some() {
            return self.conclude_if_delivered();
        }
        // We did not ask for the end: what we have not delivered, nobody wants (K3).
        self.closing.own = Some(Close {
            code: 0,
            reason: String::new(),
            abort: false,
        });
        self.closing.delivery = Delivery::Due;
        self.closing.held = Some(said);
        self.flight.give_up(self.now);
        self.streams.handle_peer_closed();
        self.conclude_if_drained();
    }

    /// Our CLOSE goes out once everything before it has arrived (K3).
    pub(super) fn conclude_if_delivered(&mut self) {
        if self.phase != Phase::Open || self.closing.own.is_none() {
            return;
        }
        let patience = self.now.saturating_add(self.idle_timeout);
        self.closing.deadline.get_or_insert(patience);
        if !self.streams.is_delivered() {
            return;
        }
        if self.closing.delivery == Delivery::Unneeded {
            self.closing.delivery = Delivery::Due;
        }
        if self.closing.peer && !self.closing.is_held() {
            self.conclude(self.own_reason());
        }
    }

    /// The peer closed; once the application has read everything, it hears so.
    pub(super) fn conclude_if_drained(&mut self) {
        if self.closing.is_held()
            && self.streams.is_drained()
            && let Some(held) = self.closing.held.take()
        {
            self.conclude(held);
        }
    }

    pub(super) fn handle_close_acked(&mut self) {
        self.closing.delivery = Delivery::Acked;
        self.closing.put_off();
    }

    /// Waiting is over: the application does not read, the peer does not close
    /// although it has everything, or what was written does not get there (K3).
    pub(super) fn handle_closing_deadline(&mut self) {
        match self.closing.held.take() {
            Some(held) => self.conclude(held),
            None => self.lose(self.reason_without_peer(Lost::TimedOut)),
        }
    }

    /// Our packets are no longer known to the peer, which forgot or restarted.
    pub(super) fn handle_forgotten(&mut self) {
        self.lose(self.reason_without_peer(Lost::Reset)); // (K5)
    }

    /// What was sent has gone unanswered for as long as `Config::limits` allows (K11).
    pub(super) fn handle_given_up(&mut self, why: GiveUp) {
        self.lose(self.reason_without_peer(Lost::GaveUp(why)));
    }

    /// Only a peer that acknowledged our CLOSE has certainly got everything.
    fn reason_without_peer(&self, lost: Lost) -> CloseReason {
        match self.closing.delivery {
            Delivery::Acked => self.own_reason(),
            _ => CloseReason::Lost(lost),
        }
    }

    /// The end that this side asked for, as the peer is told.
    fn own_reason(&self) -> CloseReason {
        let own = self.closing.own.as_ref();
        let (code, reason) = own.map_or((0, ""), |own| (own.code, own.reason.as_str()));
        let reason = reason.into();
        CloseReason::Local { code, reason }
    }

    /// There is no peer any more. It takes nothing from an application that only
    /// reads on after the peer's CLOSE (K3); for any other this is the end.
    pub(super) fn lose(&mut self, reason: CloseReason) {
        self.flight.give_up(self.now);
        self.closing.delivery = Delivery::Unneeded;
        if self.closing.is_held() {
            return;
        }
        if !self.is_over() {
            self.conclude(reason);
        }
        self.end();
    }

    /// Nothing is sent or answered any more.
    pub(crate) fn end(&mut self) {
        self.flight.give_up(self.now);
        self.phase = Phase::Dead;
    }

    /// The end as the application sees it. The connection lingers to answer what
    /// the peer sends again, and to repeat its own CLOSE (K7).
    fn conclude(&mut self, reason: CloseReason) {
        self.events.closed = Some(reason);
        self.streams.give_up();
        self.ping_due = false;
        self.probe_due = false;
        let linger = self.flight.timer().estimator().rto().saturating_mul(3);
        let until = self.now.saturating_add(linger.min(self.idle_timeout));
        self.phase = Phase::Lingering { until };
        if self.remote.is_none() {
            self.end(); // there is nobody to tell
        }
    }

    /// Whether the peer has heard of the end, or will not.
    pub(crate) fn is_close_settled(&self) -> bool {
        !matches!(self.closing.delivery, Delivery::Due | Delivery::InFlight)
    }
}
