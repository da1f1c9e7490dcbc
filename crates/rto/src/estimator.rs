//! Sections 2 and 4 of RFC 6298: from round-trip samples to the RTO.

use core::time::Duration;

use crate::{
    Collapse, Config, ConfigError, PostSyn, Rejection, Sample,
    config::Params,
    fixed::{ceil_nanos, from_nanos, nanos, to_duration},
};

/// RTO after a lost handshake: the initial value of RFC 2988 (5.7-1).
const POST_SYN_RTO_NS: u64 = 3_000_000_000;

/// The RTO estimator of RFC 6298: round-trip samples in, retransmission timeout out.
///
/// ```
/// # use {core::time::Duration, rto::*};
/// let ms = Duration::from_millis;
/// let mut estimator = Estimator::new(Config::RFC6298)?;
/// assert_eq!(estimator.rto(), ms(1_000)); // (2.1-1)
///
/// let sample = Sample::of_transmission(ms(0), ms(600));
/// assert_eq!(estimator.sample(sample), Outcome::First);
/// assert_eq!(estimator.rto(), ms(1_800)); // 600 + 4 x 300 (2.2-1)
/// estimator.back_off();
/// assert_eq!(estimator.rto(), ms(3_600)); // (5.5-1)
/// # Ok::<(), ConfigError>(())
/// ```
///
/// Cheap to copy: make one, checked once, and copy it for every connection. The parameters are
/// in it, apart from the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimator {
    params: Params,
    state: State,
}

/// What changes, in 32 bytes: apart from the parameters, so that neither hides in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// SRTT and RTTVAR in fixed point; meaningful while `estimate.is_some()`.
    srtt: u64,
    rttvar: u64,
    /// The RTO in force, in ns: floored, capped, backed off.
    rto_ns: u64,
    backoffs: u32,
    estimate: Estimate,
}

/// What SRTT and RTTVAR are worth. Zero is a sample like any other (D11), so
/// their values cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Estimate {
    /// No sample yet: the RTO is the initial one.
    None,
    /// Cleared after many back-offs: the RTO in force stays (D9).
    Cleared,
    /// No update lost a bit to rounding so far.
    Exact,
    /// Within the guard of the exact value.
    Rounded,
}

impl Estimate {
    const fn is_some(self) -> bool {
        matches!(self, Self::Exact | Self::Rounded)
    }
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was the first, or the first since the estimate was cleared (2.2-1).
    First,
    /// It updated the estimate (2.3-1).
    Accepted,
    /// It was no valid sample; nothing changed.
    Rejected(Rejection),
}

impl Estimator {
    /// Makes an estimator without samples, its RTO the initial one (2.1-1).
    ///
    /// # Errors
    ///
    /// The first value of `config` that is out of bounds, see [`ConfigError`].
    pub const fn new(config: Config) -> Result<Self, ConfigError> {
        let params = match Params::new(config) {
            Ok(params) => params,
            Err(error) => return Err(error),
        };
        let state = State {
            srtt: 0,
            rttvar: 0,
            rto_ns: params.initial_ns,
            backoffs: 0,
            estimate: Estimate::None,
        };
        Ok(Self { params, state })
    }

    /// Takes a round-trip sample in, recomputes the RTO and so ends any back-off (5-N1).
    ///
    /// An invalid sample changes nothing. One above [`Config::max_sample`] counts as that much
    /// (D13).
    #[inline]
    pub fn sample(&mut self, sample: Sample) -> Outcome {
        let rtt = match sample.rtt() {
            Ok(rtt) => from_nanos(nanos(rtt).min(self.params.max_sample_ns)),
            Err(rejection) => return Outcome::Rejected(rejection),
        };
        let state = &mut self.state;
        let outcome = if state.estimate.is_some() {
            let deviation = state.srtt.abs_diff(rtt);
            // RTTVAR first, from the old SRTT (2.3-2).
            let (rttvar, exact_rttvar) = self.params.beta.blend(state.rttvar, deviation);
            let (srtt, exact_srtt) = self.params.alpha.blend(state.srtt, rtt); // (2.3-1)
            (state.srtt, state.rttvar) = (srtt, rttvar);
            if !(exact_rttvar && exact_srtt) {
                state.estimate = Estimate::Rounded;
            }
            Outcome::Accepted
        } else {
            // Halving 256ths of a nanosecond is exact (2.2-1).
            (state.srtt, state.rttvar) = (rtt, rtt >> 1);
            state.estimate = Estimate::Exact;
            Outcome::First
        };
        self.state.rto_ns = self.base_rto_ns();
        self.state.backoffs = 0;
        outcome
    }

    /// Doubles the RTO, the initial one too (2.1-2), up to the cap (5.5-1), (2.5-1); clears
    /// the estimate when this is the back-off that [`Config::clear_after`] names (5-N2).
    pub fn back_off(&mut self) {
        let state = &mut self.state;
        state.rto_ns = state.rto_ns.saturating_mul(2).min(self.params.max_ns);
        state.backoffs = state.backoffs.saturating_add(1);
        if (self.params.clear_after).is_some_and(|after| after.get() == state.backoffs) {
            self.clear();
        }
    }

    /// Forgets SRTT and RTTVAR, so that the next sample is a first one (5-N2).
    ///
    /// The RTO in force stays until then (D9).
    pub fn clear(&mut self) {
        if self.state.estimate.is_some() {
            self.state.estimate = Estimate::Cleared;
        }
    }

    /// New data was acknowledged, perhaps without a sample (D16).
    pub(crate) fn acknowledge(&mut self) {
        if self.params.collapse == Collapse::OnAnyAck {
            self.state.rto_ns = self.base_rto_ns();
            self.state.backoffs = 0;
        }
    }

    /// Data transmission begins after a handshake that timed out (5.7-1). SRTT and RTTVAR
    /// are left alone (D3).
    pub(crate) fn begin_data_after_lost_handshake(&mut self) {
        let rto_ns = match self.params.post_syn {
            PostSyn::Raise => self.state.rto_ns.max(POST_SYN_RTO_NS), // (D1)
            PostSyn::Replace => POST_SYN_RTO_NS.max(self.params.min_ns), // (2.4-1)
            PostSyn::Keep => return,
        };
        self.state.rto_ns = rto_ns.min(self.params.max_ns);
    }

    /// The smoothed round-trip time, to the nearest ns; `None` before a sample and after
    /// clearing.
    #[must_use]
    pub const fn srtt(&self) -> Option<Duration> {
        self.estimated(self.state.srtt)
    }

    /// The round-trip time variation, to the nearest ns; `None` before a sample and after
    /// clearing.
    #[must_use]
    pub const fn rttvar(&self) -> Option<Duration> {
        self.estimated(self.state.rttvar)
    }

    const fn estimated(&self, value: u64) -> Option<Duration> {
        if self.state.estimate.is_some() {
            Some(to_duration(value))
        } else {
            None
        }
    }

    /// The retransmission timeout in force, never zero.
    #[must_use]
    #[inline]
    pub const fn rto(&self) -> Duration {
        Duration::from_nanos(self.state.rto_ns)
    }

    /// The RTO as section 2 computes it, without back-off: from SRTT and RTTVAR, or the
    /// initial one before any sample; after clearing, the one in force.
    #[must_use]
    pub fn base_rto(&self) -> Duration {
        Duration::from_nanos(self.base_rto_ns())
    }

    /// How often the RTO was doubled since the last sample.
    #[must_use]
    pub const fn backoffs(&self) -> u32 {
        self.state.backoffs
    }

    #[inline]
    fn base_rto_ns(&self) -> u64 {
        match self.state.estimate {
            Estimate::None => self.params.initial_ns,
            Estimate::Cleared => self.state.rto_ns,
            // The floor comes before any doubling (2.4-1, D4); the cap holds here and
            // after each doubling (2.5-1, D5).
            Estimate::Exact | Estimate::Rounded => self
                .raw_rto_ns()
                .max(self.params.min_ns)
                .min(self.params.max_ns),
        }
    }

    /// SRTT + max(G, K x RTTVAR) (2.3-4), (4-2), rounded up past the error bound so that
    /// it is never earlier than exact (D14).
    #[inline]
    pub(crate) fn raw_rto_ns(&self) -> u64 {
        let guard = if self.state.estimate == Estimate::Rounded {
            self.params.guard
        } else {
            0
        };
        ceil_nanos(
            self.state
                .srtt
                .saturating_add(self.variance_term())
                .saturating_add(guard),
        )
    }

    #[inline]
    fn variance_term(&self) -> u64 {
        let variation = self.state.rttvar.saturating_mul(u64::from(self.params.k));
        variation.max(self.params.granularity)
    }

    pub(crate) const fn params(&self) -> &Params {
        &self.params
    }

    /// Whether the variance term is G rather than K x RTTVAR (4-2).
    pub(crate) fn granularity_rules(&self) -> bool {
        self.state.rttvar.saturating_mul(u64::from(self.params.k)) < self.params.granularity
    }

    pub(crate) const fn was_cleared(&self) -> bool {
        matches!(self.state.estimate, Estimate::Cleared)
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn fed(config: Config, samples_ms: &[u64]) -> Estimator {
        let mut estimator = Estimator::new(config).unwrap();
        for &sample in samples_ms {
            estimator.sample(Sample::measured(ms(sample)));
        }
        estimator
    }

    #[test]
    fn the_state_is_32_bytes_without_the_parameters() {
        assert!(size_of::<State>() <= 32);
    }

    #[test]
    fn an_estimator_can_be_a_constant() {
        const ESTIMATOR: Result<Estimator, ConfigError> = Estimator::new(Config::RFC6298);
        assert_eq!(ESTIMATOR.unwrap().rto(), ms(1_000));
    }

    #[test]
    fn exact_samples_give_exact_timeouts_and_rounded_ones_the_guard() {
        let mut config = Config::RFC6298;
        (config.min_rto, config.granularity) = (Duration::ZERO, Duration::from_nanos(1));
        let mut estimator = fed(config, &[100]);
        assert_eq!(estimator.rto(), ms(300));
        assert_eq!(estimator.state.estimate, Estimate::Exact);
        for _ in 0..40 {
            estimator.sample(Sample::measured(Duration::from_nanos(100_000_001)));
        }
        assert_eq!(estimator.state.estimate, Estimate::Rounded);
    }

    #[test]
    fn a_rejected_sample_changes_nothing() {
        let mut estimator = fed(Config::RFC6298, &[700, 900]);
        estimator.back_off();
        let before = estimator;
        let outcome = estimator.sample(Sample::of_transmission(ms(11_000), ms(10_000)));
        assert_eq!(outcome, Outcome::Rejected(Rejection::AckBeforeSend));
        assert_eq!(estimator, before);
    }

    #[test]
    fn outcomes_tell_first_from_later_and_clearing_starts_over() {
        let mut estimator = Estimator::new(Config::RFC6298).unwrap();
        assert_eq!(
            estimator.sample(Sample::measured(Duration::ZERO)),
            Outcome::First
        );
        assert_eq!(
            estimator.sample(Sample::measured(Duration::ZERO)),
            Outcome::Accepted
        );
        estimator.clear();
        assert_eq!((estimator.srtt(), estimator.rttvar()), (None, None));
        assert_eq!(estimator.sample(Sample::measured(ms(9))), Outcome::First);
    }

    #[test]
    fn clearing_before_any_sample_keeps_the_initial_rto() {
        let mut estimator = Estimator::new(Config::RFC6298).unwrap();
        estimator.clear();
        assert_eq!(estimator.base_rto(), ms(1_000));
    }

    #[test]
    fn backing_off_a_million_times_stays_at_the_cap() {
        let mut estimator = fed(Config::RFC6298, &[300]);
        let mut last = estimator.rto();
        for _ in 0..1_000_000 {
            estimator.back_off();
            assert!(estimator.rto() >= last);
            last = estimator.rto();
        }
        assert_eq!(last, ms(60_000));
        assert_eq!(estimator.backoffs(), 1_000_000);
    }

    #[test]
    fn without_a_cap_the_back_off_saturates() {
        let mut estimator = Estimator::new(Config {
            max_rto: Duration::MAX,
            ..Config::RFC6298
        })
        .unwrap();
        for _ in 0..100 {
            estimator.back_off();
        }
        assert_eq!(estimator.rto(), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn clearing_happens_at_the_named_back_off_only() {
        let config = Config {
            clear_after: NonZeroU32::new(2),
            ..Config::RFC6298
        };
        let mut estimator = fed(config, &[800]);
        estimator.back_off();
        assert!(estimator.srtt().is_some());
        estimator.back_off();
        assert!(estimator.srtt().is_none());
        assert_eq!(estimator.rto(), ms(9_600)); // 4 x (800 + 4 x 400) (D9)
        assert_eq!(estimator.base_rto(), ms(9_600));
    }

    #[test]
    fn three_seconds_after_a_lost_handshake_keep_to_floor_and_cap() {
        let replace = |min_rto, max_rto| {
            let mut estimator = Estimator::new(Config {
                initial_rto: min_rto,
                min_rto,
                max_rto,
                post_syn: PostSyn::Replace,
                ..Config::RFC6298
            })
            .unwrap();
            estimator.back_off();
            estimator.begin_data_after_lost_handshake();
            estimator.rto()
        };
        assert_eq!(replace(ms(2_000), ms(60_000)), ms(3_000));
        assert_eq!(replace(ms(5_000), ms(60_000)), ms(5_000));
        assert_eq!(replace(ms(1_000), ms(2_500)), ms(2_500));
    }

    #[test]
    fn the_largest_sums_fit() {
        let config = Config {
            k: Config::MAX_K,
            max_sample: Config::LIMIT,
            max_rto: Duration::MAX,
            granularity: Config::LIMIT,
            alpha: crate::Gain::new(1, u16::MAX),
            beta: crate::Gain::new(1, u16::MAX),
            ..Config::RFC6298
        };
        let mut estimator = fed(config, &[]);
        for rtt in [Duration::MAX, Duration::ZERO, Duration::MAX, Duration::MAX] {
            estimator.sample(Sample::measured(rtt));
            assert!(estimator.rto() >= Config::LIMIT);
            assert!(estimator.rto() <= Config::LIMIT * 34);
        }
    }
}
