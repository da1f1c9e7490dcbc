//! What a host may set, and the keys it brings.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use crate::mtu::ETHERNET_DATAGRAM;
use crate::wire::{BASE_DATAGRAM, LARGEST_DATAGRAM, MIN_IDLE_TIMEOUT, Versions};

/// Settings of an [`Endpoint`](crate::Endpoint) and all its connections.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The retransmission timer; default [`rto::Config::RFC6298`]. A floor below its 1 s, as
    /// in [`rto::Config::GAMES`], repairs a lost tail sooner and bends rule 2.4-1 of RFC 6298:
    /// [`rto::Config::deviations`] names what settings bend. `max_ack_delay` of both peers
    /// must stay below it (L7).
    pub rto: rto::Config,
    /// How long to go on without an acknowledgement of what was sent; default
    /// [`rto::Limits::NONE`], so that only `idle_timeout` ends a silent connection. R1 is told
    /// (K10); at R2, that of the handshake or a user timeout the connection is lost (K11). To be
    /// met, a limit must be shorter than `idle_timeout`: those of [`rto::Limits::RFC9293`] are
    /// longer than its default. A user timeout must exceed the initial RTO.
    pub limits: rto::Limits,
    /// How many connections may live at once, both directions together; default
    /// 1,024, at least 1. A server at its limit answers "busy" (H9).
    pub max_connections: usize,
    /// How many of them may be half open at once: accepted in one exchange of packets, for a
    /// client that has yet to prove that it receives at its address; default 128. A client beyond
    /// them proves it first, by a second exchange; so does every one if this is 0 (H4, H11).
    pub max_half_open: usize,
    /// Bytes a connection keeps at most until they are acknowledged; default 16 MiB, at least one
    /// datagram. A stream takes no more than it leaves to the others: alone, half of it; all
    /// messages together count as one stream. Of what has yet to leave, a stream takes 1 MiB, or a
    /// quarter of the congestion window (F6). Memory is taken as it is filled.
    pub send_buffer: usize,
    /// Bytes a connection lets its peer send at most ahead of the application's reads, on all
    /// streams together; default 12 MiB, at least one datagram (F1). The window begins with 3 MiB
    /// or this, and grows on a path that fills it (F7).
    pub receive_window: usize,
    /// The same for each stream; default 8 MiB, at least one datagram. It begins with 2 MiB.
    pub stream_window: usize,
    /// How many streams the peer may have open at once; default 1,024, at least 1 (S3).
    pub max_streams: u32,
    /// How many of the peer's messages may be under way or unread at once; default 1,024, at
    /// least 1 (S3, M3).
    pub max_messages: u32,
    /// How long an acknowledgement may wait for company; default 25 ms, below the
    /// floor of the RTO (L7): a peer with that floor would repeat every lone packet. The peer's is
    /// taken to be the same (L14).
    pub max_ack_delay: Duration,
    /// Silence after which a PING is sent; default 10 s, shorter than `idle_timeout`; at
    /// most half the idle timeout in force, a longer one counts as half (K1); `None` sends
    /// none but a client's first one, after 10 s, while nothing was acknowledged (H12).
    pub keepalive: Option<Duration>,
    /// Time without a datagram from the peer after which the connection is lost,
    /// the handshake included; default 60 s, at least 1 s. The smaller value of
    /// both peers counts (K2). With one of 10 s or less, set `keepalive` lower too.
    pub idle_timeout: Duration,
    /// How much may be in flight and how fast it leaves; default
    /// [`Congestion::Bbr`] (L10).
    pub congestion: Congestion,
    /// Whether the thresholds of loss detection follow the reordering that is seen; default
    /// yes (L3, L11). Without, they are those of RFC 9002: three packets, an eighth of the
    /// round trip.
    pub adapts_to_reordering: bool,
    /// Whether a packet with room repeats small pieces that the ones before it carried, while
    /// little is sent; default yes (L15). It costs up to 256 bytes a packet, and saves a round trip
    /// where one is lost.
    pub bundles: bool,
    /// The longest datagram to send and to accept, in bytes of UDP payload, 1,200 to 65,507.
    /// Default `None`: 1,472, which is Ethernet's 1,500 less the headers of IPv4 and UDP, and with a
    /// peer at a loopback address 16,000, of which four leave at once. The path is
    /// searched for what it carries, up to this: over IPv6 and Ethernet, where 1,472 are lost or
    /// refused, that ends within 16 bytes of 1,452. 1,200 searches for nothing (U2, U3).
    pub max_datagram: Option<usize>,
    /// The versions to speak, the first of them with a server that is new; default
    /// [`Versions::DEFAULT`]. Beside version 2 there are only reserved ones, which mean the
    /// same and keep negotiation in use (N5).
    pub versions: Versions,
    /// Whether connections report [`Event::Trace`](crate::Event::Trace); default no.
    pub trace: bool,
}

/// A quarter of what leaves at once (G4). A path within the host carries more, but the fewer are in
/// flight, the less is there for congestion control and batches to work with.
const LOOPBACK_DATAGRAM: usize = 16_000;

impl Config {
    /// The defaults named at each field.
    pub const DEFAULT: Self = Self {
        rto: rto::Config::RFC6298,
        limits: rto::Limits::NONE,
        max_connections: 1024,
        max_half_open: 128,
        send_buffer: 16 << 20,
        receive_window: 12 << 20,
        stream_window: 8 << 20,
        max_streams: 1024,
        max_messages: 1024,
        max_ack_delay: Duration::from_millis(25),
        keepalive: Some(Duration::from_secs(10)),
        idle_timeout: Duration::from_secs(60),
        congestion: Congestion::Bbr,
        adapts_to_reordering: true,
        bundles: true,
        max_datagram: None,
        versions: Versions::DEFAULT,
        trace: false,
    };

    /// Whether an endpoint would take these settings, for a host that makes one later.
    ///
    /// # Errors
    /// What [`Endpoint::new`](crate::Endpoint::new) would say.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.validate().map(drop)
    }

    /// The longest datagram to exchange with this peer (U3).
    pub(crate) fn max_datagram_with(&self, peer: SocketAddr) -> usize {
        self.max_datagram.unwrap_or_else(|| {
            if peer.ip().to_canonical().is_loopback() {
                LOOPBACK_DATAGRAM
            } else {
                ETHERNET_DATAGRAM
            }
        })
    }

    pub(crate) fn validate(&self) -> Result<rto::Estimator, ConfigError> {
        let estimator = rto::Estimator::new(self.rto).map_err(ConfigError::Rto)?;
        match self.limits.user_timeout {
            Some(timeout) if timeout <= self.rto.initial_rto => {
                return Err(ConfigError::UserTimeout {
                    timeout,
                    initial_rto: self.rto.initial_rto,
                });
            }
            _ => {}
        }
        if self.max_connections == 0 {
            return Err(ConfigError::NoConnections);
        }
        let buffers = [
            ("send_buffer", self.send_buffer),
            ("receive_window", self.receive_window),
            ("stream_window", self.stream_window),
        ];
        if let Some((field, bytes)) = buffers.into_iter().find(|(_, n)| *n < BASE_DATAGRAM) {
            return Err(ConfigError::BufferTooSmall { field, bytes });
        }
        let counts = [
            ("max_streams", self.max_streams),
            ("max_messages", self.max_messages),
        ];
        if let Some((field, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(ConfigError::NoStreams(field));
        }
        let floor = self.rto.min_rto.max(self.rto.granularity);
        if self.max_ack_delay >= floor {
            return Err(ConfigError::AckDelay {
                delay: self.max_ack_delay,
                floor,
            });
        }
        match self.max_datagram {
            Some(bytes) if !(BASE_DATAGRAM..=LARGEST_DATAGRAM).contains(&bytes) => {
                return Err(ConfigError::MaxDatagram(bytes));
            }
            _ => {}
        }
        if let Some(version) = self.versions.odd_one() {
            return Err(ConfigError::Version(version));
        }
        if self.idle_timeout < MIN_IDLE_TIMEOUT {
            return Err(ConfigError::IdleTimeout(self.idle_timeout));
        }
        match self.keepalive {
            Some(every) if every.is_zero() || every >= self.idle_timeout => {
                Err(ConfigError::Keepalive {
                    every,
                    idle_timeout: self.idle_timeout,
                })
            }
            _ => Ok(estimator),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Which congestion control a connection has (L10); all pace what they send (G4). One more is a
/// variant here and a file in `src/congestion/`, where tests hold each to what all promise.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Congestion {
    /// RFC 5681 and RFC 6582: a loss halves the window, a round trip adds a packet (G1).
    NewReno,
    /// RFC 9438 with the slow start of RFC 9406: the window climbs back along a cubic
    /// curve of the time since the loss (G5, G6).
    Cubic,
    /// A model of the path after BBR (draft-ietf-ccwg-bbr), for which a loss is congestion
    /// only with evidence (G8, G9).
    Bbr,
}

impl fmt::Display for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewReno => "NewReno",
            Self::Cubic => "CUBIC",
            Self::Bbr => "BBR",
        })
    }
}

/// The two keys an endpoint needs; their contents never reach the wire.
#[derive(Copy, Clone)]
pub struct Secrets {
    /// Makes the stateless reset tokens (K5). Kept across restarts: it lets a
    /// restarted server answer for the connections of its former life.
    pub reset_key: [u8; 32],
    /// Makes connection ids and cookies (H2, H5). Fresh randomness from the
    /// operating system at every start.
    pub seed: [u8; 32],
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// Why a [`Config`] is refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The timer's settings are refused.
    Rto(rto::ConfigError),
    /// `limits.user_timeout` is not above `rto.initial_rto`: nothing would ever be
    /// repeated (K11).
    UserTimeout {
        /// The user timeout.
        timeout: Duration,
        /// What it must exceed.
        initial_rto: Duration,
    },
    /// `max_connections` is 0 (H9).
    NoConnections,
    /// `send_buffer`, `receive_window` or `stream_window` holds less than one datagram (F1).
    BufferTooSmall {
        /// Which of them.
        field: &'static str,
        /// What it holds.
        bytes: usize,
    },
    /// `max_streams` or `max_messages`, which of them it says, is 0 (S3).
    NoStreams(&'static str),
    /// `max_ack_delay` is not below the RTO's floor, `min_rto` or `granularity` (L7).
    AckDelay {
        /// `max_ack_delay`.
        delay: Duration,
        /// What it must stay below.
        floor: Duration,
    },
    /// `max_datagram` is below 1,200 or above 65,507 (U3).
    MaxDatagram(usize),
    /// `versions` names one that this crate does not speak, or one twice (N5).
    Version(u8),
    /// `idle_timeout` is below one second (K2).
    IdleTimeout(Duration),
    /// `keepalive` is zero or not shorter than `idle_timeout` (K1).
    Keepalive {
        /// `keepalive`.
        every: Duration,
        /// What it must stay below.
        idle_timeout: Duration,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rto(error) => error.fmt(f),
            Self::UserTimeout {
                timeout,
                initial_rto,
            } => write!(
                f,
                "limits.user_timeout {timeout:?} is not above rto.initial_rto {initial_rto:?} (K11)"
            ),
            Self::NoConnections => f.write_str("max_connections is 0: nothing could connect (H9)"),
            Self::BufferTooSmall { field, bytes } => write!(
                f,
                "{field} of {bytes} bytes holds less than one datagram of {BASE_DATAGRAM} (F1)"
            ),
            Self::NoStreams(field) => write!(f, "{field} is 0: at least 1 is needed (S3)"),
            Self::AckDelay { delay, floor } => write!(
                f,
                "max_ack_delay {delay:?} is not below the floor of the RTO, {floor:?} (L7)"
            ),
            Self::MaxDatagram(bytes) => write!(
                f,
                "max_datagram {bytes} is not between {BASE_DATAGRAM} and {LARGEST_DATAGRAM} (U3)"
            ),
            Self::Version(version) => write!(
                f,
                "version {version} is not spoken here, or named twice (N5)"
            ),
            Self::IdleTimeout(timeout) => {
                write!(
                    f,
                    "idle_timeout {timeout:?} is below {MIN_IDLE_TIMEOUT:?} (K2)"
                )
            }
            Self::Keepalive {
                every,
                idle_timeout,
            } => write!(
                f,
                "keepalive {every:?} is not above zero and below idle_timeout {idle_timeout:?} (K1)"
            ),
        }
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// (U3)
    #[test]
    fn only_within_a_host_the_default_is_longer_than_ethernets() {
        let with = |peer: &str| Config::DEFAULT.max_datagram_with(peer.parse().unwrap());
        for here in [
            "127.0.0.1:1",
            "127.9.9.9:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert_eq!(with(here), LOOPBACK_DATAGRAM, "{here}");
        }
        for there in ["10.0.0.1:1", "[2001:db8::1]:1", "[::ffff:10.0.0.1]:1"] {
            assert_eq!(with(there), ETHERNET_DATAGRAM, "{there}");
        }
        let chosen = Config {
            max_datagram: Some(9_000),
            ..Config::DEFAULT
        };
        assert_eq!(chosen.max_datagram_with("[::1]:1".parse().unwrap()), 9_000);
    }
}
