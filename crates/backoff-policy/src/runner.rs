//! What runs a policy: drivers that sleep, and decide nothing.

mod blocking;
mod clock;
mod counters;
mod draws;
mod error;
mod event;
mod layer;
mod session;
mod tell;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(feature = "tower")]
mod tower;

use crate::{Budget, Class, Failure, Hint, Idempotency, Layer, Policy};
pub use blocking::retry_blocking;
use core::fmt;
use core::time::Duration;
pub use counters::Counters;
use draws::Draws;
pub use error::RetryError;
pub use event::Event;
use session::{Next, Session, Settings};
use std::boxed::Box;

#[cfg(feature = "tokio")]
pub use self::tokio::{Running, retry};
#[cfg(feature = "tower")]
pub use self::tower::{TowerPolicy, TowerWait};

/// An operation and what it goes by, until it is run: awaited, if `retry` made it, or
/// [`run`](Self::run), if [`retry_blocking`] did.
///
/// ```text
/// op ──Ok──▶ the result
///  └──Err──▶ classify, hint ─▶ Policy, Budget ─▶ wait, op again
///                                            └─▶ RetryError: the error, and why
/// ```
///
/// A retry inside the attempt of another makes one attempt only, and leaves the rest to that one
/// (B15), see [`layer`](Self::layer).
#[must_use = "it does nothing until it is awaited or run"]
pub struct Retrying<'a, Op, E> {
    op: Op,
    options: Options<'a, E>,
}

type SharedBudget<'a> = &'a (dyn Budget + Sync);
type Classify<'a, E> = Box<dyn FnMut(&E) -> Failure + Send + 'a>;
type HintOf<'a, E> = Box<dyn FnMut(&E) -> Option<Hint> + Send + 'a>;
type Observe<'a, E> = Box<dyn FnMut(Event<'_, E>) + Send + 'a>;

struct Options<'a, E> {
    settings: Settings<SharedBudget<'a>>,
    questions: Questions<'a, E>,
    #[cfg(feature = "tokio")]
    attempt_timeout: Option<Duration>,
}

/// What only the host knows of its errors.
struct Questions<'a, E> {
    classify: Option<Classify<'a, E>>,
    hint: Option<HintOf<'a, E>>,
    observe: Option<Observe<'a, E>>,
}

impl<'a, Op, E> Retrying<'a, Op, E> {
    fn new(policy: Policy, op: Op) -> Self {
        Self {
            op,
            options: Options {
                settings: Settings::new(policy),
                questions: Questions {
                    classify: None,
                    hint: None,
                    observe: None,
                },
                #[cfg(feature = "tokio")]
                attempt_timeout: None,
            },
        }
    }

    /// Says what an error means (B13): a [`Class`], or a whole [`Failure`], where the attempt knows
    /// how long it had worked. Without it every error is [`Class::Transient`].
    pub fn classify<F: Into<Failure>>(
        mut self,
        mut classify: impl FnMut(&E) -> F + Send + 'a,
    ) -> Self {
        self.options.questions.classify = Some(Box::new(move |error| classify(error).into()));
        self
    }

    /// Says what the server said of when to come back (B6). Without it, nothing.
    pub fn hint(mut self, hint: impl FnMut(&E) -> Option<Hint> + Send + 'a) -> Self {
        self.options.questions.hint = Some(Box::new(hint));
        self
    }

    /// Says whether the operation may be done twice (B13). Without it, it may.
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.options.settings.idempotency = idempotency;
        self
    }

    /// Says whether somebody further up retries it, too (B15). Without it, whoever started it inside
    /// an attempt of another retry does. A task or a thread that an attempt spawns is outside.
    pub fn layer(mut self, layer: Layer) -> Self {
        self.options.settings.layer = Some(layer);
        self
    }

    /// Spends on attempts only what a budget allows that many operations share. What a dropped
    /// operation holds goes back (B10).
    ///
    /// All runners of this crate tell a budget the time by one clock, which starts a day before
    /// the program first retries anything. A [`Call`](crate::Call) of your own that goes by another
    /// needs another budget.
    pub fn budget(mut self, budget: &'a (impl Budget + Sync)) -> Self {
        self.options.settings.budget = Some(budget);
        self
    }

    /// Counts in these what it comes to (B12).
    pub fn counters(mut self, counters: &Counters) -> Self {
        self.options.settings.counters = Some(counters.clone());
        self
    }

    /// Calls `observe` for each retry that is decided, and at the end.
    pub fn observe(mut self, observe: impl FnMut(Event<'_, E>) + Send + 'a) -> Self {
        self.options.questions.observe = Some(Box::new(observe));
        self
    }

    /// Names it in what `tracing` is told (feature `tracing`).
    pub fn named(mut self, name: &'static str) -> Self {
        self.options.settings.name = name;
        self
    }

    /// Takes its draws from a generator with this seed: for tests that replay. Never use one seed
    /// for two operations (B4).
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.settings.draws = Draws::seeded(seed);
        self
    }

    /// Takes its draws, uniform over all of `u64`, from a function: for tests that name each delay.
    /// There is one for each failure, and with a budget one before each attempt, too.
    pub fn draws(mut self, draws: impl FnMut() -> u64 + Send + 'static) -> Self {
        self.options.settings.draws = Draws::Function(Box::new(draws));
        self
    }
}

impl<Op, E> fmt::Debug for Retrying<'_, Op, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retrying")
            .field("policy", &self.options.settings.policy)
            .finish_non_exhaustive()
    }
}

impl<'a, E> Options<'a, E> {
    fn begin(self, now: Duration) -> Runner<'a, E> {
        Runner {
            session: Session::begin(self.settings, now),
            questions: self.questions,
            error: None,
        }
    }
}

/// A [`Session`] that knows errors.
struct Runner<'a, E> {
    session: Session<SharedBudget<'a>>,
    questions: Questions<'a, E>,
    /// Of the last attempt.
    error: Option<E>,
}

impl<E> Runner<'_, E> {
    fn woken(&mut self, now: Duration) -> Result<Next, RetryError<E>> {
        let woken = self.session.woken(now);
        woken.map_err(|end| self.give_up(end))
    }

    fn failed(&mut self, error: E, now: Duration) -> Result<Next, RetryError<E>> {
        let classify = self.questions.classify.as_mut();
        let failure = match classify {
            Some(classify) => classify(&error),
            None => Class::Transient.into(),
        };
        let hint = (self.questions.hint.as_mut()).and_then(|hint| hint(&error));
        let failure = failure.hinted(hint.or(failure.hint));
        self.after(Some(error), failure, now)
    }

    #[cfg(feature = "tokio")]
    fn timed_out(&mut self, now: Duration) -> Result<Next, RetryError<E>> {
        self.after(None, Class::Timeout.into(), now)
    }

    fn after(
        &mut self,
        error: Option<E>,
        failure: Failure,
        now: Duration,
    ) -> Result<Next, RetryError<E>> {
        self.error = error;
        match self.session.failed(failure, now) {
            Ok(wait) => {
                if let Some(observe) = &mut self.questions.observe {
                    let error = self.error.as_ref();
                    observe(Event::Retrying {
                        error,
                        failure,
                        wait,
                    });
                }
                Ok(Next::Sleep(wait.at))
            }
            Err(end) => Err(self.give_up(end)),
        }
    }

    fn succeeded(&mut self, now: Duration) {
        self.session.succeeded(now);
        if let Some(observe) = &mut self.questions.observe {
            let attempts = self.session.attempts();
            observe(Event::Succeeded { attempts });
        }
    }

    fn give_up(&mut self, end: crate::GiveUp) -> RetryError<E> {
        if let Some(observe) = &mut self.questions.observe {
            let error = self.error.as_ref();
            observe(Event::GaveUp { error, end });
        }
        RetryError::new(end, self.error.take())
    }
}
