//! Explicit Congestion Notification: what the IP header says beside the datagram.

/// The two bits of RFC 3168 that a datagram crosses the network with, if they are not zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// The sender understands marks: `10`.
    Ect0,
    /// The same, for another kind of sender: `01`.
    Ect1,
    /// A router marked it instead of dropping it: `11`.
    Ce,
}
