//! A clock that wraps: which of two instants is the later one.

use crate::Rejection;

/// The microseconds from `earlier_us` to `later_us`, two readings of a counter that wraps;
/// `None` if `later_us` is the earlier one, that is, 2^31 µs or more ahead (P70).
///
/// A deadline is due when `elapsed(deadline, now)` is some, and `elapsed(now, deadline)` is the
/// time left until then.
#[must_use]
#[inline]
pub const fn elapsed(earlier_us: u32, later_us: u32) -> Option<u32> {
    let difference = later_us.wrapping_sub(earlier_us);
    if difference >> 31 == 0 {
        Some(difference)
    } else {
        None
    }
}

/// A round-trip time in microseconds that may update the estimator, or the reason why it may
/// not. As [`rto::Sample`](crate::Sample), each constructor says what makes it unambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample(Result<u32, Rejection>);

impl Sample {
    /// The ACK names this very transmission: packet numbers are never reused (3-1). An ACK that
    /// lies before its send is none (P71).
    #[must_use]
    #[inline]
    pub const fn of_transmission(sent_us: u32, acked_us: u32) -> Self {
        match elapsed(sent_us, acked_us) {
            Some(rtt_us) => Self(Ok(rtt_us)),
            None => Self(Err(Rejection::AckBeforeSend)),
        }
    }

    /// The ACK echoes the timestamp of the transmission it answers (3-2), (3-3).
    #[must_use]
    #[inline]
    pub const fn from_timestamp(sent_us: u32, acked_us: u32) -> Self {
        Self::of_transmission(sent_us, acked_us)
    }

    /// A round trip measured elsewhere, by a stack that obeys Karn's algorithm.
    #[must_use]
    #[inline]
    pub const fn measured(rtt_us: u32) -> Self {
        Self(Ok(rtt_us))
    }

    /// The round-trip time in microseconds.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub const fn rtt_us(&self) -> Result<u32, Rejection> {
        self.0
    }
}
