use crate::{HintRule, Schedule};
use core::num::NonZeroU32;
use core::time::Duration;

/// When to try again after a failure, and when to stop trying.
///
/// Plain data that any number of operations share; each keeps its own [`Retry`](crate::Retry).
/// Every value of every field has a meaning, so there is nothing to refuse but a
/// [`Schedule`], which checks itself; [`lint`](Self::lint) lists what is legal but risky. Start
/// from a [preset](Self#presets) or from [`new`](Self::new), which has the defaults named below, and
/// change what you need:
///
/// ```
/// # use {backoff_policy::*, core::num::NonZeroU32, core::time::Duration};
/// let patient = Policy { attempts: NonZeroU32::new(8), ..Policy::CALLS };
/// let own = Policy {
///     deadline: Some(Duration::from_secs(10)),
///     ..Policy::new(Schedule::new(
///         Duration::from_millis(50),
///         Ratio::new(2, 1),
///         Duration::from_secs(5),
///         Jitter::Full,
///     )?)
/// };
/// let read: Policy = "base=50ms,multiplier=2,cap=5s,jitter=full,deadline=10s".parse()?;
/// assert_eq!(own, read);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Which preset it is, or started from; empty for one of your own.
    pub name: &'static str,
    /// The delays: base, multiplier, cap, jitter.
    pub schedule: Schedule,
    /// How the first delay is made. Default: like every other.
    pub first_delay: FirstDelay,
    /// What the ceiling is multiplied by after a failure that is
    /// [`Throttled`](crate::Class::Throttled), the cap still holding.
    /// Default: 1.
    pub throttle_factor: NonZeroU32,
    /// How many attempts there are at most, the first included: 1 is no retry, n are n - 1 waits
    /// (B7). Default: `None`, no limit, which is what `NonZeroU32::new(0)` gives, too.
    pub attempts: Option<NonZeroU32>,
    /// The time for everything, attempts included (B5). Default: no limit.
    pub deadline: Option<Duration>,
    /// What the deadline is counted from. Default: the first failure.
    pub deadline_from: DeadlineFrom,
    /// What a server's hint counts for (B6). Default: at least that long.
    pub hint: HintRule,
    /// How much of itself is added to a hint at random, in percent, so that those who were told the
    /// same do not return together (B6). [`HintRule::Exact`] adds nothing. Default: 20.
    pub hint_jitter_percent: u8,
    /// How long an attempt must have worked before its failure starts a new series (B8); at zero
    /// every attempt that worked at all does. Default: it never does.
    pub healthy_time: Option<Duration>,
    /// Whether what is not idempotent is tried again (B13). Default: it is not.
    pub repeats: Repeats,
}

/// How the first delay is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FirstDelay {
    /// Like every other.
    #[default]
    Jittered,
    /// Exactly the first ceiling. Its draw is taken all the same (B3).
    Exact,
    /// None: the first retry is at once, and the next waits the first delay. For what fails now
    /// and then by itself; many clients that fail together return together.
    Immediate,
}

/// What the deadline is counted from (B5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum DeadlineFrom {
    /// The end of the first attempt, so that a slow one does not use up the time to retry.
    #[default]
    FirstFailure,
    /// The start of the first attempt.
    Start,
}

/// Whether what is not idempotent is tried again (B13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Repeats {
    /// Only what is idempotent, and what never reached the server.
    #[default]
    Idempotent,
    /// Everything: some of it will be done twice.
    Everything,
}

impl Policy {
    /// Makes a policy without limits: it retries what is idempotent for ever, after at least what
    /// a server's hint says.
    #[must_use]
    pub const fn new(schedule: Schedule) -> Self {
        Self {
            name: "",
            schedule,
            first_delay: FirstDelay::Jittered,
            throttle_factor: NonZeroU32::MIN,
            attempts: None,
            deadline: None,
            deadline_from: DeadlineFrom::FirstFailure,
            hint: HintRule::AtLeast,
            hint_jitter_percent: 20,
            healthy_time: None,
            repeats: Repeats::Idempotent,
        }
    }

    /// How many waits there are, where the attempts are limited (B7).
    #[must_use]
    pub fn waits(&self) -> Option<u32> {
        self.attempts
            .map(|attempts| attempts.get().saturating_sub(1))
    }
}
