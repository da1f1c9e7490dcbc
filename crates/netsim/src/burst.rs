//! Loss in bursts.

use crate::{Probability, fate::Fate};
use core::fmt;

/// The Gilbert-Elliott model of bursty loss: a channel that is good or bad, and loses more when bad.
///
/// The channel starts good. Each packet meets the state it finds, then the state may change; so a
/// stay in a state lasts `1 / probability of leaving it` packets on average.
///
/// ```
/// # use netsim::*;
/// // 5 % of the packets are lost, 4 in a row on average.
/// let burst = GilbertElliott::from_means(4, "5%".parse()?)?;
/// assert_eq!(burst.bad_to_good, "25%".parse()?);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GilbertElliott {
    /// The probability, after each packet, that a good channel turns bad.
    pub good_to_bad: Probability,
    /// The probability, after each packet, that a bad channel turns good.
    pub bad_to_good: Probability,
    /// The loss while the channel is good.
    pub loss_in_good: Probability,
    /// The loss while the channel is bad.
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// Makes a channel that loses nothing when good and everything when bad, from the mean length
    /// of a burst in packets and the mean loss over all packets.
    ///
    /// Both transition probabilities are rounded to the nearest part per billion, so that a burst
    /// of more than two billion packets never ends.
    ///
    /// # Errors
    /// [`BurstError`] if no such channel exists: a burst has one packet or more, and as the good
    /// times between bursts have too, `mean_loss` is at most `mean_burst / (mean_burst + 1)`.
    pub fn from_means(mean_burst: u32, mean_loss: Probability) -> Result<Self, BurstError> {
        let unreachable = BurstError::LossTooHigh {
            mean_burst,
            mean_loss,
        };
        if mean_burst == 0 {
            return Err(BurstError::NoBurst);
        }
        // The share of time in the bad state is in / (in + out) = loss, with out = 1 / burst.
        let one = u64::from(Probability::ALWAYS.ppb());
        let loss = u64::from(mean_loss.ppb());
        let burst = u64::from(mean_burst);
        let out = divide_to_nearest(one, burst);
        let into = divide_to_nearest(
            loss.saturating_mul(one),
            burst.saturating_mul(one.saturating_sub(loss)),
        );
        let probability = |ppb: Option<u64>| {
            let ppb = u32::try_from(ppb?).ok()?;
            Probability::from_ppb(ppb).ok()
        };
        Ok(Self {
            good_to_bad: probability(into).ok_or(unreachable)?,
            bad_to_good: probability(out).ok_or(unreachable)?,
            loss_in_good: Probability::NEVER,
            loss_in_bad: Probability::ALWAYS,
        })
    }

    /// Whether a packet with this fate is lost; moves the channel on by one packet.
    pub(crate) fn loses(&self, bad: &mut bool, fate: &Fate) -> bool {
        let (loss, leave) = if *bad {
            (self.loss_in_bad, self.bad_to_good)
        } else {
            (self.loss_in_good, self.good_to_bad)
        };
        *bad ^= leave.happens(fate.burst_move);
        loss.happens(fate.burst_loss)
    }
}

/// Divides, rounding halves up; `None` if the divisor is 0.
fn divide_to_nearest(dividend: u64, divisor: u64) -> Option<u64> {
    dividend.saturating_add(divisor / 2).checked_div(divisor)
}

/// Why [`GilbertElliott::from_means`] found no such channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstError {
    /// The mean burst is 0 packets long.
    NoBurst,
    /// Bursts of this length, with at least one good packet between them, lose less than this.
    LossTooHigh {
        /// The mean length of a burst asked for, in packets.
        mean_burst: u32,
        /// The mean loss asked for.
        mean_loss: Probability,
    },
}

impl fmt::Display for BurstError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBurst => write!(f, "mean burst is 0 packets, a burst has at least 1"),
            Self::LossTooHigh {
                mean_burst,
                mean_loss,
            } => write!(
                f,
                "mean loss {mean_loss} is out of reach of bursts of {mean_burst} packets: at most \
                 burst / (burst + 1)"
            ),
        }
    }
}

impl core::error::Error for BurstError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(percent: u32) -> Probability {
        Probability::from_percent(percent).expect("at most 100")
    }

    #[test]
    fn means_give_the_transition_probabilities() {
        // bad to good = 1 / burst; good to bad = loss / (burst x (1 - loss)).
        let burst = GilbertElliott::from_means(4, percent(20)).expect("reachable");
        assert_eq!(burst.bad_to_good, percent(25));
        assert_eq!(burst.good_to_bad.ppb(), 62_500_000); // 0.2 / (4 x 0.8)
        assert_eq!(burst.loss_in_good, Probability::NEVER);
        assert_eq!(burst.loss_in_bad, Probability::ALWAYS);
    }

    #[test]
    fn transition_probabilities_are_rounded_to_nearest() {
        for (mean_burst, ppb) in [(3, 333_333_333), (6, 166_666_667), (32, 31_250_000)] {
            let burst = GilbertElliott::from_means(mean_burst, percent(5)).expect("reachable");
            assert_eq!(burst.bad_to_good.ppb(), ppb, "1 / {mean_burst}");
        }
    }

    #[test]
    fn the_loss_is_reachable_up_to_burst_over_burst_plus_one() {
        let (mean_burst, mean_loss) = (4, percent(80));
        let highest = GilbertElliott::from_means(mean_burst, mean_loss).expect("4 / 5");
        assert_eq!(highest.good_to_bad, Probability::ALWAYS);
        for (mean_burst, mean_loss) in [(4, percent(81)), (1, percent(51)), (9, percent(100))] {
            assert_eq!(
                GilbertElliott::from_means(mean_burst, mean_loss),
                Err(BurstError::LossTooHigh {
                    mean_burst,
                    mean_loss
                })
            );
        }
        assert_eq!(
            GilbertElliott::from_means(0, percent(5)),
            Err(BurstError::NoBurst)
        );
    }

    #[test]
    fn no_loss_never_turns_bad() {
        let never = GilbertElliott::from_means(u32::MAX, Probability::NEVER).expect("reachable");
        assert_eq!(never.good_to_bad, Probability::NEVER);
    }
}
