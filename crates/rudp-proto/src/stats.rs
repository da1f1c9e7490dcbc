//! Counters, for reports and tests.

use core::time::Duration;

/// Counts on; a full counter stays full.
pub(crate) const fn add(counter: &mut u64, more: u64) {
    *counter = counter.saturating_add(more);
}

/// What a connection counted since it began. "Bytes" are UDP payload unless named
/// otherwise.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Round trips measured and accepted.
    pub samples: u64,
    /// The smoothed round trip; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// How much the round trip varies; `None` before the first sample.
    pub rttvar: Option<Duration>,
    /// The RTO in force.
    pub rto: Duration,
    /// The smallest RTO that was in force.
    pub rto_min: Duration,
    /// The largest RTO that was in force.
    pub rto_max: Duration,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Hellos sent again before the timer expired (H13).
    pub hello_probes: u64,
    /// Times at which packets were declared lost by later acknowledged ones.
    pub fast_retransmits: u64,
    /// Repetitions of what got no answer in time, before anything proved it lost (L14).
    pub tail_probes: u64,
    /// Probes of a silent path (L13).
    pub path_probes: u64,
    /// Datagrams sent, Hellos included.
    pub packets_sent: u64,
    /// Data packets received, duplicates included.
    pub packets_received: u64,
    /// Data packets received again, and ignored.
    pub duplicates: u64,
    /// Bytes sent on the wire.
    pub bytes_sent: u64,
    /// Bytes of Data packets received from the wire.
    pub bytes_received: u64,
    /// Stream bytes sent, repetitions included.
    pub stream_bytes_sent: u64,
    /// Stream bytes acknowledged, each once.
    pub stream_bytes_acked: u64,
    /// Stream bytes that arrived, each once.
    pub stream_bytes_received: u64,
    /// Packets declared lost, by evidence or by expiry.
    pub packets_lost: u64,
    /// Packets declared lost and acknowledged after all.
    pub spurious_losses: u64,
    /// Reductions of congestion control taken back, since all they answered was late (G7).
    pub undone_reductions: u64,
    /// The size of a full datagram, in bytes (U1).
    pub datagram_size: u64,
    /// Packets that the peer received marked by the network (E4).
    pub ecn_marked: u64,
    /// Whether packets leave with ECT(0) (E1, E3).
    pub ecn: bool,
    /// The congestion window, in bytes.
    pub congestion_window: u64,
    /// How fast packets leave at most, in bytes per second (G4); `None` before a round trip
    /// is known.
    pub pacing_rate: Option<u64>,
    /// How fast the path delivered, in bytes per second, by the latest ACK that tells (G3).
    pub delivery_rate: Option<u64>,
    /// Bytes sent and neither acknowledged nor lost.
    pub bytes_in_flight: u64,
}

/// What an endpoint counted since it began.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Datagrams dropped for a wrong checksum (W3).
    pub corrupted: u64,
    /// Datagrams dropped because they could not be decoded (W4).
    pub malformed: u64,
    /// Datagrams dropped because they are of a version that the endpoint does not speak (N2).
    pub unknown_versions: u64,
    /// Lists of versions sent (N2).
    pub versions_sent: u64,
    /// Datagrams dropped because no connection has their id and address (H10).
    pub unknown: u64,
    /// Hellos dropped because the endpoint does not listen.
    pub not_listening: u64,
    /// Cookies that were wrong, too old (H5), or of a client that made its connection (H6).
    pub bad_cookies: u64,
    /// Challenges sent (H4).
    pub challenges_sent: u64,
    /// Connections made for a Hello without a valid cookie (H11).
    pub half_open: u64,
    /// Those of them that ended before their client proved its address (H11).
    pub half_open_lost: u64,
    /// Busy answers sent (H9).
    pub refusals_sent: u64,
    /// Stateless resets sent (K5).
    pub resets_sent: u64,
    /// Answers to strangers dropped because too many were waiting to be sent.
    pub answers_dropped: u64,
}
