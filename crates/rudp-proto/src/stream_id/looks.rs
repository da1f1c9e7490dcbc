//! Counts how often a thread looks at names of streams, so that tests can tell what a call costs
//! among many of them, whatever the machine.

extern crate std;

use core::cell::Cell;
use core::cmp::Ordering;

use super::StreamId;

std::thread_local! {
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// How often since the thread began.
pub(crate) fn looks() -> u64 {
    LOOKS.get()
}

pub(super) fn count() {
    LOOKS.set(LOOKS.get() + 1);
}

impl PartialEq for StreamId {
    fn eq(&self, other: &Self) -> bool {
        count();
        self.0 == other.0
    }
}

impl Ord for StreamId {
    fn cmp(&self, other: &Self) -> Ordering {
        count();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for StreamId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
