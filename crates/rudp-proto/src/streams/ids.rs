//! Counting streams: which were opened, and how many may be (S1 to S4).

use crate::StreamKind;

/// As many streams of each kind every side allows at least, so that they can be opened before the
/// peer's limit is known.
const FEWEST: u64 = 1;

/// As many streams of each kind this side has at once, whatever the peer allows (S3).
pub(super) const MOST_OWN: u64 = 65_536;

/// Something for each kind of stream.
#[derive(Debug, Default)]
pub(super) struct PerKind<T> {
    pub(super) bytes: T,
    pub(super) message: T,
}

impl<T> PerKind<T> {
    pub(super) fn get(&self, kind: StreamKind) -> &T {
        match kind {
            StreamKind::Bytes => &self.bytes,
            StreamKind::Message => &self.message,
        }
    }

    pub(super) fn get_mut(&mut self, kind: StreamKind) -> &mut T {
        match kind {
            StreamKind::Bytes => &mut self.bytes,
            StreamKind::Message => &mut self.message,
        }
    }
}

/// The streams of a kind that this side opens.
#[derive(Debug)]
pub(super) struct OwnIds {
    next: u64,
    /// How many are over.
    ended: u64,
    /// How many the peer allows.
    limit: u64,
    /// The application wanted one more.
    refused: bool,
}

impl Default for OwnIds {
    fn default() -> Self {
        Self {
            next: 0,
            ended: 0,
            limit: FEWEST,
            refused: false,
        }
    }
}

impl OwnIds {
    /// The index of a new stream, if there may be one (S3).
    pub(super) fn open(&mut self) -> Option<u64> {
        let index = self.next;
        if index >= self.limit.min(self.ended.saturating_add(MOST_OWN)) {
            self.refused = true;
            return None;
        }
        self.next = index.saturating_add(1);
        Some(index)
    }

    pub(super) fn opened(&self) -> u64 {
        self.next
    }

    /// Whether the application waits for a higher limit.
    pub(super) fn is_awaited(&self) -> bool {
        self.refused
    }

    /// The peer allows so many; says whether the application waits for that.
    pub(super) fn handle_limit(&mut self, limit: u64) -> bool {
        let raised = limit > self.limit;
        self.limit = self.limit.max(limit);
        raised && core::mem::take(&mut self.refused)
    }

    /// One is over; says whether the application waits for that.
    pub(super) fn end(&mut self) -> bool {
        self.ended = self.ended.saturating_add(1);
        self.next < self.limit && core::mem::take(&mut self.refused)
    }
}

/// The streams of a kind that the peer opens.
#[derive(Debug)]
pub(super) struct PeerIds {
    /// The first index that was never opened: below it, a stream lives or is over.
    next: u64,
    /// The first one that the application does not know.
    accepted: u64,
    /// How many may live at once.
    most: u64,
    /// How many are over.
    ended: u64,
    /// The largest limit told to the peer, and acknowledged by it.
    advertised: u64,
    confirmed: u64,
}

impl PeerIds {
    pub(super) fn new(most: u32) -> Self {
        let most = u64::from(most).max(FEWEST);
        Self {
            next: 0,
            accepted: 0,
            most,
            ended: 0,
            advertised: most,
            confirmed: most,
        }
    }

    /// How many the peer knows it may open.
    pub(super) fn limit(&self) -> u64 {
        self.advertised
    }

    pub(super) fn opened(&self) -> u64 {
        self.next
    }

    pub(super) fn open(&mut self) {
        self.next = self.next.saturating_add(1);
    }

    pub(super) fn accept(&mut self) -> Option<u64> {
        let index = self.accepted;
        (index < self.next).then(|| {
            self.accepted = index.saturating_add(1);
            index
        })
    }

    /// One is over; says whether the peer is to hear that it may open more: an eighth of them
    /// (S4).
    pub(super) fn end(&mut self) -> bool {
        self.ended = self.ended.saturating_add(1);
        let more = self.allowed().saturating_sub(self.advertised);
        more >= (self.most / 8).max(1)
    }

    fn allowed(&self) -> u64 {
        self.ended.saturating_add(self.most)
    }

    /// Makes the limit to tell now.
    pub(super) fn renew(&mut self) -> u64 {
        self.advertised = self.allowed();
        self.advertised
    }

    pub(super) fn handle_acked(&mut self, limit: u64) {
        self.confirmed = self.confirmed.max(limit);
    }

    /// Whether the peer may still not know of a limit as high as `limit`, which is the newest.
    pub(super) fn needs(&self, limit: u64) -> bool {
        limit == self.advertised && limit > self.confirmed
    }
}
