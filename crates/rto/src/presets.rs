//! The configurations of RFC 6298's relatives, each with its published difference.

use core::time::Duration;

use crate::{Collapse, Config, PostSyn, VarianceFloor};

/// One preset for each protocol that shares the estimator. CoAP, STUN and DTLS do without one:
/// see [`transaction::Config`](crate::transaction::Config).
impl Config {
    /// [RFC 2988](https://www.rfc-editor.org/rfc/rfc2988), which RFC 6298 replaced: the
    /// initial RTO is 3 s (P20). Breaks no rule of RFC 6298 (2.1-3).
    pub const RFC2988: Self = Self {
        initial_rto: Duration::from_secs(3),
        ..Self::RFC6298
    };

    /// [RFC 9002](https://www.rfc-editor.org/rfc/rfc9002) (QUIC): 3 x 333 ms at first, no
    /// floor, no cap, G = 1 ms, and any ACK ends a back-off (P8, P12).
    ///
    /// The estimate by itself. With ACK delays, `max_ack_delay` and packet number spaces it is
    /// [`quic::ProbeTimer`](crate::quic::ProbeTimer).
    pub const RFC9002: Self = Self {
        initial_rto: Duration::from_millis(999),
        min_rto: Duration::ZERO,
        max_rto: Duration::MAX,
        granularity: Duration::from_millis(1),
        post_syn: PostSyn::Keep,
        collapse: Collapse::OnAnyAck,
        ..Self::RFC6298
    };

    /// [RFC 9260](https://www.rfc-editor.org/rfc/rfc9260) (SCTP): an RTTVAR that computes to
    /// zero becomes G, here 1 ms, for the document names none (P21).
    pub const RFC9260: Self = Self {
        granularity: Duration::from_millis(1),
        variance_floor: VarianceFloor::ZeroRttvar,
        post_syn: PostSyn::Keep,
        ..Self::RFC6298
    };

    /// Games and local networks: the floor is 200 ms, which breaks (2.4-1), so that a lost
    /// packet is repaired within the patience of a player (P22).
    pub const GAMES: Self = Self {
        min_rto: Duration::from_millis(200),
        ..Self::RFC6298
    };
}
