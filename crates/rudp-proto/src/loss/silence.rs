//! When to ask whether a silent path is back (L13).

use core::time::Duration;

/// The part of a silence that passes between two probes.
const PART: u32 = 32;
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(1);

/// The timer has expired, and nothing was acknowledged since.
#[derive(Copy, Clone, Debug)]
pub(super) struct Silence {
    since: Duration,
    /// When the timer or a probe last asked.
    asked: Duration,
    /// The peer was heard since then, and asked at once.
    heard: bool,
}

impl Silence {
    pub(super) fn begin(now: Duration) -> Self {
        Self {
            since: now,
            asked: now,
            heard: false,
        }
    }

    /// When the next probe is due. No sooner than two round trips: RFC 8085, 3.1.3, allows one
    /// datagram a round trip where nothing is known of the path.
    pub(super) fn deadline(&self, srtt: Duration) -> Duration {
        let part = self.asked.saturating_sub(self.since).checked_div(PART);
        let shortest = SHORTEST.max(srtt.saturating_mul(2));
        let pause = part.unwrap_or_default().min(LONGEST).max(shortest);
        self.asked.saturating_add(pause)
    }

    /// The timer or a probe asks.
    pub(super) fn ask(&mut self, now: Duration) {
        self.asked = now;
        self.heard = false;
    }

    /// Something of the peer arrived: whether to ask at once, for the first since the last time.
    pub(super) fn hear(&mut self, now: Duration) -> bool {
        let first = !core::mem::replace(&mut self.heard, true);
        if first {
            self.asked = now;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// How many probes a silence of so many seconds costs.
    fn cost(seconds: u64) -> u32 {
        let mut silence = Silence::begin(ms(1_000));
        let mut probes = 0;
        loop {
            let next = silence.deadline(ms(40));
            if next > ms(seconds * 1_000) {
                return probes;
            }
            silence.ask(next);
            probes += 1;
        }
    }

    #[test]
    fn a_silence_costs_four_probes_a_second_at_first_and_one_in_the_end() {
        assert_eq!([2, 10, 30, 60].map(cost), [4, 35, 73, 104]);
        assert_eq!(cost(7_200) - cost(3_600), 3_600);
    }

    #[test]
    fn a_long_round_trip_stretches_the_pauses() {
        let silence = Silence::begin(ms(1_000));
        assert_eq!(silence.deadline(ms(125)), ms(1_250));
        assert_eq!(silence.deadline(ms(800)), ms(2_600));
    }

    #[test]
    fn the_peer_is_asked_at_once_when_it_is_heard_once_between_two_probes() {
        let mut silence = Silence::begin(ms(1_000));
        assert!(silence.hear(ms(1_100)) && !silence.hear(ms(1_101)));
        assert_eq!(silence.deadline(ms(40)), ms(1_350));
        silence.ask(ms(1_350));
        assert!(silence.hear(ms(1_351)));
    }
}
