//! When each message is due, and what it holds.

use std::time::Duration;

use crate::time::ms;

/// Bytes of a message.
pub(in crate::matrix) const SIZE: usize = 100;
/// The time between two.
const INTERVAL: Duration = ms(20);
/// How long the connection rests before the first.
const REST: Duration = ms(500);

/// A sender that writes a message whenever one is due.
pub(in crate::matrix) struct Pace {
    count: usize,
    first_at: Option<Duration>,
    written: usize,
}

impl Pace {
    pub(in crate::matrix) const fn of(count: usize) -> Self {
        Self {
            count,
            first_at: None,
            written: 0,
        }
    }

    /// The next message, if it is due.
    pub(in crate::matrix) fn poll(&mut self, now: Duration) -> Option<usize> {
        self.first_at.get_or_insert(now + REST);
        let index = self.written;
        self.wakes_at().filter(|due| *due <= now)?;
        self.written += 1;
        Some(index)
    }

    /// When a message was or is due.
    pub(in crate::matrix) fn due_at(&self, index: usize) -> Option<Duration> {
        let since = INTERVAL * u32::try_from(index).expect("few messages");
        Some(self.first_at? + since)
    }

    pub(in crate::matrix) fn wakes_at(&self) -> Option<Duration> {
        self.due_at(self.written)
            .filter(|_| self.written < self.count)
    }

    /// How long each message took that arrived at such a time; the others are left out.
    pub(in crate::matrix) fn ages(
        &self,
        arrived: impl IntoIterator<Item = Option<Duration>>,
    ) -> Vec<Duration> {
        let ages = arrived.into_iter().enumerate();
        let ages = ages.filter_map(|(index, at)| Some(at? - self.due_at(index)?));
        ages.collect()
    }
}
