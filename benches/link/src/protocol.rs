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
    /// quinn with a stream for each small message.
    QuinnMessages,
    /// KCP at its fastest, with a window of 1,024 packets and no congestion control.
    Kcp,
    /// Ours.
    Rudp,
    /// Ours without repetitions in the packets that follow (`Config::bundles`).
    RudpUnbundled,
    /// The same with messages, of which none waits for another.
    RudpMessages,
}

impl Protocol {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 9] = [
        Self::Cubic,
        Self::Bbr,
        Self::Quinn,
        Self::QuinnBbr,
        Self::QuinnMessages,
        Self::Kcp,
        Self::Rudp,
        Self::RudpUnbundled,
        Self::RudpMessages,
    ];

    /// Whether it is ours, and no peer.
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Rudp | Self::RudpUnbundled | Self::RudpMessages)
    }

    /// Whether it differs from another one in small messages alone.
    pub const fn is_for_messages(self) -> bool {
        matches!(
            self,
            Self::QuinnMessages | Self::RudpUnbundled | Self::RudpMessages
        )
    }

    /// What the command line calls it.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Quinn => "quinn",
            Self::QuinnBbr => "quinn-bbr",
            Self::QuinnMessages => "quinn-messages",
            Self::Kcp => "kcp",
            Self::Rudp => "rudp",
            Self::RudpUnbundled => "rudp-unbundled",
            Self::RudpMessages => "rudp-messages",
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
            Self::QuinnMessages => "quinn cubic, a stream each",
            Self::Kcp => "kcp",
            Self::Rudp => "rudp",
            Self::RudpUnbundled => "rudp, unbundled",
            Self::RudpMessages => "rudp, unbundled, a message each",
        })
    }
}
