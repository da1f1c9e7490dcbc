//! What becomes of a message that is never answered.

use core::time::Duration;

use super::{Config, LastWait};
use crate::clock::nanos;

/// Where a message stands: how often it was sent, and what it waits for since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Course {
    /// The wait after the first transmission, the random factor included.
    first_ns: u64,
    wait_ns: u64,
    transmissions: u32,
}

impl Course {
    /// The first transmission of a message that begins with this timeout: the random factor is
    /// 1 + spread x draw / 2^64 (P31).
    pub(super) const fn begin(config: &Config, timeout_ns: u64, draw: u64) -> Self {
        let timeout_ns = least(timeout_ns, nanos(Config::LIMIT));
        let extra_ns = config.spread.drawn(timeout_ns, draw);
        let doubled_ns = least(
            timeout_ns.saturating_add(extra_ns),
            nanos(config.max_timeout),
        );
        Self {
            first_ns: doubled_ns,
            wait_ns: 0,
            transmissions: 1,
        }
        .waiting(config, doubled_ns)
    }

    /// The next transmission, with twice the wait (P30); none after the last one (P32).
    pub(super) const fn next(self, config: &Config) -> Option<Self> {
        if self.is_last(config) {
            return None;
        }
        let doubled_ns = least(self.wait_ns.saturating_mul(2), nanos(config.max_timeout));
        let next = Self {
            transmissions: self.transmissions.saturating_add(1),
            ..self
        };
        Some(next.waiting(config, doubled_ns))
    }

    const fn waiting(self, config: &Config, doubled_ns: u64) -> Self {
        let wait_ns = match config.last_wait {
            LastWait::Times(times) if self.is_last(config) => {
                self.first_ns.saturating_mul(times.get() as u64) // (P32)
            }
            LastWait::Times(_) | LastWait::Doubled => doubled_ns,
        };
        Self { wait_ns, ..self }
    }

    pub(super) const fn is_last(self, config: &Config) -> bool {
        match config.transmissions {
            Some(most) => self.transmissions >= most.get() as u32,
            None => false,
        }
    }

    pub(super) const fn wait_ns(self) -> u64 {
        self.wait_ns
    }

    pub(super) const fn transmissions(self) -> u32 {
        self.transmissions
    }
}

const fn least(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

/// When a message is sent and when it fails if it is never answered, counted from the first
/// transmission (P33).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    config: Config,
    first: Course,
}

impl Schedule {
    pub(super) const fn new(config: Config, timeout_ns: u64, draw: u64) -> Self {
        let first = Course::begin(&config, timeout_ns, draw);
        Self { config, first }
    }

    /// The transmissions, the first at 0; without end where [`Config::transmissions`] is
    /// `None`.
    pub fn sends(&self) -> impl Iterator<Item = Duration> + use<> {
        let Self { config, first } = *self;
        core::iter::successors(Some((0, first)), move |&(at_ns, course): &(u64, Course)| {
            Some((at_ns.saturating_add(course.wait_ns), course.next(&config)?))
        })
        .map(|(at_ns, _)| Duration::from_nanos(at_ns))
    }

    /// The last transmission; `None` where there is no end.
    #[must_use]
    pub const fn last_send(&self) -> Option<Duration> {
        match self.end() {
            Some((last_ns, _)) => Some(Duration::from_nanos(last_ns)),
            None => None,
        }
    }

    /// The failure; `None` where there is no end.
    #[must_use]
    pub const fn fails_after(&self) -> Option<Duration> {
        match self.end() {
            Some((last_ns, wait_ns)) => Some(Duration::from_nanos(last_ns.saturating_add(wait_ns))),
            None => None,
        }
    }

    /// The last transmission and the wait after it: at most 255 steps.
    const fn end(&self) -> Option<(u64, u64)> {
        if self.config.transmissions.is_none() {
            return None;
        }
        let (mut at_ns, mut course) = (0_u64, self.first);
        while let Some(next) = course.next(&self.config) {
            at_ns = at_ns.saturating_add(course.wait_ns);
            course = next;
        }
        Some((at_ns, course.wait_ns))
    }
}
