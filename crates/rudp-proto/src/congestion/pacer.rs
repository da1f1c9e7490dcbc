//! When the next packet may leave (G4).

use core::time::Duration;

use super::PACKET;
use super::math::{bytes_in, time_of};

/// The most that leaves at once is what the rate makes in this time,
const QUANTUM: Duration = Duration::from_millis(2);
/// but no more than a batch of the system,
pub(super) const MAX_QUANTUM: u64 = 64_000;
/// and no fewer packets than one ACK answers.
const MIN_PACKETS: u64 = 2;
/// A host that wakes late has lost no credit of this time: a tick of its timers, and a slice of the
/// processor that others had.
const LATE: Duration = Duration::from_millis(4);

/// A credit that grows with time, kept as the moment up to which all is paid: a packet moves it
/// by the time that its bytes take, and may leave when it is not in the future.
#[derive(Debug)]
pub(super) struct Pacer {
    paid_until: Duration,
    /// Bytes of a full one.
    packet: u64,
    /// Bytes per second; `None` while no rate is known.
    rate: Option<u64>,
    /// What may leave at once, as the time that it takes at the rate.
    quantum: Duration,
    /// Only the pacer holds something back: a host that comes late finds all the credit of
    /// [`LATE`], however much that is.
    holds: bool,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            paid_until: Duration::ZERO,
            packet: PACKET,
            rate: None,
            quantum: Duration::ZERO,
            holds: false,
        }
    }
}

impl Pacer {
    pub(super) fn set_packet(&mut self, bytes: u64) {
        self.packet = bytes;
        self.set_quantum();
    }

    pub(super) fn rate(&self) -> Option<u64> {
        self.rate
    }

    /// What is not paid yet is paid at the new rate: a slow beginning binds no fast path.
    pub(super) fn set_rate(&mut self, now: Duration, rate: Option<u64>) {
        let rate = rate.map(|rate| rate.max(1));
        if rate == self.rate {
            return; // as most ACKs leave it
        }
        if let Some((before, after)) = self.rate.zip(rate)
            && self.paid_until > now
        {
            // More than a burst is owed only by a clock that went back.
            let owed = bytes_in(self.paid_until.saturating_sub(now), before).min(MAX_QUANTUM);
            self.paid_until = now.saturating_add(time_of(owed, after));
        }
        self.rate = rate;
        self.set_quantum();
    }

    fn set_quantum(&mut self) {
        if let Some(rate) = self.rate {
            let least = self.packet.saturating_mul(MIN_PACKETS);
            let bytes = bytes_in(QUANTUM, rate).min(MAX_QUANTUM).max(least);
            self.quantum = time_of(bytes, rate);
        }
    }

    /// Something else holds packets back, or there are none.
    pub(super) fn release(&mut self) {
        self.holds = false;
    }

    pub(super) fn handle_sent(&mut self, now: Duration, bytes: u64) {
        if let Some(rate) = self.rate {
            let late = if self.holds { LATE } else { Duration::ZERO };
            let oldest = now.saturating_sub(self.quantum.max(late));
            let paid_until = self.paid_until.max(oldest);
            self.paid_until = paid_until.saturating_add(time_of(bytes, rate));
        }
    }

    /// `None`: now. Else when to ask again: half a quantum later than a single packet could
    /// leave, so that no timer is set for each packet.
    pub(super) fn wait(&mut self, now: Duration) -> Option<Duration> {
        if self.rate.is_none() || self.paid_until <= now {
            return None;
        }
        self.holds = true;
        let half = self.quantum.checked_div(2).unwrap_or_default();
        Some(self.paid_until.saturating_add(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends whenever it may for this time; answers bytes sent, the largest burst, wake-ups.
    fn drive(rate: u64, time: Duration) -> (u64, u64, u32) {
        drive_with(rate, time, |next| next)
    }

    /// The same with a timer that wakes up at a time of its own.
    fn drive_with(
        rate: u64,
        time: Duration,
        wakes_at: impl Fn(Duration) -> Duration,
    ) -> (u64, u64, u32) {
        let mut pacer = Pacer::default();
        pacer.set_rate(Duration::ZERO, Some(rate));
        let (mut now, mut sent, mut most, mut wakes) = (Duration::from_secs(1), 0, 0, 0);
        let end = now + time;
        while now < end {
            let before = sent;
            let next = loop {
                match pacer.wait(now) {
                    Some(next) => break next,
                    None => {
                        pacer.handle_sent(now, PACKET);
                        sent += PACKET;
                    }
                }
            };
            assert!(next > now);
            most = most.max(sent - before);
            (now, wakes) = (wakes_at(next), wakes + 1);
        }
        (sent, most, wakes)
    }

    #[test]
    fn a_second_carries_the_rate_in_bursts_of_a_quantum() {
        for (rate, burst) in [
            (10_000, 3 * PACKET),
            (12_500_000, 25_000 + PACKET),
            (1_000_000_000, MAX_QUANTUM + PACKET),
        ] {
            let (sent, most, wakes) = drive(rate, Duration::from_secs(1));
            assert!(
                sent >= rate - rate / 50 && sent <= rate + rate / 50 + burst,
                "{rate}: {sent}"
            );
            assert!(most <= burst, "{rate}: {most}");
            assert!(
                u64::from(wakes) <= (2 * sent / most.min(sent)).max(1_100) + 2,
                "{rate}: {wakes}"
            );
        }
    }

    #[test]
    fn a_host_that_wakes_late_holds_the_rate_and_an_idle_time_saves_nothing() {
        let next_tick = |at: Duration| {
            let ms = u64::try_from(at.as_millis()).unwrap();
            Duration::from_millis(ms + 1)
        };
        let rate = 1_000_000_000;
        let (sent, most, _) = drive_with(rate, Duration::from_secs(1), next_tick);
        assert!(sent >= rate - rate / 50, "{sent}");
        assert!(most <= rate / 500 + PACKET, "{most}");

        let slow = 12_500_000;
        let (sent, most, _) = drive_with(slow, Duration::from_secs(1), |at| at + LATE * 3 / 4);
        assert!(sent >= slow - slow / 50, "{sent}");
        let (_, longest, _) = drive_with(slow, Duration::from_secs(1), |at| at + 5 * LATE);
        assert!(
            most <= longest && longest <= slow / 250 + PACKET,
            "{longest}"
        );

        let mut pacer = Pacer::default();
        pacer.set_rate(Duration::ZERO, Some(rate));
        pacer.handle_sent(Duration::ZERO, rate);
        assert!(pacer.wait(Duration::ZERO).is_some());
        pacer.release();
        let mut burst = 0;
        let now = Duration::from_secs(10);
        while pacer.wait(now).is_none() {
            pacer.handle_sent(now, PACKET);
            burst += PACKET;
        }
        assert!(burst <= MAX_QUANTUM + PACKET, "{burst}");
    }

    #[test]
    fn what_is_unpaid_is_paid_at_the_rate_of_today() {
        let ms = Duration::from_millis;
        let mut pacer = Pacer::default();
        pacer.set_rate(ms(0), Some(10_000));
        pacer.handle_sent(ms(1_000), 12_000);
        let free_at = |pacer: &mut Pacer| pacer.wait(ms(1_000)).expect("a debt");
        assert!(free_at(&mut pacer) > ms(1_900), "a second less a burst");
        pacer.set_rate(ms(1_000), Some(10_000_000));
        assert!(free_at(&mut pacer) < ms(1_003), "12 kB in 1.2 ms");
        pacer.set_rate(ms(1_000), Some(10_000));
        assert!(free_at(&mut pacer) > ms(1_900));
    }

    #[test]
    fn a_round_trip_of_nothing_makes_no_debt() {
        let ms = Duration::from_millis;
        let mut pacer = Pacer::default();
        pacer.set_rate(ms(0), Some(1_000_000));
        pacer.handle_sent(ms(1_000), 10_000);
        pacer.set_rate(ms(1_000), Some(u64::MAX)); // of two readings of a coarse clock
        pacer.set_rate(ms(995), Some(u64::MAX)); // and one that goes back
        pacer.set_rate(ms(995), Some(1_000_000));
        let wait = pacer.wait(ms(995)).unwrap_or_default();
        assert!(wait < ms(1_100), "{wait:?}");
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut pacer = Pacer::default();
        pacer.handle_sent(Duration::ZERO, u64::MAX);
        assert_eq!((pacer.wait(Duration::ZERO), pacer.rate()), (None, None));
        pacer.set_rate(Duration::ZERO, Some(0));
        pacer.handle_sent(Duration::ZERO, u64::MAX);
        assert!(pacer.wait(Duration::ZERO).is_some(), "no division by zero");
    }
}
