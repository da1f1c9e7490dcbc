//! A packet that left and asks for an answer, and what it carries.

use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use smallvec::SmallVec;

use crate::congestion::Snapshot;
use crate::sender::Chunk;
use crate::streams::Told;

/// What an ack-eliciting packet carries, as far as it must arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Pieces of streams: one in a bulk transfer, several small ones in a packet of thin streams.
    pub(crate) chunks: SmallVec<[Chunk; 1]>,
    /// So many of them, the last ones, are repeated from packets before (L15).
    pub(crate) bundled: usize,
    /// Some of the others left before and mostly fill a gap, so that the ACK does not wait (L7).
    pub(crate) fills: bool,
    pub(crate) told: Vec<Told>,
    pub(crate) settings: bool,
    pub(crate) close: bool,
}

#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct SentPacket {
    pub(crate) number: u64,
    pub(crate) sent_at: Duration,
    /// None in a probe of the path, which congestion control does not know (L13).
    pub(crate) bytes: u64,
    pub(crate) content: Content,
    /// Of these numbers its ACK, if it has one, lets the peer know all that arrived (L16).
    pub(crate) told: Range<u64>,
    /// The timer's expiry made it, or a Hello (H13): the RTO counts from it.
    pub(crate) by_timer: bool,
    /// A later packet carries its content too: only the loss of that one makes it due (L14).
    pub(crate) repeated: bool,
    /// A later packet has the pieces that it was the first to carry (L15).
    pub(crate) bundled: bool,
    /// It left with ECT(0) (E1).
    pub(crate) marked: bool,
    /// It was declared lost; an acknowledgement of it comes late (L5).
    pub(crate) declared_lost: bool,
    /// What had been delivered when it left (G3).
    pub(crate) snapshot: Snapshot,
}

impl SentPacket {
    pub(super) fn is_in_a_later_one(&self) -> bool {
        self.repeated || self.bundled
    }

    /// Whether an answer is awaited by which nothing else would be repeated (L14).
    pub(super) fn waits(&self) -> bool {
        !self.is_in_a_later_one() && self.content != Content::default()
    }

    /// What it is the first to carry.
    pub(crate) fn own_chunks(&self) -> &[Chunk] {
        let Content {
            chunks, bundled, ..
        } = &self.content;
        chunks
            .get(..chunks.len().saturating_sub(*bundled))
            .unwrap_or(&[])
    }

    pub(super) fn is_path_probe(&self) -> bool {
        self.bytes == 0
    }

    /// Whether it left at least so long ago.
    pub(super) fn is_older(&self, age: Duration, now: Duration) -> bool {
        self.sent_at.saturating_add(age) <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is moved when it leaves and when it is acknowledged, and thousands are in flight: three
    /// cache lines.
    #[test]
    fn a_packet_is_small() {
        assert!(
            size_of::<SentPacket>() <= 192,
            "{}",
            size_of::<SentPacket>()
        );
    }
}
