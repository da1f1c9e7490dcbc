//! When to repeat what got no answer, before anything proves it lost (L14).

use core::time::Duration;

use rto::{Estimator, Gain, Sample};

/// The most probes between two ACKs of something new.
const MOST_PROBES: u8 = 2;

/// The mean and two deviations: an ACK or its packet that is lost makes a tenth of the waits
/// longer, and does not count; what is usual in a quarter of them does.
const WAITS: Estimator = match Estimator::new(rto::Config {
    min_rto: Duration::from_millis(1),
    beta: Gain::new(1, 8),
    k: 2,
    ..rto::Config::RFC6298
}) {
    Ok(waits) => waits,
    Err(_) => panic!("a valid config"),
};

/// How long to wait while no round trip is known (RFC 8985, 7.2).
const UNMEASURED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Tail {
    /// How long the oldest packet of each ACK had waited for it: a round trip and, where the
    /// peer lets ACKs wait, that. A round-trip sample is of the newest packet (L2).
    waits: Estimator,
    /// What stands in for SRTT until there is a sample.
    pub(super) guess: Option<Duration>,
    /// The delay of ACKs to expect while none came.
    max_ack_delay: Duration,
    /// When something was last acknowledged, or left after nothing was in flight.
    heard: Duration,
    /// The last probe since then, and how many there were.
    probed: Duration,
    probes: u8,
    /// The peer told again that it lacks what left by then, which had been as long on its way as the
    /// newest packet there.
    missing: Option<Duration>,
}

impl Tail {
    pub(super) fn new(max_ack_delay: Duration) -> Self {
        Self {
            waits: WAITS,
            guess: None,
            max_ack_delay,
            heard: Duration::ZERO,
            probed: Duration::ZERO,
            probes: 0,
            missing: None,
        }
    }

    /// Something left while nothing was in flight.
    pub(super) fn begin(&mut self, now: Duration) {
        self.heard = now;
        self.probes = 0;
        self.missing = None;
    }

    /// Something new was acknowledged, of which the oldest left then.
    pub(super) fn handle_acked(&mut self, now: Duration, oldest: Option<Duration>) {
        self.begin(now);
        if let Some(sent_at) = oldest {
            self.waits.sample(Sample::of_transmission(sent_at, now));
        }
    }

    /// What left by then, the peer did not have when it sent an ACK of nothing new.
    pub(super) fn handle_missing(&mut self, missing: Duration) {
        self.missing = self.missing.max(Some(missing)); // ACKs may overtake each other
    }

    /// When to repeat what left then and is the oldest: an ACK of it is overdue, and no other
    /// came for a while either. None is overdue before a round trip and a `window` (L11), unless
    /// the peer shows that it is missing.
    pub(super) fn deadline(
        &self,
        oldest: Duration,
        srtt: Option<Duration>,
        window: Duration,
    ) -> Option<Duration> {
        if self.probes >= MOST_PROBES {
            return None;
        }
        let is_missing = |by: &Duration| self.probes == 0 && oldest <= *by;
        if let Some(by) = self.missing.filter(is_missing) {
            return Some(by); // which is over
        }
        let wait = srtt.map_or(UNMEASURED, |srtt| {
            let usual = match self.waits.srtt() {
                Some(_) => self.waits.rto(),
                None => srtt.saturating_mul(2).saturating_add(self.max_ack_delay),
            };
            usual.max(srtt.saturating_add(window))
        });
        let asked = if self.probes > 0 {
            self.probed.max(oldest)
        } else {
            oldest
        };
        let overdue = asked.saturating_add(wait);
        Some(overdue.max(self.heard.saturating_add(window)))
    }

    pub(super) fn handle_probe(&mut self, now: Duration) {
        self.probed = now;
        self.probes = self.probes.saturating_add(1);
    }
}
