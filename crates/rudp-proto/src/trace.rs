//! The steps of the machinery, for timelines and plots.

use core::fmt;
use core::time::Duration;

use crate::EcnState;

/// A step of the machinery.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// When: the `now` of the call that made it.
    pub at: Duration,
    /// What.
    pub step: Step,
    /// The estimator as that call left it.
    pub estimator: rto::Estimator,
}

/// What can be traced.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something happened to the retransmission timer (L2, L4).
    Timer(rto::Event),
    /// The timer expired, and what was lost with that will be sent again (L4).
    Retransmit {
        /// The RTO that ran out.
        rto: Duration,
        /// When what will be sent again was last sent.
        last_sent_at: Duration,
    },
    /// A packet was declared lost.
    Lost {
        /// Which.
        packet: TracedPacket,
        /// By which rule.
        by: LossTrigger,
        /// Nothing of it is missing: a later packet that repeated its pieces has brought them (L15).
        repaired: bool,
    },
    /// Packets were lost by the evidence of later ones (L3, L11), all told of just before.
    FastRetransmit {
        /// How many were declared lost at once.
        packets: u32,
    },
    /// What waits too long for its ACK is repeated (L14).
    TailProbe,
    /// A silent path was probed (L13).
    PathProbe,
    /// A packet that had been declared lost was acknowledged after all (L5).
    Late(TracedPacket),
    /// Packets came late at once, all told of before.
    SpuriousLoss {
        /// How many.
        packets: u64,
        /// Whether that took back what congestion control had done about them (G7).
        undone: bool,
    },
    /// Congestion control does something else from now on (L10).
    CongestionPhase {
        /// What it did before; `None` at first.
        old: Option<CongestionPhase>,
        /// What it does.
        new: CongestionPhase,
    },
    /// How congestion control stands: at once when its phase changes or nothing is in flight any
    /// more; of other changes the first after 5 ms.
    Congestion(CongestionMetrics),
    /// Other datagrams than before are full, or the search for larger ones has paused or begun
    /// again (U2, U4, U5).
    Mtu {
        /// The longest datagram but for probes until then, in bytes; `None` at first.
        old: Option<usize>,
        /// The longest from now on.
        new: usize,
        /// Whether no larger one is searched for at present.
        done: bool,
    },
    /// What is known of ECN on the path has changed (E3).
    Ecn {
        /// What was known before; `None` at first.
        old: Option<EcnState>,
        /// What is.
        new: EcnState,
    },
    /// A Data packet was sent.
    Sent(TracedPacket),
    /// It repeats small pieces of streams of the packets before it (L15).
    Bundled {
        /// The number of the packet, told of just before.
        packet: u64,
        /// How many pieces.
        pieces: usize,
        /// How many stream bytes they have together.
        bytes: u64,
    },
    /// A Data packet was received, possibly again.
    Received(TracedPacket),
    /// The handshake moved.
    Handshake(HandshakeStep),
    /// The host did not fetch its events in time, and so many before this one are gone (K9).
    Missed {
        /// How many.
        traces: u64,
    },
}

/// A Data packet that passed by.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TracedPacket {
    /// Its number, in the order of its sender.
    pub number: u64,
    /// Its length, in bytes of UDP payload.
    pub bytes: usize,
}

/// Which rule declared a packet lost; displayed, a word as qlog has it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LossTrigger {
    /// Packets with high enough numbers above it were acknowledged (L3): `reordering_threshold`.
    Reordering,
    /// One that left later was acknowledged long enough ago (L11): `time_threshold`.
    Time,
    /// The retransmission timer expired (L4): `pto_expired`.
    Expiry,
}

/// How congestion control stands (L10).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CongestionMetrics {
    /// How much may be in flight, in bytes.
    pub window: u64,
    /// How much is, in bytes.
    pub bytes_in_flight: u64,
    /// How fast packets leave at most, in bytes per second (G4); `None` before a round trip
    /// is known.
    pub pacing_rate: Option<u64>,
    /// How fast the path delivered, in bytes per second, by the latest ACK that tells (G3).
    pub delivery_rate: Option<u64>,
}

/// What congestion control is doing; displayed, a word as qlog has it: `slow_start`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CongestionPhase {
    /// Loss-based: the window doubles each round trip (G1, G6).
    SlowStart,
    /// Loss-based: it grows slowly (G1, G5).
    CongestionAvoidance,
    /// Loss-based: it shrinks after a loss (G2).
    Recovery,
    /// Model-based (G8): the rate is searched for.
    Startup,
    /// The queue of the startup drains.
    Drain,
    /// A cycle begins below the rate.
    ProbeDown,
    /// At the rate.
    Cruise,
    /// The pipe is filled before a probe.
    Refill,
    /// More than the rate is tried.
    ProbeUp,
    /// Little is in flight, to see the shortest round trip.
    ProbeRtt,
}

/// The steps of a handshake, as the client sees them (H1 to H7).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum HandshakeStep {
    /// The first Hello was sent, without a cookie.
    Hello,
    /// A Hello was sent again: after an expiry, or beside the timer (H13).
    HelloAgain,
    /// The server's Challenge arrived and the Hello with its cookie was sent.
    Cookie,
    /// The server's SETTINGS arrived.
    Settings,
}

impl fmt::Display for LossTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reordering => "reordering_threshold",
            Self::Time => "time_threshold",
            Self::Expiry => "pto_expired",
        })
    }
}

impl fmt::Display for CongestionPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SlowStart => "slow_start",
            Self::CongestionAvoidance => "congestion_avoidance",
            Self::Recovery => "recovery",
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::ProbeDown => "probe_down",
            Self::Cruise => "cruise",
            Self::Refill => "refill",
            Self::ProbeUp => "probe_up",
            Self::ProbeRtt => "probe_rtt",
        })
    }
}
