//! When each connection wants to be called, so that asking for the next one costs the same
//! however many there are.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use super::Handle;

#[derive(Debug, Default)]
pub(super) struct Deadlines {
    queue: BTreeSet<(Duration, Handle)>,
    of: BTreeMap<Handle, Duration>,
}

impl Deadlines {
    pub(super) fn set(&mut self, handle: Handle, deadline: Option<Duration>) {
        let old = match deadline {
            Some(deadline) => self.of.insert(handle, deadline),
            None => self.of.remove(&handle),
        };
        if old == deadline {
            return;
        }
        if let Some(old) = old {
            self.queue.remove(&(old, handle));
        }
        if let Some(deadline) = deadline {
            self.queue.insert((deadline, handle));
        }
    }

    pub(super) fn next(&self) -> Option<Duration> {
        self.queue.first().map(|(deadline, _)| *deadline)
    }

    /// Takes a connection whose deadline is not after `now`.
    pub(super) fn pop_due(&mut self, now: Duration) -> Option<Handle> {
        let (deadline, handle) = *self.queue.first()?;
        if deadline > now {
            return None;
        }
        self.set(handle, None);
        Some(handle)
    }
}
