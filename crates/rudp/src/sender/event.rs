//! What a sender tells: events on the way, a report at the end.

use std::time::Duration;

use blake3::Hash;
use rudp_proto::{CloseReason, Stats, Trace};

use crate::Attempt;

/// Something that happened at a sender.
#[derive(Clone, Debug)]
pub struct SendEvent {
    /// When, by the clock of the sender's [`EndpointOptions`](crate::EndpointOptions).
    pub at: Duration,
    /// What.
    pub what: Sending,
}

/// What can happen at a sender.
#[derive(Clone, Debug)]
pub enum Sending {
    /// An attempt to connect ended.
    Attempt(Attempt),
    /// There is a connection.
    Connected {
        /// The attempt that made it, counted from 0.
        attempt: u64,
    },
    /// Data follows.
    Started {
        /// The length of the file, in bytes.
        length: u64,
        /// Where the data starts.
        offset: u64,
        /// The bytes the receiver had on disk. More than `offset`: they are
        /// not the start of this file.
        on_disk: u64,
    },
    /// Data was handed to the transport.
    Progress {
        /// The length of the file, in bytes.
        length: u64,
        /// The bytes handed over, those before this connection included.
        sent: u64,
        /// Those of them that the receiver's transport has acknowledged.
        acknowledged: u64,
    },
    /// The connection was lost; another will be made.
    Lost(CloseReason),
    /// The receiver has the file.
    Delivered(Delivered),
    /// A step of the transport.
    Trace {
        /// Of which attempt to connect, or of the connection it made.
        attempt: u64,
        /// Which.
        trace: Trace,
    },
}

/// How a file came to be at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The BLAKE3 hash of the whole file, which both sides computed.
    pub hash: Hash,
    /// Whether it was there before.
    pub already_there: bool,
}

/// What was sent, and what it took.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the file.
    pub name: String,
    /// Its length, in bytes.
    pub length: u64,
    /// Its hash, and whether it was there before.
    pub delivered: Delivered,
    /// From the first attempt to connect to the end.
    pub elapsed: Duration,
    /// Attempts to connect.
    pub attempts: u64,
    /// Connections made.
    pub connections: u64,
    /// What the connections counted.
    pub totals: Totals,
}

/// The counters of all connections of one sender together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Round trips measured.
    pub samples: u64,
    /// The smoothed round trip of the last connection that had one.
    pub srtt: Option<Duration>,
    /// The smallest and the largest RTO that were in force.
    pub rto: Option<(Duration, Duration)>,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Datagrams sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Bytes sent on the wire, as UDP payload.
    pub bytes_sent: u64,
    /// Bytes received from the wire, as UDP payload.
    pub bytes_received: u64,
}

impl Totals {
    pub(super) fn add(&mut self, stats: &Stats) {
        self.samples += stats.samples;
        self.srtt = stats.srtt.or(self.srtt);
        let (min, max) = self.rto.unwrap_or((stats.rto_min, stats.rto_max));
        self.rto = Some((min.min(stats.rto_min), max.max(stats.rto_max)));
        self.timeouts += stats.timeouts;
        self.fast_retransmits += stats.fast_retransmits;
        self.packets_sent += stats.packets_sent;
        self.packets_lost += stats.packets_lost;
        self.bytes_sent += stats.bytes_sent;
        self.bytes_received += stats.bytes_received;
    }
}
