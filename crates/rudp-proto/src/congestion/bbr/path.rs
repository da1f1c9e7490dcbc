//! The path as the model knows it: its bandwidth, and its shortest round trip (G8).

use core::time::Duration;

/// Without a shorter round trip for so long, it is probed.
const PROBE_RTT_EVERY: Duration = Duration::from_secs(5);
const MIN_RTT_LIVES: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Bytes per second: the best of this cycle and of the one before.
    bandwidth: [u64; 2],
    min_rtt: Option<Duration>,
    min_rtt_at: Duration,
    /// The shortest mean of a round since `min_rtt` was last too old: with jitter well above it.
    usual_rtt: Option<Duration>,
    /// The shortest round trip since the last probe for it, and when it was.
    probed_rtt: (Duration, Duration),
}

impl Path {
    pub(super) fn new() -> Self {
        Self {
            bandwidth: [0; 2],
            min_rtt: None,
            min_rtt_at: Duration::ZERO,
            usual_rtt: None,
            probed_rtt: (Duration::MAX, Duration::ZERO),
        }
    }

    /// Bytes per second, 0 before the first sample.
    pub(super) fn bandwidth(&self) -> u64 {
        let [this, last] = self.bandwidth;
        this.max(last)
    }

    pub(super) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// The mean of the fastest round, or the shortest of all while none is over.
    pub(super) fn usual_rtt(&self) -> Option<Duration> {
        self.usual_rtt.or(self.min_rtt)
    }

    /// Says whether the shortest round trip was not seen for so long that it must be probed.
    pub(super) fn handle_rtt(&mut self, now: Duration, rtt: Duration) -> bool {
        let since = |at: Duration| now.saturating_sub(at);
        let (probed, probed_at) = self.probed_rtt;
        let known = probed < Duration::MAX; // what was never measured is not old
        let expired = known && since(probed_at) > PROBE_RTT_EVERY;
        if expired || rtt <= probed {
            self.probed_rtt = (rtt, now);
        }
        let (probed, probed_at) = self.probed_rtt;
        let old = since(self.min_rtt_at) > MIN_RTT_LIVES;
        if old || self.min_rtt.is_none_or(|min| probed <= min) {
            (self.min_rtt, self.min_rtt_at) = (Some(probed), probed_at);
        }
        if old {
            self.usual_rtt = None; // as old, perhaps
        }
        expired
    }

    /// The probe for the shortest round trip is over.
    pub(super) fn handle_rtt_probed(&mut self, now: Duration) {
        let (_, at) = &mut self.probed_rtt;
        *at = now;
    }

    /// A sample of the delivery rate (G3).
    pub(super) fn handle_rate(&mut self, rate: u64, app_limited: bool) {
        if !app_limited || rate > self.bandwidth() {
            let [this, _] = &mut self.bandwidth;
            *this = rate.max(*this);
        }
    }

    /// A round ended, whose round trips had this mean: of few packets it is chance, but better than
    /// nothing.
    pub(super) fn handle_round(&mut self, mean_rtt: Option<Duration>, app_limited: bool) {
        if !app_limited || self.usual_rtt.is_none() {
            self.usual_rtt = [self.usual_rtt, mean_rtt].into_iter().flatten().min();
        }
    }

    /// What is older than the last cycle is forgotten, if that cycle measured anything.
    pub(super) fn handle_cycle(&mut self) {
        let [this, _] = self.bandwidth;
        if this > 0 {
            self.bandwidth = [0, this];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_round_trip_lives_as_long_as_the_shortest() {
        let [at, rtt] = [Duration::from_secs, Duration::from_millis];
        let mut path = Path::new();
        assert_eq!(path.usual_rtt(), None);
        path.handle_rtt(at(1), rtt(40));
        assert_eq!(path.usual_rtt(), Some(rtt(40)));
        path.handle_round(Some(rtt(50)), true);
        path.handle_round(Some(rtt(45)), true);
        assert_eq!(path.usual_rtt(), Some(rtt(50)));
        path.handle_rtt(at(12), rtt(90)); // another path
        path.handle_rtt(at(23), rtt(90));
        assert_eq!(path.usual_rtt(), Some(rtt(90)));
    }

    /// (L2)
    #[test]
    fn a_packet_that_was_held_back_is_the_shortest_round_trip_for_one_sample_at_most() {
        let [at, held] = [Duration::from_secs, Duration::from_secs];
        let usual = Duration::from_millis(40);
        for (until, shortest) in [(10, usual), (12, held(11))] {
            let mut path = Path::new();
            path.handle_rtt(at(1), usual);
            path.handle_rtt(at(until), held(until - 1));
            assert_eq!(path.min_rtt(), Some(shortest), "alone after {until} s");
            path.handle_rtt(at(until), usual);
            assert_eq!(path.min_rtt(), Some(usual));
        }
    }
}
