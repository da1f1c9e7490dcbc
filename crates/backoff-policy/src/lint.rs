//! What is legal but risky in a policy (B17).

use crate::{DeadlineFrom, FirstDelay, HintRule, Jitter, Policy, Repeats};
use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

/// Something legal but risky in a [`Policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lint {
    /// The attempts end before a ceiling is at the cap, so the cap says nothing.
    CapNeverReached {
        /// The first wait that would be at the cap, counted from 1; `None` if none ever were.
        first_at_cap: Option<u32>,
        /// How many waits there are.
        waits: u32,
    },
    /// The deadline may pass before the first wait does, so that nothing is ever retried.
    DeadlineBeforeFirstWait {
        /// The deadline.
        deadline: Duration,
        /// The greatest first delay.
        first_wait: Duration,
    },
    /// Clients that have failed for long all wait exactly the cap, or many of them do.
    PileUpAtCap,
    /// Clients that fail together return together.
    NoJitter,
    /// The first retry is at once for everybody.
    ImmediateFirstRetry,
    /// Nothing ends it but success.
    NoLimit,
    /// Layers of retries multiply: one call becomes so many.
    LayersMultiply {
        /// The calls that the innermost layer makes at most.
        calls: u64,
    },
    /// It retries sooner, or more often, than the preset that it is named for.
    FasterThanNamed(&'static str),
}

/// How far lints look: beyond it every delay of practice is at its cap.
const FAR: u32 = 1_000;

impl Policy {
    /// Lists what is legal but risky.
    ///
    /// ```
    /// # use backoff_policy::{Lint, Policy};
    /// let lints: Vec<_> = Policy::WEBHOOKS.lint().collect();
    /// assert_eq!(lints, [Lint::CapNeverReached { first_at_cap: Some(10), waits: 4 }]);
    /// ```
    pub fn lint(&self) -> impl Iterator<Item = Lint> + use<> {
        let jitters = self.schedule.jitter() != Jitter::None;
        [
            self.unreached_cap(),
            self.early_deadline(),
            self.piles_up().then_some(Lint::PileUpAtCap),
            (!jitters).then_some(Lint::NoJitter),
            (self.first_delay == FirstDelay::Immediate).then_some(Lint::ImmediateFirstRetry),
            (self.attempts.is_none() && self.deadline.is_none()).then_some(Lint::NoLimit),
            self.is_faster_than_named()
                .then_some(Lint::FasterThanNamed(self.name)),
        ]
        .into_iter()
        .flatten()
    }

    /// What several layers of retries around each other make of one call, the outermost first
    /// (B15): `None` where at most one of them retries.
    ///
    /// ```
    /// # use backoff_policy::{Lint, Policy};
    /// let layers = [Policy::CALLS, Policy::CALLS, Policy::AWS_SDK_2_0];
    /// assert_eq!(Policy::lint_layers(&layers), Some(Lint::LayersMultiply { calls: 75 }));
    /// ```
    #[must_use]
    pub fn lint_layers(layers: &[Self]) -> Option<Lint> {
        let attempts = |policy: &Self| policy.attempts.map_or(u64::MAX, |n| u64::from(n.get()));
        let retrying = layers.iter().filter(|policy| attempts(policy) > 1).count();
        let calls = layers.iter().map(attempts).fold(1, u64::saturating_mul);
        (retrying > 1).then_some(Lint::LayersMultiply { calls })
    }

    fn unreached_cap(&self) -> Option<Lint> {
        let (waits, schedule) = (self.waits()?, &self.schedule);
        if schedule.jitter() == Jitter::Decorrelated {
            return None; // a draw may be at the cap at once
        }
        let unlimited = schedule.cap() == Duration::from_nanos(u64::MAX);
        let at_cap = |n: &u32| schedule.ceiling(*n) == schedule.cap();
        let first = (0..FAR).find(at_cap).map(|n| n.saturating_add(1));
        let reached = first.is_some_and(|first| first <= waits);
        (!reached && !unlimited && waits > 0).then_some(Lint::CapNeverReached {
            first_at_cap: first,
            waits,
        })
    }

    fn early_deadline(&self) -> Option<Lint> {
        let deadline = self.deadline?;
        let first_wait = match self.first_delay {
            FirstDelay::Immediate => return None,
            FirstDelay::Exact => self.schedule.base(),
            FirstDelay::Jittered => *self.schedule.bounds(0).end(),
        };
        (deadline <= first_wait).then_some(Lint::DeadlineBeforeFirstWait {
            deadline,
            first_wait,
        })
    }

    /// Whether the waits that it has get to where the cap decides the draw.
    fn piles_up(&self) -> bool {
        let schedule = &self.schedule;
        let last = self
            .waits()
            .map_or(FAR, |waits| waits.min(FAR))
            .checked_sub(1);
        let Some(last) = last else { return false };
        match schedule.jitter() {
            Jitter::Decorrelated | Jitter::ProportionalClipped(_) => {
                *schedule.bounds(last).end() == schedule.cap()
            }
            Jitter::BetweenCeilings => schedule.bounds(last).start() == &schedule.cap(),
            _ => false, // without jitter it is `NoJitter`
        }
    }

    fn is_faster_than_named(&self) -> bool {
        let Some(named) = Self::preset(self.name) else {
            return false;
        };
        let sooner = |n| {
            let (own, named) = (self.schedule.bounds(n), named.schedule.bounds(n));
            own.start() < named.start() || own.end() < named.end()
        };
        let waits = named.waits().unwrap_or(FAR).min(FAR);
        let immediate = |policy: &Self| policy.first_delay == FirstDelay::Immediate;
        let most = |n: Option<NonZeroU32>| n.map_or(u64::MAX, |n| u64::from(n.get()));
        let time = |policy: &Self| policy.deadline.unwrap_or(Duration::MAX);
        let throttled = |policy: &Self| {
            let factor = policy.throttle_factor.get();
            let (base, cap) = (policy.schedule.base(), policy.schedule.cap());
            base.saturating_mul(factor).min(cap)
        };
        let (own_hint, named_hint) = (patience(self.hint), patience(named.hint));
        (0..waits).any(sooner)
            || throttled(self) < throttled(&named)
            || (named_hint.0 && !own_hint.0)
            || own_hint.1 < named_hint.1
            || (self.repeats == Repeats::Everything && named.repeats != Repeats::Everything)
            || (immediate(self) && !immediate(&named))
            || most(self.attempts) > most(named.attempts)
            || time(self) > time(&named)
            || (self.deadline_from == DeadlineFrom::FirstFailure
                && named.deadline_from == DeadlineFrom::Start)
    }
}

/// Whether a short hint leaves the computed delay as it is, and how much a long one adds to it.
const fn patience(rule: HintRule) -> (bool, Duration) {
    match rule {
        HintRule::AtLeast => (true, Duration::MAX),
        HintRule::Within(most) => (true, most),
        HintRule::Ignore => (true, Duration::ZERO),
        HintRule::Exact => (false, Duration::MAX),
        HintRule::Capped(most) => (false, most),
    }
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CapNeverReached {
                first_at_cap,
                waits,
            } => {
                write!(f, "the cap is never reached: ")?;
                match first_at_cap {
                    Some(first) => write!(f, "wait {first} would be the first at it")?,
                    None => f.write_str("no wait would ever be at it")?,
                }
                write!(f, ", and there are {waits}")
            }
            Self::DeadlineBeforeFirstWait {
                deadline,
                first_wait,
            } => {
                write!(
                    f,
                    "the deadline of {deadline:?} may pass before the first wait of {first_wait:?} does"
                )
            }
            Self::PileUpAtCap => f.write_str(
                "draws pile up at the cap: clients that have failed for long return together",
            ),
            Self::NoJitter => f.write_str("no jitter: clients that fail together return together"),
            Self::ImmediateFirstRetry => f.write_str(
                "the first retry is at once: clients that fail together return together",
            ),
            Self::NoLimit => f.write_str("neither attempts nor a deadline end it"),
            Self::LayersMultiply { calls } => write!(
                f,
                "layers of retries multiply: one call becomes up to {calls}; let only the outermost retry"
            ),
            Self::FasterThanNamed(name) => {
                write!(
                    f,
                    "it retries sooner, or more often, than {name}, whose name it has"
                )
            }
        }
    }
}
