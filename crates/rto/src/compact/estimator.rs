//! Sections 2 and 4 of RFC 6298 in 32 bits.

use super::{Params, Sample};
use crate::{Collapse, Outcome, PostSyn};

/// SRTT and RTTVAR are in 2^-5 µs: the fewest fraction bits that keep their error bound,
/// [`GUARD`], below a microsecond, and so the widest range (P76).
const FRACTION_BITS: u32 = 5;
const FRACTION: u32 = (1 << FRACTION_BITS) - 1;

/// How far SRTT + 4 x RTTVAR can be from exact, in 2^-5 µs, after any number of samples.
const GUARD: u32 = 28;

/// RTO after a lost handshake (5.7-1).
const POST_SYN_RTO_US: u32 = 3_000_000;

/// The RTO estimator in 16 bytes: round-trip samples in, retransmission timeout out.
///
/// ```
/// # use rto::{Config, Outcome, compact::*};
/// # let params = Params::new(Config::RFC6298)?;
/// let mut estimator = Estimator::new(&params);
/// assert_eq!(estimator.rto_us(), 1_000_000); // (2.1-1)
/// let outcome = estimator.sample(&params, Sample::measured(600_000));
/// assert_eq!(outcome, Outcome::First);
/// assert_eq!(estimator.rto_us(), 1_800_000); // 600 + 4 x 300 ms (2.2-1)
/// estimator.back_off(&params);
/// assert_eq!(estimator.rto_us(), 3_600_000); // (5.5-1)
/// # Ok::<(), Unsupported>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimator {
    /// SRTT and RTTVAR in fixed point; meaningful while `estimate.is_some()`.
    srtt: u32,
    rttvar: u32,
    /// The RTO in force: floored, capped, backed off; below 2^31 (P73).
    rto_us: u32,
    /// Saturates.
    backoffs: u16,
    estimate: Estimate,
}

/// What SRTT and RTTVAR are worth; zero is a sample like any other (D11).
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

impl Estimator {
    /// The largest sample, 134.217727 s: larger ones count as this much (P77).
    pub const MAX_SAMPLE_US: u32 = u32::MAX >> FRACTION_BITS;

    /// Makes an estimator without samples, its RTO the initial one (2.1-1).
    #[must_use]
    pub const fn new(params: &Params) -> Self {
        Self {
            srtt: 0,
            rttvar: 0,
            rto_us: params.initial_us,
            backoffs: 0,
            estimate: Estimate::None,
        }
    }

    /// Takes a round-trip sample in, recomputes the RTO and so ends any back-off (5-N1). An
    /// invalid sample changes nothing.
    #[inline]
    pub fn sample(&mut self, params: &Params, sample: Sample) -> Outcome {
        let rtt = match sample.rtt_us() {
            Ok(rtt_us) => rtt_us.min(params.max_sample_us) << FRACTION_BITS, // (P77)
            Err(rejection) => return Outcome::Rejected(rejection),
        };
        let outcome = if self.estimate.is_some() {
            // RTTVAR first, from the old SRTT (2.3-2).
            let deviation = self.srtt.abs_diff(rtt);
            let (rttvar, exact_rttvar) = blend::<2>(self.rttvar, deviation);
            let (srtt, exact_srtt) = blend::<3>(self.srtt, rtt); // (2.3-1), (2.3-3)
            (self.srtt, self.rttvar) = (srtt, rttvar);
            if !(exact_rttvar && exact_srtt) {
                self.estimate = Estimate::Rounded;
            }
            Outcome::Accepted
        } else {
            // Halving 32nds of a microsecond is exact (2.2-1).
            (self.srtt, self.rttvar) = (rtt, rtt >> 1);
            self.estimate = Estimate::Exact;
            Outcome::First
        };
        self.recompute(params);
        outcome
    }

    /// Doubles the RTO up to the cap (5.5-1), (2.1-2); clears the estimate when this is the
    /// back-off that [`Config::clear_after`](crate::Config::clear_after) names (5-N2).
    pub fn back_off(&mut self, params: &Params) {
        self.rto_us = self.rto_us.saturating_mul(2).min(params.max_us);
        self.backoffs = self.backoffs.saturating_add(1);
        if (params.clear_after).is_some_and(|after| after.get() == self.backoffs) {
            self.clear();
        }
    }

    /// Forgets SRTT and RTTVAR, so that the next sample is a first one (5-N2). The RTO in force
    /// stays until then (D9).
    pub fn clear(&mut self) {
        if self.estimate.is_some() {
            self.estimate = Estimate::Cleared;
        }
    }

    /// New data was acknowledged, perhaps without a sample (D16). After clearing only a sample
    /// helps (D9).
    pub(super) fn acknowledge(&mut self, params: &Params) {
        if params.collapse == Collapse::OnAnyAck && self.estimate != Estimate::Cleared {
            self.recompute(params);
        }
    }

    /// Data transmission begins after a handshake that timed out (5.7-1), (D3).
    pub(super) fn begin_data_after_lost_handshake(&mut self, params: &Params) {
        let rto_us = match params.post_syn {
            PostSyn::Raise => self.rto_us.max(POST_SYN_RTO_US), // (D1)
            PostSyn::Replace => POST_SYN_RTO_US.max(params.min_us), // (2.4-1)
            PostSyn::Keep => return,
        };
        self.rto_us = rto_us.min(params.max_us);
        self.backoffs = 0; // data begins with this RTO
    }

    /// The smoothed round-trip time, to the nearest µs; `None` before a sample and after
    /// clearing.
    #[must_use]
    pub const fn srtt_us(&self) -> Option<u32> {
        self.estimated(self.srtt)
    }

    /// The round-trip time variation, to the nearest µs; `None` before a sample and after
    /// clearing.
    #[must_use]
    pub const fn rttvar_us(&self) -> Option<u32> {
        self.estimated(self.rttvar)
    }

    const fn estimated(&self, value: u32) -> Option<u32> {
        if self.estimate.is_some() {
            let half = value >> (FRACTION_BITS - 1) & 1;
            Some((value >> FRACTION_BITS).wrapping_add(half)) // below 2^27 + 1
        } else {
            None
        }
    }

    /// The retransmission timeout in force, in µs: never zero, below 2^31.
    #[must_use]
    #[inline]
    pub const fn rto_us(&self) -> u32 {
        self.rto_us
    }

    /// The RTO as section 2 computes it, without back-off: from SRTT and RTTVAR, or the initial
    /// one before any sample; after clearing, the one in force.
    #[must_use]
    pub fn base_rto_us(&self, params: &Params) -> u32 {
        match self.estimate {
            Estimate::None => params.initial_us,
            Estimate::Cleared => self.rto_us,
            // The floor comes before any doubling (2.4-1, D4), then the cap (2.5-1, D5).
            Estimate::Exact | Estimate::Rounded => self
                .raw_rto_us(params)
                .max(params.min_us)
                .min(params.max_us),
        }
    }

    /// How often the RTO was doubled since the last sample, or since data transmission began after
    /// a lost handshake, up to 65535.
    #[must_use]
    pub const fn backoffs(&self) -> u16 {
        self.backoffs
    }

    #[inline]
    fn recompute(&mut self, params: &Params) {
        self.rto_us = self.base_rto_us(params);
        self.backoffs = 0;
    }

    /// SRTT + max(G, 4 x RTTVAR) (2.3-4), (4-2), rounded up past the error bound so that it is
    /// never earlier than exact (P76).
    ///
    /// Whole microseconds and fractions apart: the sum of the fixed-point values needs 35 bits,
    /// that of the microseconds, G being below 2^31, only 32.
    #[inline]
    fn raw_rto_us(&self, params: &Params) -> u32 {
        let guard = if self.estimate == Estimate::Rounded {
            GUARD
        } else {
            0
        };
        let variation_us = self.rttvar >> (FRACTION_BITS - 2); // 4 x RTTVAR
        let (term_us, term_fraction) = if variation_us < params.granularity_us {
            (params.granularity_us, 0)
        } else {
            (variation_us, self.rttvar << 2 & FRACTION)
        };
        let fractions = (self.srtt & FRACTION)
            .wrapping_add(term_fraction)
            .wrapping_add(guard);
        (self.srtt >> FRACTION_BITS)
            .wrapping_add(term_us)
            .wrapping_add(fractions.wrapping_add(FRACTION) >> FRACTION_BITS)
    }
}

/// Moves `value` towards `target` by 1/2^`SHIFT` of their distance, rounded to nearest; the flag
/// says whether nothing was lost in rounding. The result lies between the two, so that nothing
/// wraps.
#[inline]
pub(crate) const fn blend<const SHIFT: u32>(value: u32, target: u32) -> (u32, bool) {
    let distance = value.abs_diff(target);
    let half = distance.wrapping_shr(SHIFT.wrapping_sub(1)) & 1;
    let step = distance.wrapping_shr(SHIFT).wrapping_add(half);
    let moved = if value < target {
        value.wrapping_add(step)
    } else {
        value.wrapping_sub(step)
    };
    (moved, distance.trailing_zeros() >= SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn the_state_is_16_bytes() {
        assert!(size_of::<Estimator>() <= 16);
    }

    #[test]
    fn steps_round_to_nearest_in_both_directions_and_nothing_wraps() {
        assert_eq!(blend::<3>(100, 103), (100, false)); // 3/8
        assert_eq!(blend::<3>(100, 104), (101, false)); // 4/8
        assert_eq!(blend::<3>(104, 100), (103, false)); // -4/8
        assert_eq!(blend::<3>(103, 100), (103, false)); // -3/8
        assert_eq!(blend::<3>(100, 108), (101, true));
        assert_eq!(blend::<2>(7, 7), (7, true));
        assert_eq!(blend::<2>(0, u32::MAX), (1 << 30, false)); // 2^30 - 1/4
        assert_eq!(blend::<2>(u32::MAX, 0), (u32::MAX - (1 << 30), false));
    }

    /// The raw RTO of a state, with a granularity of 10 µs.
    fn raw(srtt: u32, rttvar: u32, estimate: Estimate) -> u32 {
        let params = Params::new(Config {
            granularity: core::time::Duration::from_micros(10),
            ..Config::RFC6298
        })
        .unwrap();
        let state = Estimator {
            srtt,
            rttvar,
            estimate,
            ..Estimator::new(&params)
        };
        state.raw_rto_us(&params)
    }

    #[test]
    fn the_sum_is_rounded_up_past_the_guard() {
        assert_eq!(raw(32, 0, Estimate::Exact), 1 + 10);
        assert_eq!(raw(33, 0, Estimate::Exact), 2 + 10);
        assert_eq!(raw(32 + 4, 0, Estimate::Rounded), 2 + 10); // 36 + 28 = 64 units
        assert_eq!(raw(32 + 5, 0, Estimate::Rounded), 3 + 10);
        assert_eq!(raw(31, 87, Estimate::Rounded), 13); // 31 + 4 x 87 + 28 = 407 units
    }

    #[test]
    fn the_granularity_is_compared_with_all_bits_of_the_variation() {
        assert_eq!(raw(0, 79, Estimate::Exact), 10);
        assert_eq!(raw(0, 80, Estimate::Exact), 10);
        assert_eq!(raw(0, 81, Estimate::Exact), 11); // 10.125
    }

    #[test]
    fn the_largest_sums_fit() {
        let max_rto = core::time::Duration::from_micros((1 << 31) - 1);
        let params = Params::new(Config {
            max_rto,
            granularity: max_rto,
            ..Config::RFC6298
        })
        .unwrap();
        let mut estimator = Estimator::new(&params);
        for rtt_us in [u32::MAX, 0, u32::MAX, u32::MAX] {
            estimator.sample(&params, Sample::measured(rtt_us));
            assert_eq!(estimator.rto_us(), (1 << 31) - 1);
        }
        let raw = estimator.raw_rto_us(&params);
        assert!(raw > 1 << 31, "{raw}"); // did not wrap
    }
}
