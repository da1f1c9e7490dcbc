//! Times as numbers.

use core::time::Duration;

/// No time at all: no deadline, no sample, no cap, no user timeout.
pub const RTO_NONE: u64 = u64::MAX;

pub(crate) fn duration(ns: u64) -> Option<Duration> {
    (ns != RTO_NONE).then_some(Duration::from_nanos(ns))
}

/// In nanoseconds, [`RTO_NONE`] from 584 years on.
pub(crate) fn nanos(duration: impl Into<Option<Duration>>) -> u64 {
    (duration.into()).map_or(RTO_NONE, |some| {
        u64::try_from(some.as_nanos()).unwrap_or(RTO_NONE)
    })
}
