//! How far a packet may fall behind later ones before it counts as lost (L3, L11).

use core::time::Duration;

/// RFC 9002, 6.1.1.
const FEWEST_PACKETS: u64 = 3;
/// What is further behind than a sender remembers is never recognised (L5).
const MOST_PACKETS: u64 = super::sent::MEMORY;
/// A timer of the host is no finer (RFC 9002, 6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// Recoveries after which what was measured begins to be forgotten (RFC 8985, 6.2, step 4).
const RECOVERIES: u32 = 16;

/// The brief window is that part of the shortest round trip at least (L14).
const TAIL_PARTS: u32 = 12;

/// That part of a duration.
pub(super) fn share(of: Duration, parts: u32) -> Duration {
    of.checked_div(parts).unwrap_or_default()
}

/// The largest of what was measured in this period and in the one before.
#[derive(Copy, Clone, Debug, Default)]
struct Peak<T> {
    current: T,
    previous: T,
}

impl<T: Ord + Copy + Default> Peak<T> {
    fn record(&mut self, value: T) {
        self.current = self.current.max(value);
    }

    fn get(&self) -> T {
        self.current.max(self.previous)
    }

    fn age(&mut self) {
        self.previous = core::mem::take(&mut self.current);
    }
}

/// Both thresholds, which follow the reordering that was seen.
#[derive(Debug)]
pub(super) struct Reordering {
    adapts: bool,
    min_rtt: Option<Duration>,
    /// By how many numbers a packet arrived behind the newest.
    distance: Peak<u64>,
    /// By how much later than the newest packet's round trip its acknowledgement came.
    lateness: Peak<Duration>,
    recoveries: u32,
    recovery_end: u64,
}

impl Reordering {
    pub(super) fn new(adapts: bool) -> Self {
        Self {
            adapts,
            min_rtt: None,
            distance: Peak::default(),
            lateness: Peak::default(),
            recoveries: 0,
            recovery_end: 0,
        }
    }

    pub(super) fn handle_round_trip(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    /// When the last packet left of which the peer may have told by now.
    pub(super) fn latest_heard(&self, now: Duration) -> Duration {
        now.saturating_sub(self.min_rtt.unwrap_or(now))
    }

    /// How much later than another a packet may be one way: a little less than the brief window, so
    /// that the peer's probe, which waited for that, shows what is missing (L14).
    pub(super) fn one_way(&self, srtt: Duration) -> Duration {
        let margin = share(self.min_rtt.unwrap_or(srtt), 2 * TAIL_PARTS);
        self.tail_window(srtt).saturating_sub(margin)
    }

    /// A packet was acknowledged after one that left later.
    pub(super) fn handle_reordered(&mut self, distance: u64, lateness: Duration) {
        if self.adapts {
            self.distance.record(distance);
            self.lateness.record(lateness);
        }
    }

    /// Packet `number` is lost, and `next` will be the next one. The losses until `next` is
    /// reached are one recovery, and what is measured counts for 16 to 32 of them.
    pub(super) fn handle_loss(&mut self, number: u64, next: u64) {
        if number < self.recovery_end {
            return;
        }
        self.recovery_end = next;
        self.recoveries = self.recoveries.saturating_add(1);
        if self.recoveries >= RECOVERIES {
            self.recoveries = 0;
            self.distance.age();
            self.lateness.age();
        }
    }

    /// How many numbers later an acknowledged packet proves a loss: a quarter more than the
    /// largest distance seen (L3).
    pub(super) fn packets(&self) -> u64 {
        let seen = self.distance.get();
        let beyond = seen.saturating_add(seen / 4).saturating_add(1);
        beyond.clamp(FEWEST_PACKETS, MOST_PACKETS)
    }

    /// How long after a round trip an overtaken packet is awaited: a quarter more than the
    /// largest lateness seen, at least a quarter of the smallest round trip, at most a
    /// smoothed one (L11). Thresholds that do not adapt take an eighth (RFC 9002, 6.1.2).
    pub(super) fn window(&self, srtt: Duration) -> Duration {
        self.at_least(srtt, 4)
    }

    /// The same of the oldest packet, which nothing overtook; a twelfth is enough, since nothing is taken
    /// for lost after it (L14).
    pub(super) fn tail_window(&self, srtt: Duration) -> Duration {
        self.at_least(srtt, TAIL_PARTS)
    }

    fn at_least(&self, srtt: Duration, parts: u32) -> Duration {
        let min_rtt = self.min_rtt.unwrap_or(srtt);
        if !self.adapts {
            return share(min_rtt, 8).max(GRANULARITY);
        }
        let seen = self.lateness.get();
        let beyond = seen.saturating_add(share(seen, 4));
        let window = beyond.max(share(min_rtt, parts)).min(srtt);
        window.max(GRANULARITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Range;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at_40_ms(adapts: bool) -> Reordering {
        let mut reordering = Reordering::new(adapts);
        reordering.handle_round_trip(ms(60));
        reordering.handle_round_trip(ms(40));
        reordering
    }

    /// (L14)
    #[test]
    fn one_way_a_packet_may_be_nearly_the_brief_window_late() {
        let both = |it: Reordering| [it.tail_window(ms(50)), it.one_way(ms(50))];
        let twelfth = ms(40) / 12;
        assert_eq!(both(at_40_ms(true)), [twelfth, twelfth - ms(40) / 24]);
        assert_eq!(both(at_40_ms(false)), [ms(5), ms(5) - ms(40) / 24]);
        let mut reordering = at_40_ms(true);
        reordering.handle_reordered(100, ms(20));
        assert_eq!(both(reordering), [ms(25), ms(25) - ms(40) / 24]);
    }

    #[test]
    fn both_thresholds_follow_what_was_seen_with_a_quarter_more() {
        let mut reordering = at_40_ms(true);
        assert_eq!(
            (reordering.packets(), reordering.window(ms(50))),
            (3, ms(10))
        );
        reordering.handle_reordered(100, ms(20));
        assert_eq!(
            (reordering.packets(), reordering.window(ms(50))),
            (126, ms(25))
        );
        reordering.handle_reordered(1, ms(1));
        assert_eq!(
            (reordering.packets(), reordering.window(ms(50))),
            (126, ms(25))
        );
    }

    #[test]
    fn both_are_bounded() {
        let mut reordering = at_40_ms(true);
        reordering.handle_reordered(u64::MAX, Duration::MAX);
        assert_eq!(
            (reordering.packets(), reordering.window(ms(50))),
            (MOST_PACKETS, ms(50))
        );
        let mut reordering = Reordering::new(true);
        reordering.handle_round_trip(Duration::ZERO);
        assert_eq!(reordering.window(Duration::ZERO), GRANULARITY);
    }

    #[test]
    fn what_was_seen_is_forgotten_after_16_to_32_recoveries() {
        let mut reordering = at_40_ms(true);
        let recoveries = |reordering: &mut Reordering, numbers: Range<u64>| {
            for number in numbers {
                reordering.handle_loss(10 * number + 3, 10 * number + 10);
                reordering.handle_loss(10 * number + 9, 10 * number + 19); // the same one
            }
        };
        let both = |reordering: &Reordering| (reordering.packets(), reordering.window(ms(50)));
        reordering.handle_reordered(100, ms(20));
        recoveries(&mut reordering, 0..16);
        reordering.handle_reordered(8, ms(12));
        assert_eq!(both(&reordering), (126, ms(25)), "the period before counts");
        recoveries(&mut reordering, 16..31);
        assert_eq!(both(&reordering), (126, ms(25)), "still");
        recoveries(&mut reordering, 31..32);
        assert_eq!(both(&reordering), (11, ms(15)));
        recoveries(&mut reordering, 32..48);
        assert_eq!(both(&reordering), (3, ms(10)));
    }

    #[test]
    fn fixed_thresholds_stay() {
        let mut reordering = at_40_ms(false);
        reordering.handle_reordered(100, ms(20));
        assert_eq!(
            (reordering.packets(), reordering.window(ms(50))),
            (3, ms(5))
        );
    }
}
