//! One connection: its parts, and what the application may ask of it.
//!
//! [`birth`] begins it, [`streams`] is what the application may ask of its streams, [`input`] takes
//! packets and [`acked`] their ACKs, [`output`] makes them, [`timeouts`] does what is due, [`closing`]
//! ends it all.

mod acked;
mod birth;
pub(crate) mod closing;
mod events;
mod input;
#[cfg(test)]
mod numbers;
mod output;
mod streams;
mod timeouts;
mod tracing;

use alloc::string::String;
use core::fmt::{self, Display};
use core::net::SocketAddr;
use core::time::Duration;

use crate::ack::Acks;
use crate::congestion::Controller;
use crate::ecn::EcnPath;
use crate::handshake::{HalfOpen, Handshake};
use crate::loss::Flight;
use crate::mtu::Mtu;
use crate::streams::Streams;
use crate::wire::Params;
use crate::{Ecn, EcnCounts, Event, Side, Stats};
pub(crate) use birth::Birth;
use events::Events;
use tracing::Told;

/// One connection of an [`Endpoint`](crate::Endpoint): any number of byte streams and messages.
///
/// After any call that writes, reads or closes, call
/// [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit): there may be
/// something to send.
#[derive(Debug)]
pub struct Connection {
    peer: SocketAddr,
    side: Side,
    version: u8,
    /// A server has named its versions, and this one was chosen (N3).
    negotiated: bool,
    local_id: u64,
    /// The peer's id and token; a client learns them from the SETTINGS.
    remote: Option<Remote>,
    params: Params,
    phase: Phase,
    handshake: Handshake,
    /// The handshake wants a Hello to be sent.
    hello_due: bool,
    /// A server's, until the client has proved its address (H11).
    half_open: Option<HalfOpen>,
    flight: Flight,
    congestion: Controller,
    bundles: bool,
    /// When to ask the pacer again, if it holds something back (G4).
    paced_until: Option<Duration>,
    streams: Streams,
    acks: Acks,
    /// What the path carries in one datagram (U1).
    mtu: Mtu,
    /// Whether the path carries ECN (E3), and what the peer says of it in the packet at hand.
    ecn_path: EcnPath,
    peer_marks: Option<EcnCounts>,
    /// A packet of the peer is missing or came late since the last one with an ACK, which may have had
    /// one too.
    peer_gap: bool,
    left_marked: bool,
    settings: Delivery,
    ping_due: bool,
    /// An expiry asks for one packet, whatever the window says (L4), or a Hello does (H13).
    probe_due: bool,
    /// A silent path is to be probed (L13).
    path_probe_due: bool,
    /// So does a loss that later packets proved, once a round (L10).
    retransmission_due: bool,
    closing: closing::Closing,
    keepalive: Option<Duration>,
    idle_timeout: Duration,
    /// The latest `now` of the host.
    now: Duration,
    last_received: Duration,
    last_sent: Duration,
    /// When somebody first reported the peer's port unreachable, if nothing came
    /// since (K6).
    unreachable_at: Option<Duration>,
    events: Events,
    /// What the host that asked for traces was told.
    told: Told,
    /// What is counted here; the rest is asked of the other parts.
    stats: Stats,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Remote {
    id: u64,
    params: Params,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// A client waits for the SETTINGS.
    Connecting,
    Open,
    /// The application has heard the end; the peer may not have (K7).
    Lingering {
        until: Duration,
    },
    Dead,
}

/// How far a frame that must arrive once has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Delivery {
    Unneeded,
    /// To be sent, for the first time or again.
    Due,
    InFlight,
    Acked,
}

impl Connection {
    /// Whether the handshake is done and neither side has ended the connection.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Open && !self.is_closing()
    }

    /// Whether R1 of [`Config::limits`](crate::Config::limits) is reached and nothing new was acknowledged since (K10).
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        self.events.unanswered
    }

    /// The peer's address; it never changes (H10).
    #[must_use]
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// Which of the two ends this is.
    #[must_use]
    pub fn side(&self) -> Side {
        self.side
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let estimator = self.flight.timer().estimator();
        Stats {
            srtt: estimator.srtt(),
            rttvar: estimator.rttvar(),
            rto: estimator.rto(),
            congestion_window: self.congestion.window(),
            pacing_rate: self.congestion.pacing_rate(),
            delivery_rate: self.congestion.delivery_rate(),
            bytes_in_flight: self.flight.bytes(),
            datagram_size: self.mtu.size() as u64,
            ecn: self.ecn_path.is_used(),
            undone_reductions: self.congestion.undone(),
            ..self.stats
        }
    }

    /// What the connection is doing and why, in one line:
    /// `open, CUBIC: 2400 of 12000 bytes in flight, 9000 unacknowledged; RTO 1 s = ...`.
    pub fn explain(&self, now: Duration) -> impl Display {
        let timer = self.flight.timer().explain(now);
        let phase = match self.phase {
            Phase::Connecting if self.handshake.cookie.is_none() => "connecting",
            Phase::Connecting => "connecting, address proved",
            Phase::Open if self.is_closing() => "closing",
            Phase::Open => "open",
            Phase::Lingering { .. } => "lingering",
            Phase::Dead => "closed",
        };
        let (flight, window) = (self.flight.bytes(), self.congestion.window());
        let unacknowledged = self.streams.unacknowledged();
        let control = self.congestion.choice();
        let hint = if self.unreachable_at.is_some() {
            ", port reported unreachable"
        } else {
            ""
        };
        fmt::from_fn(move |f| {
            write!(
                f,
                "{phase}, {control}: {flight} of {window} bytes in flight, \
                 {unacknowledged} unacknowledged{hint}; {timer}"
            )
        })
    }

    /// The version in use; a client's may change until the first Challenge (N3).
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    pub(crate) fn local_id(&self) -> u64 {
        self.local_id
    }

    /// The peer's id, once it is known.
    pub(crate) fn remote_id(&self) -> Option<u64> {
        self.remote.map(|remote| remote.id)
    }

    /// The size of a full datagram; a probe is longer (U1, U2).
    pub(crate) fn datagram_size(&self) -> usize {
        self.mtu.size()
    }

    /// The system refuses to send datagrams of `size` bytes to the peer (U5).
    pub(crate) fn handle_too_large(&mut self, size: usize) {
        self.mtu.handle_too_large(size);
    }

    /// What the last datagram leaves with (E1), and, once settled, all others.
    pub(crate) fn ecn(&self) -> Option<Ecn> {
        self.left_marked.then_some(Ecn::Ect0)
    }

    /// Whether all datagrams leave with the same ECN field.
    pub(crate) fn is_ecn_settled(&self) -> bool {
        self.ecn_path.is_settled()
    }

    /// The packet number after the largest that arrived (W10).
    pub(crate) fn expected_number(&self) -> u64 {
        self.acks.expected()
    }

    /// When something of the peer last arrived.
    pub(crate) fn heard_at(&self) -> Duration {
        self.last_received
    }

    /// Whether the application is not to know of it yet (H11).
    pub(crate) fn is_half_open(&self) -> bool {
        self.half_open.is_some()
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.phase == Phase::Dead
    }

    /// The next event; `Closed` is the last.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.trace_timer();
        let before = self.events.poll();
        let event = before.or_else(|| self.streams.poll_event());
        event.or_else(|| self.events.closed.take().map(Event::Closed))
    }

    /// Traces what other parts told, and keeps the extremes of the RTO.
    fn follow(&mut self) {
        self.trace_timer();
        self.trace_congestion();
        self.trace_path();
        let rto = self.flight.timer().estimator().rto();
        self.stats.rto_min = self.stats.rto_min.min(rto);
        self.stats.rto_max = self.stats.rto_max.max(rto);
    }
}

/// Cuts a reason to what a CLOSE can carry (W9).
fn bounded(reason: &str) -> String {
    let (reason, _) = reason.split_at(reason.floor_char_boundary(crate::wire::MAX_REASON));
    reason.into()
}
