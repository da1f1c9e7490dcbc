//! Explicit congestion notification (RFC 3168): two bits of a packet's header.

/// The ECN field of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender takes no marks: the packet is never marked.
    #[default]
    NotCapable,
    /// ECT(0): it may be marked.
    Capable0,
    /// ECT(1): it may be marked.
    Capable1,
    /// CE: a queue has marked it.
    Marked,
}

impl Ecn {
    /// Whether a queue may mark it, and has not yet.
    pub(crate) fn takes_mark(self) -> bool {
        matches!(self, Self::Capable0 | Self::Capable1)
    }
}
