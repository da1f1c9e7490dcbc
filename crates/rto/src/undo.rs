//! Taking back what a timeout did, where it proved spurious or no sign of congestion, and
//! starting from what another connection learned.

use core::{num::NonZeroU16, time::Duration};

use crate::{Estimator, Outcome, Sample};

/// SRTT and RTTVAR of a connection, to keep for the next one to the same peer (T5) or
/// over a timeout that may prove spurious (T4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// The round-trip time variation.
    pub rttvar: Duration,
}

impl Estimator {
    /// SRTT and RTTVAR, to the nearest ns; `None` before a sample and after clearing.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let (srtt, rttvar) = (self.srtt()?, self.rttvar()?);
        Some(Snapshot { srtt, rttvar })
    }

    /// Starts from what an earlier connection learned, as RFC 9040 lets it: as if the snapshot
    /// had come from samples (T5). Ends any back-off; the next sample is a later one (2.3-1).
    /// Values above [`Config::max_sample`](crate::Config::max_sample) count as that much.
    ///
    /// ```
    /// # use {core::time::Duration, rto::*};
    /// let ms = Duration::from_millis;
    /// let mut known = Estimator::new(Config::RFC6298)?;
    /// known.sample(Sample::measured(ms(600)));
    ///
    /// let mut fresh = Estimator::new(Config::RFC6298)?;
    /// if let Some(cached) = known.snapshot() {
    ///     fresh.seed(cached);
    /// }
    /// assert_eq!(fresh.rto(), ms(1_800)); // 600 + 4 x 300, not 1 s
    /// # Ok::<(), ConfigError>(())
    /// ```
    pub fn seed(&mut self, snapshot: Snapshot) {
        self.begin(self.fixed(snapshot.srtt), self.fixed(snapshot.rttvar));
    }

    /// Takes in the first sample of data sent after a timeout that proved spurious, as
    /// RFC 4015 has it: SRTT becomes the larger of R and SRTT + 2 G of `before`, RTTVAR the
    /// larger of R/2 and that of `before`, the snapshot from before the timeout (T4).
    ///
    /// The path just showed a round trip longer than the RTO, and one update would forget most
    /// of it.
    pub fn reseed(&mut self, before: Snapshot, sample: Sample) -> Outcome {
        let rtt = match sample.rtt() {
            Ok(rtt) => rtt,
            Err(rejection) => return Outcome::Rejected(rejection),
        };
        let srtt_before = before
            .srtt
            .saturating_add(self.granularity().saturating_mul(2));
        let (rtt, rttvar_before) = (self.fixed(rtt), self.fixed(before.rttvar));
        self.begin(
            rtt.max(self.fixed(srtt_before)),
            rttvar_before.max(rtt >> 1),
        );
        Outcome::Accepted
    }

    /// Takes back the last doubling, as RFC 6069 does where an ICMP message tells that a
    /// retransmission met a broken path and not congestion (T3). The RTO becomes
    /// `min(2^n base, cap)` for the n doublings left, see [`base_rto`](Self::base_rto).
    pub const fn undo_back_off(&mut self) {
        self.state.backoffs = self.state.backoffs.saturating_sub(1);
    }

    /// Takes back every doubling: the timeouts were spurious (T4).
    pub const fn undo_back_offs(&mut self) {
        self.state.backoffs = 0;
    }
}

/// How many samples a round trip brings with timestamps, when every second segment is
/// acknowledged: the divisor of RFC 7323 appendix G for
/// [`Sample::one_of`] (T1). At least 1; `flight_size` and `smss` in bytes.
#[must_use]
pub fn expected_samples(flight_size: u64, smss: u32) -> NonZeroU16 {
    let per_ack = u64::from(smss).saturating_mul(2).max(1);
    let samples = u16::try_from(flight_size.div_ceil(per_ack)).unwrap_or(u16::MAX);
    NonZeroU16::new(samples).unwrap_or(NonZeroU16::MIN)
}

/// Whether a retransmission was spurious, by the test of RFC 3522: the first ACK of new data after
/// it echoes a timestamp from before it, so it answers the original (T2).
#[must_use]
pub fn is_spurious(echoed_sent_at: Duration, retransmitted_at: Duration) -> bool {
    echoed_sent_at < retransmitted_at
}
