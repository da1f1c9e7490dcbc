//! Section 3 of RFC 6298: which round trips may be measured (Karn's algorithm).

use core::{num::NonZeroU16, ops::Range, time::Duration};

use crate::clock::nanos;

/// A round-trip time that may update the estimator, or the reason why it may not.
///
/// Each constructor states what makes the measurement unambiguous (3-1). A stack that
/// retransmits under the same sequence numbers uses a [`Sampler`], which only ever hands
/// out clean ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Meaningful without a rejection; saturates after 584 years.
    rtt_ns: u64,
    /// How many samples a round trip brings.
    expected: NonZeroU16,
    rejection: Option<Rejection>,
}

/// Why a round trip is no valid sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The ACK may answer a retransmission or the original: nobody can tell (3-2).
    Retransmitted,
    /// The ACK lies before the send: the clock went back (D12).
    AckBeforeSend,
}

impl Sample {
    /// The ACK names this very transmission: packet numbers are never reused, so Karn's
    /// problem does not arise.
    #[must_use]
    #[inline]
    pub const fn of_transmission(sent_at: Duration, acked_at: Duration) -> Self {
        let Some(seconds) = acked_at.as_secs().checked_sub(sent_at.as_secs()) else {
            return Self::rejected(Rejection::AckBeforeSend);
        };
        let since_that_second = nanos(Duration::new(seconds, acked_at.subsec_nanos()));
        match since_that_second.checked_sub(sent_at.subsec_nanos() as u64) {
            Some(rtt_ns) => Self::of_nanos(rtt_ns),
            None => Self::rejected(Rejection::AckBeforeSend),
        }
    }

    /// The ACK echoes the timestamp of the transmission it answers: the exception of
    /// (3-2), good for every ACK (3-3). Where every ACK brings a sample, see
    /// [`one_of`](Self::one_of).
    #[must_use]
    pub const fn from_timestamp(sent_at: Duration, acked_at: Duration) -> Self {
        Self::of_transmission(sent_at, acked_at)
    }

    /// A round trip measured elsewhere, by a stack that obeys Karn's algorithm.
    #[must_use]
    #[inline]
    pub const fn measured(rtt: Duration) -> Self {
        Self::of_nanos(nanos(rtt))
    }

    /// The same sample as one of `expected` that a round trip brings: the gains are that many
    /// times smaller, so that the estimate remembers as many round trips as with one (T1). See
    /// [`expected_samples`](crate::expected_samples).
    ///
    /// The error bound grows as the gains shrink: with 9 it is still below 1 ns.
    #[must_use]
    pub const fn one_of(self, expected: NonZeroU16) -> Self {
        Self { expected, ..self }
    }

    /// The same sample of another length.
    pub(crate) const fn with_rtt(self, rtt_ns: u64) -> Self {
        Self { rtt_ns, ..self }
    }

    const fn of_nanos(rtt_ns: u64) -> Self {
        Self {
            rtt_ns,
            expected: NonZeroU16::MIN,
            rejection: None,
        }
    }

    pub(crate) const fn rejected(rejection: Rejection) -> Self {
        Self {
            rejection: Some(rejection),
            ..Self::of_nanos(0)
        }
    }

    /// The round-trip time.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub const fn rtt(&self) -> Result<Duration, Rejection> {
        match self.rejection {
            None => Ok(Duration::from_nanos(self.rtt_ns)),
            Some(rejection) => Err(rejection),
        }
    }

    /// The round-trip time in ns, if it counts as a whole one.
    #[inline]
    pub(crate) const fn whole(&self) -> Option<u64> {
        if self.rejection.is_none() && self.expected.get() == 1 {
            Some(self.rtt_ns)
        } else {
            None
        }
    }

    pub(crate) const fn expected(&self) -> NonZeroU16 {
        self.expected
    }
}

/// Measures round trips for stacks whose retransmissions repeat sequence numbers.
///
/// One segment is timed at a time, so there is a sample per round trip (3-4). A range that
/// was sent before is recognised as a retransmission: it voids the measurement (3-2), and
/// an ACK that covers it together with fresh data gives none either (D15).
///
/// ```
/// # use {core::time::Duration, rto::*};
/// let ms = Duration::from_millis;
/// let mut sampler = Sampler::new();
/// sampler.handle_sent(ms(0), 0..1000);
/// assert_eq!(sampler.handle_acked(ms(80), 1000), Some(Sample::measured(ms(80))));
///
/// sampler.handle_sent(ms(100), 1000..2000);
/// sampler.handle_sent(ms(1_100), 1000..2000); // again: whose ACK will it be?
/// assert_eq!(sampler.handle_acked(ms(1_150), 2000), None);
/// ```
///
/// Sequence numbers are 64 bits wide and never wrap: unwrap narrower ones first, and give
/// a SYN or FIN its own number as TCP does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampler {
    /// The segment being timed: its end, and when it was sent.
    timed: Option<(u64, Duration)>,
    /// One past the highest byte ever sent, sent again, and acknowledged.
    sent: u64,
    sent_again: u64,
    acked: u64,
}

impl Sampler {
    /// Starts at sequence number 0, nothing sent.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            timed: None,
            sent: 0,
            sent_again: 0,
            acked: 0,
        }
    }

    /// The bytes of `range` were sent. Fresh ones start a measurement if none runs; a
    /// range that repeats any byte voids the running one. An empty range does nothing.
    pub fn handle_sent(&mut self, now: Duration, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        if range.start < self.sent {
            self.timed = None; // (3-2)
            self.sent_again = self.sent_again.max(range.end);
        } else {
            self.timed.get_or_insert((range.end, now)); // (3-4)
        }
        self.sent = self.sent.max(range.end);
    }

    /// Everything below `upto` is acknowledged. Gives the sample if this ACK ends a
    /// measurement: rejected where it also covers retransmitted data (D15). What was
    /// never sent cannot be acknowledged: an `upto` beyond it counts as all that was.
    #[must_use = "a sample that is dropped never reaches the estimator"]
    pub fn handle_acked(&mut self, now: Duration, upto: u64) -> Option<Sample> {
        let ambiguous = self.acked < self.sent_again;
        self.acked = self.acked.max(upto.min(self.sent));
        let (_, sent_at) = self.timed.take_if(|(end, _)| *end <= upto)?;
        Some(if ambiguous {
            Sample::rejected(Rejection::Retransmitted)
        } else {
            Sample::of_transmission(sent_at, now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const AMBIGUOUS: Option<Sample> = Some(Sample::rejected(Rejection::Retransmitted));

    #[test]
    fn whole_seconds_count() {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(0), 0..1);
        assert_eq!(
            sampler.handle_acked(ms(2_300), 1),
            Some(Sample::measured(ms(2_300)))
        );
    }

    #[test]
    fn one_segment_is_timed_at_a_time_and_the_next_one_after_it() {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(0), 0..10);
        sampler.handle_sent(ms(5), 10..20);
        assert_eq!(sampler.handle_acked(ms(50), 9), None); // not yet
        assert_eq!(
            sampler.handle_acked(ms(60), 20),
            Some(Sample::measured(ms(60)))
        );
        assert_eq!(sampler.handle_acked(ms(70), 20), None); // duplicate
        sampler.handle_sent(ms(80), 20..30);
        assert_eq!(
            sampler.handle_acked(ms(90), 30),
            Some(Sample::measured(ms(10)))
        );
    }

    #[test]
    fn an_ack_of_old_and_fresh_data_together_is_ambiguous() {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(0), 0..10);
        sampler.handle_sent(ms(1_000), 0..10);
        sampler.handle_sent(ms(1_010), 10..20); // fresh, timed
        assert_eq!(sampler.handle_acked(ms(1_100), 20), AMBIGUOUS);
        // Everything resent is behind us: samples are clean again.
        sampler.handle_sent(ms(1_200), 20..30);
        assert_eq!(
            sampler.handle_acked(ms(1_250), 30),
            Some(Sample::measured(ms(50)))
        );
    }

    #[test]
    fn fresh_data_acknowledged_on_its_own_is_clean() {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(0), 0..10);
        sampler.handle_sent(ms(1_000), 0..10);
        sampler.handle_sent(ms(1_010), 10..20);
        assert_eq!(sampler.handle_acked(ms(1_090), 10), None);
        assert_eq!(
            sampler.handle_acked(ms(1_100), 20),
            Some(Sample::measured(ms(90)))
        );
    }

    #[test]
    fn a_segment_that_repeats_a_byte_beside_new_ones_is_a_retransmission() {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(0), 0..10);
        sampler.handle_sent(ms(20), 9..20);
        assert_eq!(sampler.handle_acked(ms(30), 20), None);
        sampler.handle_sent(ms(40), 20..20);
        assert_eq!(sampler.handle_acked(ms(50), 20), None); // nothing was sent
    }

    #[test]
    fn an_ack_beyond_what_was_sent_makes_nothing_clean() {
        let mut sampler = Sampler::new();
        assert_eq!(sampler.handle_acked(ms(0), 1_000), None);
        sampler.handle_sent(ms(0), 0..10);
        sampler.handle_sent(ms(1_000), 0..10);
        sampler.handle_sent(ms(1_010), 10..20);
        assert_eq!(sampler.handle_acked(ms(1_100), 20), AMBIGUOUS);
    }

    #[test]
    fn a_clock_that_goes_back_gives_no_sample() {
        let mut sampler = Sampler::new();
        sampler.handle_sent(ms(11_000), 0..1);
        let sample = sampler.handle_acked(ms(10_000), 1).unwrap();
        assert_eq!(sample.rtt(), Err(Rejection::AckBeforeSend));
        assert_eq!(
            Sample::from_timestamp(ms(2), ms(1)).rtt(),
            Err(Rejection::AckBeforeSend)
        );
    }
}
