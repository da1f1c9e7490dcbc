//! SRTT, RTTVAR and RTO, exactly.

use std::{num::NonZeroU16, time::Duration};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

use crate::{
    rto_vectors::Verdict,
    settings::{AfterHandshake, CollapseOn, FloorOf, Settings},
};

/// SRTT and RTTVAR in nanoseconds, exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The smoothed round-trip time.
    pub srtt: BigRational,
    /// The round-trip time variation.
    pub rttvar: BigRational,
}

impl Estimate {
    /// Rule 2.2-1.
    #[must_use]
    pub fn first(rtt_ns: u128) -> Self {
        let srtt = whole(rtt_ns);
        let rttvar = &srtt / whole(2);
        Self { srtt, rttvar }
    }

    /// Rules 2.3-1 and 2.3-2: RTTVAR from the old SRTT.
    pub fn update(&mut self, rtt_ns: u128, alpha: &BigRational, beta: &BigRational) {
        let rtt = whole(rtt_ns);
        let deviation = (&self.srtt - &rtt).abs();
        self.rttvar += (deviation - &self.rttvar) * beta;
        self.srtt += (rtt - &self.srtt) * alpha;
    }

    /// Rule 2.3-4, before floor and cap.
    #[must_use]
    pub fn raw_rto(&self, settings: &Settings) -> BigRational {
        let variation = &self.rttvar * whole(settings.k.into());
        &self.srtt
            + match settings.variance_floor {
                FloorOf::Term => variation.max(whole(settings.granularity_ns.into())),
                FloorOf::ZeroRttvar => variation,
            }
    }
}

/// A whole number of nanoseconds as a rational.
#[must_use]
pub fn whole(ns: u128) -> BigRational {
    BigRational::from_integer(BigInt::from(ns))
}

/// A gain as a rational.
#[must_use]
pub fn gain((num, den): (u16, u16)) -> BigRational {
    BigRational::new(num.into(), den.into())
}

/// Sections 2, 4 and 5.5 with their companions. Times are whole nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Estimator {
    settings: Settings,
    pub(super) estimate: Option<Estimate>,
    /// Whether there was one before: then the initial RTO is over.
    cleared: bool,
    /// The RTO before any back-off.
    base_ns: u128,
    pub(super) backoffs: u32,
}

impl Estimator {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            estimate: None,
            cleared: false,
            base_ns: settings.initial_rto_ns.into(),
            backoffs: 0,
        }
    }

    fn capped(&self, rto_ns: u128) -> u128 {
        rto_ns.min(self.settings.max_rto_ns.unwrap_or(u64::MAX).into())
    }

    /// Doubled once for each back-off: 64 times is more than any cap.
    pub(super) fn rto_ns(&self) -> u128 {
        self.capped(self.base_ns << self.backoffs.min(64))
    }

    /// The RTO of section 2: rounded up, then floored, then capped.
    fn computed_ns(&self) -> u128 {
        match &self.estimate {
            Some(estimate) => {
                let raw = estimate.raw_rto(&self.settings).ceil().to_integer();
                let raw = u128::try_from(raw).expect("no term is negative");
                self.capped(raw.max(self.settings.min_rto_ns.into()))
            }
            None => self.settings.initial_rto_ns.into(),
        }
    }

    fn recompute(&mut self) {
        (self.base_ns, self.backoffs) = (self.computed_ns(), 0);
    }

    /// What a sample or a saved value counts as (D13).
    fn cut(&self, value: Duration) -> u128 {
        value.as_nanos().min(self.settings.max_sample_ns.into())
    }

    fn take(&mut self, mut estimate: Estimate) {
        if self.settings.variance_floor == FloorOf::ZeroRttvar && estimate.rttvar.is_zero() {
            estimate.rttvar = whole(self.settings.granularity_ns.into()); // (P21)
        }
        self.estimate = Some(estimate);
        self.recompute();
    }

    pub(super) fn sample(&mut self, rtt: Duration, expected: NonZeroU16) -> Verdict {
        let rtt_ns = self.cut(rtt);
        let Some(mut estimate) = self.estimate.take() else {
            self.take(Estimate::first(rtt_ns));
            return Verdict::First;
        };
        let parts = whole(expected.get().into()); // (T1)
        let [alpha, beta] = [self.settings.alpha, self.settings.beta].map(gain);
        estimate.update(rtt_ns, &(alpha / &parts), &(beta / parts));
        self.take(estimate);
        Verdict::Accepted
    }

    /// Rule T5.
    pub(super) fn seed(&mut self, srtt: Duration, rttvar: Duration) {
        let [srtt, rttvar] = [srtt, rttvar].map(|value| whole(self.cut(value)));
        self.take(Estimate { srtt, rttvar });
    }

    /// Rule T4: what was before is a bound from below.
    pub(super) fn reseed(&mut self, srtt: Duration, rttvar: Duration, rtt: Duration) {
        let granularity = Duration::from_nanos(self.settings.granularity_ns);
        let first = Estimate::first(self.cut(rtt));
        let srtt = whole(self.cut(srtt.saturating_add(2 * granularity)));
        let rttvar = whole(self.cut(rttvar));
        self.take(Estimate {
            srtt: srtt.max(first.srtt),
            rttvar: rttvar.max(first.rttvar),
        });
    }

    pub(super) fn clear(&mut self) {
        self.cleared |= self.estimate.take().is_some();
    }

    pub(super) fn back_off(&mut self) {
        self.backoffs += 1;
        if (self.settings.clear_after).is_some_and(|n| n.get() == self.backoffs) {
            self.clear();
        }
    }

    /// Rules T3 and T4.
    pub(super) fn undo_back_offs(&mut self, times: u32) {
        self.backoffs = self.backoffs.saturating_sub(times);
    }

    /// New data was acknowledged (D16), which tells nothing where the estimate was cleared (D9).
    pub(super) fn acknowledged(&mut self) {
        let waits = self.cleared && self.estimate.is_none();
        if self.settings.collapse == CollapseOn::OnAnyAck && !waits {
            self.recompute();
        }
    }

    /// Rule 5.7-1, after a handshake that timed out.
    pub(super) fn begin_data(&mut self) {
        const THREE_SECONDS: u128 = 3_000_000_000;
        let rto_ns = match self.settings.post_syn {
            AfterHandshake::Raise => self.rto_ns().max(THREE_SECONDS),
            AfterHandshake::Replace => THREE_SECONDS.max(self.settings.min_rto_ns.into()),
            AfterHandshake::Keep => return,
        };
        (self.base_ns, self.backoffs) = (self.capped(rto_ns), 0);
    }
}
