//! The wire format.
use alloc::vec::Vec;

/// The largest datagram this protocol sends or accepts, in bytes (W1).
pub const MAX_DATAGRAM: usize = 1200;

/// Makes the notice a relay sends back when its next hop answered
/// port-unreachable.
#[must_use]
pub fn unreachable_notice(_datagram: &[u8]) -> Option<Vec<u8>> {
    None
}
