//! Sections 2 and 4 of RFC 6298: from round-trip samples to the RTO.

use core::time::Duration;

use crate::{
    Collapse, Config, ConfigError, PostSyn, Rejection, Sample,
    clock::nanos,
    config::Params,
    fixed::{FRACTION_BITS, ceil_nanos, eighth, from_nanos, quarter, to_duration},
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
    pub(crate) params: Params,
    pub(crate) state: State,
}

/// What changes, in 32 bytes: apart from the parameters, so that neither hides in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// SRTT and RTTVAR in fixed point; meaningful while [`is_taken`](Self::is_taken).
    pub(crate) srtt: u64,
    pub(crate) rttvar: u64,
    /// The RTO without its doublings, in ns: floored, capped. Kept in place of the RTO in force,
    /// whose cap would hide what the doublings can be taken back to (T3).
    pub(crate) base_ns: u64,
    pub(crate) backoffs: u32,
    /// How many guards lie between SRTT + K x RTTVAR and the exact value at most: none until
    /// an update has lost a bit to rounding, then one, or the samples expected per round trip.
    pub(crate) guards: u16,
    pub(crate) estimate: Estimate,
}

/// Whether there are SRTT and RTTVAR. Zero is a sample like any other (D11), so their values
/// cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Estimate {
    /// No sample yet: the RTO is the initial one.
    None,
    /// Cleared after many back-offs: the RTO in force stays (D9).
    Cleared,
    /// From samples, or seeded.
    Taken,
    /// The same, with the parameters of the RFC and one guard.
    Usual,
}

/// The guard of the RFC's parameters, in fixed point (D14).
const USUAL_GUARD: u64 = 28;

impl State {
    pub(crate) const fn is_taken(&self) -> bool {
        matches!(self.estimate, Estimate::Taken | Estimate::Usual)
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
            base_ns: params.initial_ns,
            backoffs: 0,
            guards: 0,
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
        match sample.whole() {
            Some(ns)
                if self.state.estimate == Estimate::Usual && ns <= self.params.max_sample_ns =>
            {
                self.update_as_usual(from_nanos(ns))
            }
            _ => self.update(sample),
        }
    }

    /// The update with the parameters of the RFC, which are worth having as constants: nearly
    /// every sample of nearly every connection. [`update`](Self::update) gives the same.
    #[inline]
    fn update_as_usual(&mut self, rtt: u64) -> Outcome {
        let State { srtt, rttvar, .. } = &mut self.state;
        // The deviation is from the old SRTT (2.3-2).
        let distance = rtt.wrapping_sub(*srtt).cast_signed();
        let spread = (distance.unsigned_abs())
            .wrapping_sub(*rttvar)
            .cast_signed();
        *rttvar = rttvar.wrapping_add_signed(quarter(spread)); // (2.3-1), (2.3-3)
        *srtt = srtt.wrapping_add_signed(eighth(distance));
        let variation = (*rttvar << 2).max(self.params.least_term); // (2.3-4), (4-2)
        let raw = srtt.wrapping_add(variation).wrapping_add(USUAL_GUARD);
        self.state.base_ns = self.bounded(ceil_nanos(raw));
        self.state.backoffs = 0;
        Outcome::Accepted
    }

    /// The update with any parameters; apart, so that what it needs costs the usual one nothing.
    ///
    /// Every value is below 2^59, which the limits of `Config` see to: nothing wraps.
    #[cold]
    #[inline(never)]
    fn update(&mut self, sample: Sample) -> Outcome {
        let rtt = match sample.rtt() {
            Ok(rtt) => self.fixed(rtt),
            Err(rejection) => return Outcome::Rejected(rejection),
        };
        let expected = sample.expected();
        if !self.state.is_taken() {
            self.begin(rtt, rtt >> 1); // halving 256ths of a nanosecond is exact (2.2-1)
            return Outcome::First;
        }
        let State { srtt, rttvar, .. } = self.state;
        let distance = rtt.wrapping_sub(srtt).cast_signed();
        let spread = (distance.unsigned_abs()).wrapping_sub(rttvar).cast_signed();
        let (srtt_step, srtt_exact) = self.params.alpha.part(expected).of(distance);
        let (rttvar_step, rttvar_exact) = self.params.beta.part(expected).of(spread);
        if !(srtt_exact && rttvar_exact) {
            self.state.guards = self.state.guards.max(expected.get());
        }
        self.state.srtt = srtt.wrapping_add_signed(srtt_step);
        self.set_rttvar(rttvar.wrapping_add_signed(rttvar_step));
        self.state.estimate = if self.params.usual && self.state.guards == 1 {
            Estimate::Usual
        } else {
            Estimate::Taken
        };
        self.recompute();
        Outcome::Accepted
    }

    /// A duration in fixed point, cut to `max_sample` (D13).
    pub(crate) fn fixed(&self, value: Duration) -> u64 {
        from_nanos(nanos(value).min(self.params.max_sample_ns))
    }

    /// A chain of updates begins here, exactly.
    pub(crate) fn begin(&mut self, srtt: u64, rttvar: u64) {
        self.state.guards = 0;
        self.state.srtt = srtt;
        self.set_rttvar(rttvar);
        self.state.estimate = Estimate::Taken;
        self.recompute();
    }

    /// An RTTVAR that may be zero, as far as the error bound tells, may have to become G (P21).
    fn set_rttvar(&mut self, rttvar: u64) {
        let Params {
            zero_rttvar,
            rttvar_error,
            ..
        } = self.params;
        let error = rttvar_error.wrapping_mul(u64::from(self.state.guards));
        self.state.rttvar = if rttvar <= error {
            rttvar.max(zero_rttvar)
        } else {
            rttvar
        };
    }

    /// The RTO of section 2 comes into force, and the back-off ends (5-N1).
    pub(crate) fn recompute(&mut self) {
        self.state.base_ns = self.computed_rto_ns();
        self.state.backoffs = 0;
    }

    /// Doubles the RTO, the initial one too (2.1-2), up to the cap (5.5-1), (2.5-1); clears
    /// the estimate when this is the back-off that [`Config::clear_after`] names (5-N2).
    pub fn back_off(&mut self) {
        let backoffs = self.state.backoffs.saturating_add(1);
        self.state.backoffs = backoffs;
        if (self.params.clear_after).is_some_and(|after| after.get() == backoffs) {
            self.clear();
        }
    }

    /// Forgets SRTT and RTTVAR, so that the next sample is a first one (5-N2).
    ///
    /// The RTO in force stays until then (D9).
    pub fn clear(&mut self) {
        if self.state.is_taken() {
            self.state.estimate = Estimate::Cleared;
        }
    }

    /// New data was acknowledged, perhaps without a sample (D16). After clearing only a sample
    /// helps (D9).
    pub(crate) fn acknowledge(&mut self) {
        if self.params.collapse == Collapse::OnAnyAck && !self.was_cleared() {
            self.recompute();
        }
    }

    /// Data transmission begins after a handshake that timed out (5.7-1). SRTT and RTTVAR
    /// are left alone (D3). Tells whether the rule is obeyed at all.
    pub(crate) fn begin_data_after_lost_handshake(&mut self) -> bool {
        let rto_ns = match self.params.post_syn {
            PostSyn::Raise => self.rto_ns().max(POST_SYN_RTO_NS), // (D1)
            PostSyn::Replace => POST_SYN_RTO_NS.max(self.params.min_ns), // (2.4-1)
            PostSyn::Keep => return false,
        };
        self.state.base_ns = rto_ns.min(self.params.max_ns);
        self.state.backoffs = 0; // data begins with this RTO
        true
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
        if self.state.is_taken() {
            Some(to_duration(value))
        } else {
            None
        }
    }

    /// The retransmission timeout in force, never zero.
    #[must_use]
    #[inline]
    pub const fn rto(&self) -> Duration {
        Duration::from_nanos(self.rto_ns())
    }

    /// The base doubled as often as there are back-offs, up to the cap (5.5-1), (2.5-1).
    #[inline]
    pub(crate) const fn rto_ns(&self) -> u64 {
        let State {
            base_ns, backoffs, ..
        } = self.state;
        if backoffs == 0 {
            return base_ns; // nearly always
        }
        let max_ns = self.params.max_ns;
        match max_ns.checked_shr(backoffs) {
            Some(most) if base_ns <= most => base_ns << backoffs,
            _ => max_ns,
        }
    }

    /// When the timer expires if nothing is ever acknowledged, counted from a send: with the
    /// initial RTO of the RFC after 1, 3, 7, 15, 31, 63, 123, 183 s and so on, without end (T10).
    pub fn schedule(&self) -> impl Iterator<Item = Duration> + use<> {
        let (first, max) = (self.rto_ns(), self.params.max_ns);
        core::iter::successors(Some((first, first)), move |&(at, rto)| {
            let rto = rto.saturating_mul(2).min(max); // (5.5-1), (2.5-1)
            Some((rto.saturating_add(at), rto))
        })
        .map(|(at, _)| Duration::from_nanos(at))
    }

    /// The RTO without back-off: as section 2 computes it from SRTT and RTTVAR, or the initial
    /// one before any sample; with 3 s if the handshake timed out (5.7-1); after clearing as it
    /// was before. Doubled [`backoffs`](Self::backoffs) times and capped, it is the RTO in force.
    #[must_use]
    pub const fn base_rto(&self) -> Duration {
        Duration::from_nanos(self.state.base_ns)
    }

    /// How often the RTO was doubled since the last sample, or since data transmission began
    /// after a lost handshake, less what was undone.
    #[must_use]
    pub const fn backoffs(&self) -> u32 {
        self.state.backoffs
    }

    /// The RTO of section 2, or what stands for it.
    pub(crate) fn computed_rto_ns(&self) -> u64 {
        match self.state.estimate {
            Estimate::None => self.params.initial_ns,
            Estimate::Cleared => self.state.base_ns,
            Estimate::Taken | Estimate::Usual => self.bounded(self.raw_rto_ns()),
        }
    }

    /// The floor comes before any doubling (2.4-1, D4); the cap holds here and after each
    /// doubling (2.5-1, D5).
    #[inline]
    fn bounded(&self, raw_ns: u64) -> u64 {
        raw_ns.max(self.params.min_ns).min(self.params.max_ns)
    }

    /// SRTT + max(G, K x RTTVAR) (2.3-4), (4-2), rounded up past the error bound so that
    /// it is never earlier than exact (D14). At most 2^58 + 2^63 and a little.
    pub(crate) fn raw_rto_ns(&self) -> u64 {
        let guard = (self.params.guard).wrapping_mul(u64::from(self.state.guards));
        let variation = self.variation().max(self.params.least_term);
        ceil_nanos((self.state.srtt.wrapping_add(variation)).wrapping_add(guard))
    }

    fn variation(&self) -> u64 {
        (self.state.rttvar).wrapping_mul(u64::from(self.params.k))
    }

    /// G as configured.
    pub(crate) const fn granularity(&self) -> Duration {
        let fixed = self.params.least_term | self.params.zero_rttvar; // one of them is 0
        Duration::from_nanos(fixed >> FRACTION_BITS)
    }

    /// The G that stands in for a smaller K x RTTVAR, in ns, if one does (4-2).
    pub(crate) fn granularity_in_force(&self) -> Option<u64> {
        let least = self.params.least_term;
        (self.variation() < least).then_some(least >> FRACTION_BITS)
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
        assert_eq!(size_of::<State>(), 32);
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
        assert_eq!(estimator.state.guards, 0);
        for _ in 0..40 {
            estimator.sample(Sample::measured(Duration::from_nanos(100_000_001)));
        }
        assert_eq!(estimator.state.guards, 1);
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
        assert_eq!(estimator.base_rto(), ms(2_400));
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
