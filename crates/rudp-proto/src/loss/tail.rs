//! When to repeat what got no answer, before anything proves it lost (L14).

use core::time::Duration;

use rto::{Estimator, Gain, Sample};

use super::packet::SentPacket;
use super::reordering::share;

/// The most probes between two ACKs of something new.
const MOST_PROBES: u8 = 2;

/// How an ACK's waits are averaged; see [`Tail::usual`].
const WAITS: Estimator = match Estimator::new(rto::Config {
    min_rto: Duration::from_millis(1),
    beta: Gain::new(1, 8),
    k: 3,
    ..rto::Config::RFC6298
}) {
    Ok(waits) => waits,
    Err(_) => panic!("a valid config"),
};

/// So many waits in a row that may be those for something lost are usual all the same.
const MOST_UNUSUAL: u8 = 8;

/// How long to wait while no round trip is known (RFC 8985, 7.2).
const UNMEASURED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Tail {
    /// How long the oldest packet of each ACK had waited for it: a round trip and, where the
    /// peer lets ACKs wait, that. A round-trip sample is of the newest packet (L2).
    waits: Estimator,
    /// The waits in a row that may have been for something lost.
    unusual: u8,
    /// What stands in for SRTT until there is a sample.
    pub(super) guess: Option<Duration>,
    /// The delay of ACKs to expect while none came.
    max_ack_delay: Duration,
    /// When something was last acknowledged or probed for, or left after nothing was in flight.
    quiet_since: Duration,
    /// How many probes there were since something was.
    probes: u8,
    /// The peer told again that it lacks what left by then, which had been as long on its way as the
    /// newest packet there.
    missing: Option<Duration>,
}

impl Tail {
    pub(super) fn new(max_ack_delay: Duration) -> Self {
        Self {
            waits: WAITS,
            unusual: 0,
            guess: None,
            max_ack_delay,
            quiet_since: Duration::ZERO,
            probes: 0,
            missing: None,
        }
    }

    /// Something left while nothing was in flight.
    pub(super) fn begin(&mut self, now: Duration) {
        self.quiet_since = now;
        self.probes = 0;
        self.missing = None;
    }

    /// Something new was acknowledged, of which the oldest left then; the newest came back in a
    /// round trip. The first wait is taken for that of a delayed ACK, and no wait counts which may
    /// have been for something lost: with `gaps`.
    pub(super) fn handle_acked(
        &mut self,
        now: Duration,
        oldest: Option<Duration>,
        rtt: Duration,
        gaps: bool,
    ) {
        self.begin(now);
        let Some(sent_at) = oldest else {
            return;
        };
        let wait = if self.waits.srtt().is_some() {
            now.saturating_sub(sent_at)
        } else {
            rtt.saturating_add(self.max_ack_delay)
        };
        self.unusual = if gaps {
            self.unusual.saturating_add(1)
        } else {
            0
        };
        if self.unusual == 0 || self.unusual > MOST_UNUSUAL {
            self.waits
                .sample(Sample::of_transmission(Duration::ZERO, wait));
        }
    }

    /// The mean and one and a half deviations: what is usual in a third of the waits counts.
    fn usual(&self) -> Option<Duration> {
        let mean = self.waits.srtt()?;
        let deviations = self.waits.rto().saturating_sub(mean);
        Some(mean.saturating_add(share(deviations, 2)))
    }

    /// What left by then, the peer did not have when it sent an ACK of nothing new.
    pub(super) fn handle_missing(&mut self, missing: Duration) {
        self.missing = self.missing.max(Some(missing)); // ACKs may overtake each other
    }

    /// When to repeat the oldest packet: an ACK of it is overdue, and no other came for a while
    /// either, nor did a probe leave. None is overdue before a round trip and a brief `window`, unless
    /// the peer shows that it is missing.
    pub(super) fn deadline(
        &self,
        oldest: &SentPacket,
        srtt: Option<Duration>,
        window: Duration,
    ) -> Option<Duration> {
        if self.probes >= MOST_PROBES {
            return None;
        }
        let left_at = oldest.sent_at;
        let is_missing = |by: &Duration| self.probes == 0 && left_at <= *by;
        if let Some(by) = self.missing.filter(is_missing) {
            return Some(by); // which is over
        }
        let (wait, apart) = srtt.map_or((UNMEASURED, UNMEASURED), |srtt| {
            let unmeasured = srtt.saturating_mul(2).saturating_add(self.max_ack_delay);
            let usual = match self.usual() {
                Some(_) if oldest.content.fills => Duration::ZERO,
                usual => usual.unwrap_or(unmeasured),
            };
            (usual.max(srtt.saturating_add(window)), window)
        });
        let overdue = left_at.saturating_add(wait);
        Some(overdue.max(self.quiet_since.saturating_add(apart)))
    }

    pub(super) fn handle_probe(&mut self, now: Duration) {
        self.quiet_since = now;
        self.probes = self.probes.saturating_add(1);
    }
}
