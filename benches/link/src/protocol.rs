//! Who is measured.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A reliable transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The kernel's TCP with CUBIC.
    Cubic,
    /// The kernel's TCP with BBR.
    Bbr,
    /// quinn with its default, CUBIC.
    Quinn,
    /// quinn with its BBR.
    QuinnBbr,
    /// KCP at its fastest, with a window of 1,024 packets and no congestion control.
    Kcp,
    /// Ours.
    Rudp,
    /// Ours without repetitions in the packets that follow (`Config::bundles`).
    RudpUnbundled,
}

impl Protocol {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 7] = [
        Self::Cubic,
        Self::Bbr,
        Self::Quinn,
        Self::QuinnBbr,
        Self::Kcp,
        Self::Rudp,
        Self::RudpUnbundled,
    ];

    /// Whether it is ours, and no peer.
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Rudp | Self::RudpUnbundled)
    }

    /// What the command line calls it.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Quinn => "quinn",
            Self::QuinnBbr => "quinn-bbr",
            Self::Kcp => "kcp",
            Self::Rudp => "rudp",
            Self::RudpUnbundled => "rudp-unbundled",
        }
    }
}

/// What the tables call it.
impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cubic => "TCP cubic",
            Self::Bbr => "TCP bbr",
            Self::Quinn => "quinn cubic",
            Self::QuinnBbr => "quinn bbr",
            Self::Kcp => "kcp",
            Self::Rudp => "rudp",
            Self::RudpUnbundled => "rudp, unbundled",
        })
    }
}
