//! Which rules of RFC 6298 a legal configuration breaks.

use core::{fmt, num::NonZeroU32, time::Duration};

use crate::{Collapse, Config, Gain, PostSyn, VarianceFloor};

impl Config {
    /// The rules of RFC 6298 that this configuration breaks, each with the value.
    ///
    /// More conservative values (a longer initial RTO, a higher floor, a larger K) break
    /// none (1-1), (2.1-3).
    pub fn deviations(&self) -> impl Iterator<Item = Deviation> + use<> {
        const SECOND: Duration = Duration::from_secs(1);
        let rfc = Self::RFC6298;
        [
            (self.initial_rto < SECOND).then_some(Deviation::InitialRto(self.initial_rto)),
            (self.max_sample < self.max_rto.min(Self::LIMIT).max(rfc.max_sample))
                .then_some(Deviation::MaxSample(self.max_sample)),
            (!self.alpha.equals(rfc.alpha)).then_some(Deviation::Alpha(self.alpha)),
            (!self.beta.equals(rfc.beta)).then_some(Deviation::Beta(self.beta)),
            (self.k < rfc.k).then_some(Deviation::K(self.k)),
            (self.min_rto < SECOND).then_some(Deviation::MinRto(self.min_rto)),
            (self.max_rto < rfc.max_rto).then_some(Deviation::MaxRto(self.max_rto)),
            (self.variance_floor == VarianceFloor::ZeroRttvar && !self.granularity.is_zero())
                .then_some(Deviation::SmallVariance(self.granularity)),
            (self.collapse == Collapse::OnAnyAck).then_some(Deviation::CollapseOnAnyAck),
            (self.clear_after == NonZeroU32::new(1)).then_some(Deviation::ClearAfterOne),
            (self.post_syn == PostSyn::Keep || self.max_rto < SECOND.saturating_mul(3))
                .then_some(Deviation::PostSyn),
        ]
        .into_iter()
        .flatten()
    }
}

/// A rule of RFC 6298 that a [`Config`] breaks, with the value that breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deviation {
    /// The initial RTO is below 1 s (2.1-1).
    InitialRto(Duration),
    /// Samples are cut below the RTO's cap or below 1 h (2.3-1).
    MaxSample(Duration),
    /// alpha is not 1/8 (2.3-3).
    Alpha(Gain),
    /// beta is not 1/4 (2.3-3).
    Beta(Gain),
    /// K is below 4 (2.3-4).
    K(u32),
    /// The floor is below 1 s (2.4-1).
    MinRto(Duration),
    /// The cap is below 60 s (2.5-1).
    MaxRto(Duration),
    /// A variance term above zero but below this G stays as it is (4-2).
    SmallVariance(Duration),
    /// A back-off ends without a sample (5-N1).
    CollapseOnAnyAck,
    /// The estimate is cleared after a single back-off, not several (5-N2).
    ClearAfterOne,
    /// After a handshake that timed out the RTO stays as it is, or its cap is below 3 s (5.7-1).
    PostSyn,
}

impl Deviation {
    /// The id of the broken rule, such as `"2.4-1"`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::InitialRto(_) => "2.1-1",
            Self::MaxSample(_) => "2.3-1",
            Self::Alpha(_) | Self::Beta(_) => "2.3-3",
            Self::K(_) => "2.3-4",
            Self::MinRto(_) => "2.4-1",
            Self::MaxRto(_) => "2.5-1",
            Self::SmallVariance(_) => "4-2",
            Self::CollapseOnAnyAck => "5-N1",
            Self::ClearAfterOne => "5-N2",
            Self::PostSyn => "5.7-1",
        }
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) ", self.rule())?;
        match self {
            Self::InitialRto(value) => write!(f, "initial RTO {value:?} is below 1 s"),
            Self::MaxSample(value) => write!(f, "samples are cut at {value:?}"),
            Self::Alpha(gain) => write!(f, "alpha is {gain}, not 1/8"),
            Self::Beta(gain) => write!(f, "beta is {gain}, not 1/4"),
            Self::K(k) => write!(f, "K is {k}, below 4"),
            Self::MinRto(value) => write!(f, "the floor {value:?} is below 1 s"),
            Self::MaxRto(value) => write!(f, "the cap {value:?} is below 60 s"),
            Self::SmallVariance(g) => write!(f, "variance terms below {g:?} are not raised to it"),
            Self::CollapseOnAnyAck => f.write_str("a back-off ends without a sample"),
            Self::ClearAfterOne => f.write_str("a single back-off clears the estimate"),
            Self::PostSyn => f.write_str("a lost handshake does not raise the RTO to 3 s"),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{string::ToString, vec::Vec};

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_rfc_breaks_no_rule() {
        assert_eq!(Config::RFC6298.deviations().count(), 0);
    }

    #[test]
    fn deviations_name_each_broken_rule() {
        let wild = Config {
            initial_rto: ms(500),
            min_rto: ms(200),
            max_rto: ms(30_000),
            alpha: Gain::new(1, 16),
            beta: Gain::new(1, 2),
            k: 2,
            max_sample: ms(1),
            granularity: ms(1),
            variance_floor: VarianceFloor::ZeroRttvar,
            clear_after: NonZeroU32::new(1),
            post_syn: PostSyn::Keep,
            collapse: Collapse::OnAnyAck,
        };
        let rules: Vec<_> = wild
            .deviations()
            .map(|deviation| deviation.rule())
            .collect();
        let expected = [
            "2.1-1", "2.3-1", "2.3-3", "2.3-3", "2.3-4", "2.4-1", "2.5-1", "4-2", "5-N1", "5-N2",
            "5.7-1",
        ];
        assert_eq!(rules, expected);
        for deviation in wild.deviations() {
            assert!(
                deviation
                    .to_string()
                    .starts_with(&std::format!("({})", deviation.rule()))
            );
        }
    }

    #[test]
    fn a_cap_below_three_seconds_leaves_no_room_for_them() {
        let rules = |max_rto| {
            let config = Config {
                max_rto,
                ..Config::RFC6298
            };
            let rules: Vec<_> = config.deviations().map(|broken| broken.rule()).collect();
            rules
        };
        assert_eq!(rules(ms(3_000)), ["2.5-1"]);
        assert_eq!(rules(ms(2_999)), ["2.5-1", "5.7-1"]);
    }

    #[test]
    fn two_sixteenths_are_an_eighth() {
        let same = Config {
            alpha: Gain::new(2, 16),
            beta: Gain::new(16, 64),
            ..Config::RFC6298
        };
        assert_eq!(same.deviations().count(), 0);
    }

    #[test]
    fn conservative_values_break_nothing() {
        let slow = Config {
            initial_rto: ms(3_000),
            min_rto: ms(2_000),
            max_rto: Duration::MAX,
            granularity: ms(500),
            k: 8,
            max_sample: Config::LIMIT,
            post_syn: PostSyn::Replace,
            ..Config::RFC6298
        };
        assert_eq!(slow.deviations().count(), 0);
    }
}
