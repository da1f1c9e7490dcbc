//! How fast the path delivers, measured by each ACK (G3): draft-ietf-ccwg-bbr, 4.1.

use core::time::Duration;

use super::math::rate_of;
use crate::loss::SentPacket;

/// What was delivered when a packet left; the packet carries it until its acknowledgement.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Snapshot {
    delivered: u64,
    delivered_at: Duration,
    /// When the packet left whose acknowledgement was then the newest.
    first_sent_at: Duration,
    app_limited: bool,
}

/// What an ACK says of its newest packet.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    /// Bytes per second; `None` if the interval says nothing.
    pub(super) rate: Option<u64>,
    /// Bytes delivered from the packet's departure to its acknowledgement.
    pub(super) delivered: u64,
    /// All that had been delivered when the packet left.
    pub(super) prior_delivered: u64,
    /// There was not enough to send: the path may be faster.
    pub(super) app_limited: bool,
    pub(super) rtt: Duration,
}

#[derive(Debug, Default)]
pub(super) struct RateEstimator {
    delivered: u64,
    delivered_at: Duration,
    first_sent_at: Duration,
    /// Packets that leave before so much is delivered leave a pipe that is not full.
    app_limited_until: u64,
}

impl RateEstimator {
    /// A packet leaves while `flight` bytes are out.
    pub(super) fn handle_sent(&mut self, now: Duration, flight: u64) -> Snapshot {
        if flight == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.delivered < self.app_limited_until,
        }
    }

    /// There is room and nothing to send, while `flight` bytes are out.
    pub(super) fn handle_app_limited(&mut self, flight: u64) {
        self.app_limited_until = self.delivered.saturating_add(flight.max(1));
    }

    /// These packets were acknowledged at `now`; a span shorter than `min_rtt` gives no rate.
    pub(super) fn handle_acked(
        &mut self,
        now: Duration,
        packets: &[SentPacket],
        min_rtt: Option<Duration>,
    ) -> Option<Sample> {
        for packet in packets {
            self.delivered = self.delivered.saturating_add(packet.bytes);
        }
        let newest = packets
            .iter()
            .max_by_key(|packet| (packet.snapshot.delivered, packet.sent_at))?;
        self.delivered_at = now;
        self.first_sent_at = newest.sent_at;
        let Snapshot {
            delivered: prior_delivered,
            delivered_at,
            first_sent_at,
            app_limited,
        } = newest.snapshot;
        let delivered = self.delivered.saturating_sub(prior_delivered);
        // The slower of the two: acknowledgements may come in a bunch, packets leave in one.
        let acked_in = now.saturating_sub(delivered_at);
        let interval = newest.sent_at.saturating_sub(first_sent_at).max(acked_in);
        let tells = !interval.is_zero() && min_rtt.is_none_or(|min| interval >= min);
        Some(Sample {
            rate: tells.then(|| rate_of(delivered, interval)),
            delivered,
            prior_delivered,
            app_limited,
            rtt: now.saturating_sub(newest.sent_at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Sends packets of 1,000 bytes at these times.
    fn send(rate: &mut RateEstimator, at: &[u64], flight: u64) -> Vec<SentPacket> {
        let packet = |(index, at): (usize, &u64)| SentPacket {
            sent_at: ms(*at),
            bytes: 1_000,
            snapshot: rate.handle_sent(ms(*at), flight + 1_000 * index as u64),
            ..SentPacket::default()
        };
        at.iter().enumerate().map(packet).collect()
    }

    #[test]
    fn a_burst_is_measured_by_its_acks_and_bunched_acks_by_the_sending() {
        let mut rate = RateEstimator::default();
        let burst = send(&mut rate, &[0, 0, 0, 0], 0);
        let sample = rate.handle_acked(ms(40), &burst, None).unwrap();
        assert_eq!(sample.rate, Some(100_000), "4,000 bytes in 40 ms");
        let paced = send(&mut rate, &[40, 60, 80, 100], 0);
        let sample = rate.handle_acked(ms(101), &paced, None).unwrap();
        assert_eq!((sample.delivered, sample.rtt), (4_000, ms(1)));
        assert_eq!(sample.rate, Some(4_000_000 / 61), "61 ms, not 1 ms");
        let sample = rate.handle_acked(
            ms(101),
            &send(&mut RateEstimator::default(), &[100], 0),
            Some(ms(2)),
        );
        assert_eq!(sample.unwrap().rate, None, "shorter than the round trip");
        assert_eq!(rate.handle_acked(ms(102), &[], None), None);
    }

    #[test]
    fn what_left_a_pipe_that_was_not_full_is_marked() {
        let mut rate = RateEstimator::default();
        let first = send(&mut rate, &[0, 0], 0);
        rate.handle_app_limited(2_000);
        let marked = send(&mut rate, &[1], 2_000);
        assert!(!rate.handle_acked(ms(40), &first, None).unwrap().app_limited);
        assert!(
            rate.handle_acked(ms(41), &marked, None)
                .unwrap()
                .app_limited
        );
        let after = send(&mut rate, &[42], 0);
        assert!(!rate.handle_acked(ms(80), &after, None).unwrap().app_limited);
    }
}
