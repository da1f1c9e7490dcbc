//! Section 5 of RFC 9002: what of a round trip is the path, and what the peer's delay.

use core::time::Duration;

use super::Space;
use crate::{Estimator, Outcome, Sample, clock::nanos};

/// The round trip that an ACK measured: only where the largest packet it names is newly
/// acknowledged, and it newly acknowledges an ack-eliciting one (P1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// From the send of that largest packet to the ACK, as
    /// [`Sample::of_transmission`] has it. Leave out the time that you let the ACK wait yourself,
    /// for lack of keys.
    pub latest: Sample,
    /// The delay that the ACK states.
    pub ack_delay: Duration,
}

/// The estimate, and the round trips as they were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoundTrips {
    pub(super) estimator: Estimator,
    measured: Option<Measured>,
}

/// In ns, with whatever the peer delayed its ACKs by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Measured {
    min_ns: u64,
    latest_ns: u64,
}

impl RoundTrips {
    pub(super) const fn new(estimator: Estimator) -> Self {
        Self {
            estimator,
            measured: None,
        }
    }

    /// `most_ns` bounds the stated delay once the handshake is confirmed.
    pub(super) fn sample(
        &mut self,
        space: Space,
        round_trip: RoundTrip,
        most_ns: Option<u64>,
    ) -> Outcome {
        let latest_ns = match round_trip.latest.rtt() {
            Ok(rtt) => nanos(rtt),
            Err(rejection) => return Outcome::Rejected(rejection),
        };
        let min_ns = match self.measured {
            Some(measured) => measured.min_ns.min(latest_ns), // (P2)
            None => latest_ns,
        };
        self.measured = Some(Measured { min_ns, latest_ns });
        let stated_ns = nanos(round_trip.ack_delay);
        let delay_ns = match (space, most_ns) {
            (Space::Initial, _) => 0,                     // (P4)
            (_, Some(most_ns)) => stated_ns.min(most_ns), // (P5)
            (_, None) => stated_ns,
        };
        // The first round trip is the least one: nothing can be taken from it (P3).
        let adjusted_ns = (latest_ns.checked_sub(delay_ns))
            .filter(|&adjusted_ns| adjusted_ns >= min_ns) // (P6)
            .unwrap_or(latest_ns);
        self.estimator
            .sample(round_trip.latest.with_rtt(adjusted_ns))
    }

    /// (P7)
    pub(super) const fn forget_least(&mut self) {
        if let Some(Measured { min_ns, latest_ns }) = &mut self.measured {
            *min_ns = *latest_ns;
        }
    }

    pub(super) const fn min(&self) -> Option<Duration> {
        match self.measured {
            Some(measured) => Some(Duration::from_nanos(measured.min_ns)),
            None => None,
        }
    }

    pub(super) const fn latest(&self) -> Option<Duration> {
        match self.measured {
            Some(measured) => Some(Duration::from_nanos(measured.latest_ns)),
            None => None,
        }
    }
}
