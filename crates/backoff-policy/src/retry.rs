use crate::nanos::nanos;
use crate::{
    Class, DeadlineFrom, FirstDelay, Hint, HintRule, Idempotency, Jitter, Layer, Policy, Ratio,
    Repeats, Series, uniform,
};
use core::num::NonZeroU32;
use core::time::Duration;

mod give_up;
pub use give_up::{GiveUp, Reason};
mod step;
pub use step::{Decision, Failure, Wait};

/// One operation that is tried until it succeeds or the [`Policy`] gives up.
///
/// ```text
/// handle_failed(policy, failure, now, draw) ─▶ Retry ─▶ Decision: retry after a delay, or give up
/// handle_woken(policy, now) ─────────────────▶       ─▶ the delay is over: go on, or give up
/// ```
///
/// `now` is the time since a moment that you fix once, by a clock that is never set back; should it
/// be all the same, no wait gets longer (B11). `draw` is uniform over all of `u64`, from a generator
/// that no other client has (B4).
///
/// ```
/// # use {backoff_policy::*, core::time::Duration};
/// let s = Duration::from_secs;
/// let policy = &Policy::CALLS; // 5 attempts; 1, 2, 4, 8 s, each drawn from 0 up
/// let mut retry = Retry::new(s(0));
/// let decision = retry.handle_failed(policy, Class::Transient.into(), s(1), u64::MAX);
/// let Decision::Retry(wait) = decision else { panic!("{decision:?}") };
/// assert_eq!((wait.delay, wait.at, wait.attempt), (s(1), s(2), 2));
///
/// let decision = retry.handle_failed(policy, Class::Permanent.into(), s(3), 0);
/// let Decision::GiveUp(end) = decision else { panic!("{decision:?}") };
/// assert_eq!(end.to_string(), "gave up after 2 attempts in 3s, 1s of it waiting: it will fail again");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub(crate) series: Option<Series>,
    /// In ns, as all that follows.
    pub(crate) started_at: u64,
    pub(crate) first_failed_at: u64,
    /// As asked for.
    pub(crate) slept: u64,
    /// That have failed.
    pub(crate) attempts: u32,
    pub(crate) idempotency: Idempotency,
    pub(crate) layer: Layer,
}

impl Retry {
    /// Makes it as its first attempt starts: idempotent, and retried by nobody else.
    #[must_use]
    pub const fn new(now: Duration) -> Self {
        let now = nanos(now);
        Self {
            series: None,
            started_at: now,
            first_failed_at: now,
            slept: 0,
            attempts: 0,
            idempotency: Idempotency::Always,
            layer: Layer::Outermost,
        }
    }

    /// Says whether it may be done twice.
    #[must_use]
    pub const fn with_idempotency(self, idempotency: Idempotency) -> Self {
        Self {
            idempotency,
            ..self
        }
    }

    /// Says whether somebody further up retries it, too.
    #[must_use]
    pub const fn with_layer(self, layer: Layer) -> Self {
        Self { layer, ..self }
    }

    /// How many attempts have failed since the start, or since the last healthy time.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// An attempt has failed: says what to do. Takes one draw, whatever comes of it (B3).
    pub fn handle_failed(
        &mut self,
        policy: &Policy,
        failure: Failure,
        now: Duration,
        draw: u64,
    ) -> Decision {
        let now_ns = nanos(now);
        let worked = !failure.healthy_for.is_zero();
        if worked && (policy.healthy_time).is_some_and(|time| failure.healthy_for >= time) {
            let (idempotency, layer) = (self.idempotency, self.layer);
            *self = Self::new(now)
                .with_idempotency(idempotency)
                .with_layer(layer); // (B8)
        }
        if self.attempts == 0 {
            self.first_failed_at = now_ns;
        }
        self.attempts = self.attempts.saturating_add(1);
        if let Some(reason) = self.must_end(policy, failure) {
            return Decision::GiveUp(self.give_up(now, reason));
        }
        let delay = self.computed(policy, failure.class, draw);
        let (delay, hint) = match failure.hint {
            Some(Hint::After(hint)) => self.hinted(policy, delay, hint, draw),
            _ => (delay, None),
        };
        if self.left(policy, now).is_some_and(|left| delay >= left) {
            let reason = hint.map_or(Reason::Deadline, Reason::HintBeyondDeadline);
            return Decision::GiveUp(self.give_up(now, reason)); // (B5)
        }
        self.slept = self.slept.saturating_add(nanos(delay));
        Decision::Retry(Wait {
            delay,
            at: now.saturating_add(delay),
            attempt: self.attempts.saturating_add(1),
        })
    }

    /// A wait is over, maybe later than planned: `None` lets the next attempt start (B5).
    #[must_use]
    pub fn handle_woken(&self, policy: &Policy, now: Duration) -> Option<GiveUp> {
        let over = self.left(policy, now).is_some_and(|left| left.is_zero());
        over.then(|| self.give_up(now, Reason::Deadline))
    }

    /// What there is to say when somebody else, such as a budget, ends it.
    #[must_use]
    pub const fn give_up(&self, now: Duration, reason: Reason) -> GiveUp {
        GiveUp {
            reason,
            attempts: self.attempts,
            elapsed: Duration::from_nanos(nanos(now).saturating_sub(self.started_at)),
            slept: Duration::from_nanos(self.slept),
        }
    }

    /// Why no wait could help, before any is computed.
    fn must_end(&self, policy: &Policy, failure: Failure) -> Option<Reason> {
        let refused = failure.hint == Some(Hint::Never) && policy.hint != HintRule::Ignore;
        if failure.class == Class::Permanent || refused {
            return Some(Reason::Permanent);
        }
        let repeatable = self.idempotency == Idempotency::Always
            || failure.class == Class::Unsent
            || policy.repeats == Repeats::Everything;
        if !repeatable {
            return Some(Reason::NotIdempotent); // (B13)
        }
        if self.layer == Layer::Inner {
            return Some(Reason::OuterLayer); // (B15)
        }
        let used_up = (policy.attempts).is_some_and(|attempts| self.attempts >= attempts.get());
        used_up.then_some(Reason::Attempts) // (B7)
    }

    /// The delay by the schedule.
    fn computed(&mut self, policy: &Policy, class: Class, draw: u64) -> Duration {
        let schedule = &policy.schedule;
        let first = self.attempts == 1;
        if first && policy.first_delay == FirstDelay::Immediate {
            return Duration::ZERO;
        }
        let series = self.series.get_or_insert_with(|| Series::new(schedule));
        let factor = match class {
            Class::Throttled => policy.throttle_factor,
            _ => NonZeroU32::MIN,
        };
        if first && policy.first_delay == FirstDelay::Exact {
            let delay = schedule.base().saturating_mul(factor.get());
            if schedule.jitter != Jitter::Decorrelated {
                _ = series.next(schedule, draw);
            }
            return delay.min(schedule.cap());
        }
        series.next_scaled(schedule, factor, draw)
    }

    /// The delay beside a hint, and the hint if it is what decides (B6).
    fn hinted(
        &mut self,
        policy: &Policy,
        delay: Duration,
        hint: Duration,
        draw: u64,
    ) -> (Duration, Option<Duration>) {
        let percent = Ratio::new(policy.hint_jitter_percent.into(), 100);
        let jittered = |hint: Duration| {
            let most = Duration::from_nanos(percent.of(nanos(hint)));
            hint.saturating_add(uniform(most, draw))
        };
        let counts = match policy.hint {
            HintRule::Exact => {
                self.series = None;
                return (hint, Some(hint));
            }
            HintRule::Capped(most) => return (jittered(hint.min(most)), Some(hint)),
            HintRule::Ignore => return (delay, None),
            HintRule::AtLeast => jittered(hint),
            HintRule::Within(most) => jittered(hint).min(delay.saturating_add(most)),
        };
        (counts.max(delay), (counts >= delay).then_some(hint))
    }

    /// The time before the deadline (B5). A clock that went back gives none away (B11).
    fn left(&self, policy: &Policy, now: Duration) -> Option<Duration> {
        let from = match policy.deadline_from {
            DeadlineFrom::FirstFailure if self.attempts == 0 => return None,
            DeadlineFrom::FirstFailure => self.first_failed_at,
            DeadlineFrom::Start => self.started_at,
        };
        let elapsed = Duration::from_nanos(nanos(now).saturating_sub(from));
        policy
            .deadline
            .map(|deadline| deadline.saturating_sub(elapsed))
    }
}
