//! Names of streams: who opened it, of which kind, the how many-th.

#[cfg(test)]
pub(crate) mod looks;

use core::fmt;

/// Ids are varints, and two of their 62 bits are taken (S1).
const MAX_INDEX: u64 = (1 << 60) - 1;

/// One of the two ends of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Who called [`Endpoint::connect`](crate::Endpoint::connect).
    Client,
    /// Who listened.
    Server,
}

impl Side {
    /// The one at the other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What a stream carries.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKind {
    /// Bytes in order, in both directions.
    Bytes,
    /// One message from the side that opened it; it arrives whole or not at all (M1).
    Message,
}

/// The name of a stream on its connection; never used again (S1).
#[derive(Copy, Clone, Eq)]
#[cfg_attr(not(test), derive(PartialEq, PartialOrd, Ord, Hash))] // `looks` counts them
pub struct StreamId(u64);

impl StreamId {
    /// The stream number `index`, from 0, of a kind that a side opens.
    #[must_use]
    pub const fn new(opener: Side, kind: StreamKind, index: u64) -> Self {
        let index = if index < MAX_INDEX { index } else { MAX_INDEX };
        let opener = match opener {
            Side::Client => 0,
            Side::Server => 1,
        };
        let kind = match kind {
            StreamKind::Bytes => 0,
            StreamKind::Message => 2,
        };
        Self((index << 2) | kind | opener)
    }

    /// Of the number on the wire, a varint.
    pub(crate) const fn from_wire(number: u64) -> Self {
        Self(number)
    }

    /// The number on the wire (S1).
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Who opened it.
    #[must_use]
    pub const fn opener(self) -> Side {
        if self.0 & 1 == 0 {
            Side::Client
        } else {
            Side::Server
        }
    }

    /// What it carries.
    #[must_use]
    pub const fn kind(self) -> StreamKind {
        if self.0 & 2 == 0 {
            StreamKind::Bytes
        } else {
            StreamKind::Message
        }
    }

    /// How many of its kind its side had opened before.
    #[must_use]
    pub const fn index(self) -> u64 {
        self.0 >> 2
    }

    pub(crate) fn is_message(self) -> bool {
        #[cfg(test)]
        looks::count();
        self.kind() == StreamKind::Message
    }
}

/// For example `client stream 3` or `server message 0`.
impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opener = match self.opener() {
            Side::Client => "client",
            Side::Server => "server",
        };
        let kind = match self.kind() {
            StreamKind::Bytes => "stream",
            StreamKind::Message => "message",
        };
        write!(f, "{opener} {kind} {}", self.index())
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
