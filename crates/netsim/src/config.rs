//! The settings of a link.

use crate::{GilbertElliott, Policer, Probability};
use alloc::vec::Vec;
use core::{fmt, ops::Range, time::Duration};

/// What a [`Link`](crate::Link) does to packets; the default is [`PERFECT`](Self::PERFECT).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// How long every packet propagates, after it left the bottleneck. Default 0.
    pub delay: Duration,
    /// How much `delay` varies, uniformly, either way; at most `delay`. Default 0.
    pub jitter: Duration,
    /// Whether a packet arrives no earlier than those that entered before it; packets held back by
    /// `reorder` are the exception. A packet that would overtake arrives with the one before it, so
    /// packets closer together than `jitter` come in bunches. Default `true`.
    pub keep_order: bool,
    /// The loss of each packet, independently of all others. Default 0 %.
    pub loss: Probability,
    /// Loss in bursts, besides `loss`. Its channel sees every packet that enters, also those that
    /// are lost otherwise. Default none.
    pub burst: Option<GilbertElliott>,
    /// The share of packets held back by `reorder_delay`, so that later ones overtake. Default 0 %.
    pub reorder: Probability,
    /// How long such a packet is held back beyond its delay. Default 10 ms.
    pub reorder_delay: Duration,
    /// The share of packets that arrive twice; the copy has its own jitter and is never held back.
    /// Default 0 %.
    pub duplicate: Probability,
    /// The share of packets in which one bit is flipped, also in their copies. Default 0 %.
    pub corrupt: Probability,
    /// How fast the bottleneck sends, in bits per second; `None`, the default, takes no time.
    pub rate: Option<u64>,
    /// How many bytes may wait while the bottleneck sends another packet; a packet that does not
    /// fit is dropped (tail drop). Default 65,536; without `rate` nothing waits.
    pub queue: usize,
    /// Marks a packet that takes marks ([`Ecn`](crate::Ecn)) if more bytes than this wait once it
    /// has entered, itself included; others wait unmarked. Default none.
    pub mark_above: Option<usize>,
    /// Whether the ECN field of every packet is cleared, after the queue. Default no.
    pub bleach_ecn: bool,
    /// The longest packet, in bytes; a longer one is dropped before the queue. Default none.
    pub mtu: Option<usize>,
    /// By how many bytes each packet is longer on the link than what is handed in, for headers that
    /// are left out: everything that counts bytes counts these too. Default 0.
    pub overhead: usize,
    /// Drops what exceeds a rate as it leaves the bottleneck, without a queue. Default none.
    pub policer: Option<Policer>,
    /// When the link is dark: a packet that would leave the bottleneck at or after a start and
    /// before its end is lost. What left before the start still arrives. Default none.
    pub blackouts: Vec<Range<Duration>>,
}

impl LinkConfig {
    /// The link that delivers every packet at once, once, in order and intact.
    pub const PERFECT: Self = Self {
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        keep_order: true,
        loss: Probability::NEVER,
        burst: None,
        reorder: Probability::NEVER,
        reorder_delay: Duration::from_millis(10),
        duplicate: Probability::NEVER,
        corrupt: Probability::NEVER,
        rate: None,
        queue: 65_536,
        mark_above: None,
        bleach_ecn: false,
        mtu: None,
        overhead: 0,
        policer: None,
        blackouts: Vec::new(),
    };

    /// Checks what the types leave open.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let (delay, jitter) = (self.delay, self.jitter);
        if jitter > delay {
            return Err(ConfigError::JitterAboveDelay { jitter, delay });
        }
        let policed = self.policer.map(|policer| policer.rate);
        let rates = [("rate", self.rate), ("policer.rate", policed)];
        if let Some((field, _)) = rates.into_iter().find(|(_, rate)| *rate == Some(0)) {
            return Err(ConfigError::ZeroRate(field));
        }
        if self.reorder > Probability::NEVER && self.reorder_delay.is_zero() {
            return Err(ConfigError::ReorderWithoutDelay(self.reorder));
        }
        match self.blackouts.iter().find(|range| range.is_empty()) {
            Some(range) => Err(ConfigError::EmptyBlackout(range.clone())),
            None => Ok(()),
        }
    }
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self::PERFECT
    }
}

/// Why a [`LinkConfig`] is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The jitter exceeds the delay: some packets would arrive before they were sent.
    JitterAboveDelay {
        /// The jitter asked for.
        jitter: Duration,
        /// The delay it must not exceed.
        delay: Duration,
    },
    /// `rate` or `policer.rate` is 0 bits per second; a link that carries nothing is a blackout.
    ZeroRate(&'static str),
    /// This share of packets is to be held back, but for no time.
    ReorderWithoutDelay(Probability),
    /// This blackout ends at or before its start.
    EmptyBlackout(Range<Duration>),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JitterAboveDelay { jitter, delay } => {
                write!(f, "jitter {jitter:?} is above the delay {delay:?}")
            }
            Self::ZeroRate(field) => {
                write!(f, "{field} is 0 bits per second, at least 1 is needed")
            }
            Self::ReorderWithoutDelay(share) => {
                write!(f, "reordering {share} of packets needs a delay above 0")
            }
            Self::EmptyBlackout(range) => {
                write!(f, "blackout {range:?} ends at or before its start")
            }
        }
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sensible_settings_pass() {
        let ms = Duration::from_millis;
        let perfect = LinkConfig::default;
        let reorder = Probability::ALWAYS;
        let policer = |rate| Some(Policer { rate, burst: 1 });
        assert_eq!(perfect().validate(), Ok(()));
        for (good, bad, error) in [
            (
                LinkConfig {
                    delay: ms(5),
                    jitter: ms(5),
                    ..perfect()
                },
                LinkConfig {
                    delay: ms(5),
                    jitter: ms(6),
                    ..perfect()
                },
                ConfigError::JitterAboveDelay {
                    jitter: ms(6),
                    delay: ms(5),
                },
            ),
            (
                LinkConfig {
                    rate: Some(1),
                    ..perfect()
                },
                LinkConfig {
                    rate: Some(0),
                    ..perfect()
                },
                ConfigError::ZeroRate("rate"),
            ),
            (
                LinkConfig {
                    policer: policer(1),
                    ..perfect()
                },
                LinkConfig {
                    policer: policer(0),
                    ..perfect()
                },
                ConfigError::ZeroRate("policer.rate"),
            ),
            (
                LinkConfig {
                    reorder,
                    ..perfect()
                },
                LinkConfig {
                    reorder,
                    reorder_delay: ms(0),
                    ..perfect()
                },
                ConfigError::ReorderWithoutDelay(reorder),
            ),
            (
                LinkConfig {
                    blackouts: [ms(1)..ms(2)].into(),
                    ..perfect()
                },
                LinkConfig {
                    blackouts: [ms(1)..ms(2), ms(4)..ms(4)].into(),
                    ..perfect()
                },
                ConfigError::EmptyBlackout(ms(4)..ms(4)),
            ),
        ] {
            assert_eq!(good.validate(), Ok(()), "{good:?}");
            assert_eq!(bad.validate(), Err(error), "{bad:?}");
        }
    }
}
