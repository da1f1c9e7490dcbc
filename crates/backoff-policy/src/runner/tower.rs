//! A policy for `tower::retry`.

use super::clock;
use super::counters::Counters;
use super::draws::Draws;
use super::session::{Session, Settings};
use crate::{Budget, Class, Failure, Idempotency, Policy};
use ::tokio::time::{Sleep, sleep};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::boxed::Box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A [`Policy`] for `tower::retry::RetryLayer`, for requests that can be cloned.
///
/// ```
/// # use backoff_policy::*;
/// use std::sync::Arc;
/// use tower::retry::RetryLayer;
/// # #[derive(Clone)] struct Request { may_repeat: bool }
/// # struct Response { status: u16 }
///
/// let policy = TowerPolicy::new(Policy::CALLS)
///     .classify(|result: &Result<Response, std::io::Error>| match result {
///         Ok(response) => Class::of_http(response.status).map(Failure::from),
///         Err(error) => Some(Class::of_io(error.kind()).into()),
///     })
///     .idempotency(|request: &Request| match request.may_repeat {
///         true => Idempotency::Always,
///         false => Idempotency::Never,
///     })
///     .budget(Arc::new(AwsQuota::standard_2_0()));
/// let layer = RetryLayer::new(policy); // for `tower::ServiceBuilder::layer`
/// # _ = layer;
/// ```
///
/// A caller gets what the last attempt gave; why there was no other, `tracing` and the
/// [`Counters`] are told.
///
/// # Deviations
///
/// Tower lets a policy delay a retry, but not refuse it after its wait, and not touch the first
/// attempt. So the deadline is not read again after a wait (B5), and an attempt that the budget refuses
/// to admit is made, and not retried. Nor can it mark what its service does as inside (B15): give an
/// inner retry its [`layer`](crate::Retrying::layer).
pub struct TowerPolicy<Req, Res, E> {
    policy: Policy,
    name: &'static str,
    classify: Classify<Res, E>,
    idempotency: Option<IdempotencyOf<Req>>,
    budget: Option<SharedBudget>,
    counters: Option<Counters>,
    draws: Option<DrawsOf>,
    session: OfRequest,
}

/// The session of the request that this copy of the policy is for, shared with its wait: they take
/// turns.
type OfRequest = Arc<Mutex<Option<Session<SharedBudget>>>>;
type Classify<Res, E> = Arc<dyn Fn(&Result<Res, E>) -> Option<Failure> + Send + Sync>;
type IdempotencyOf<Req> = Arc<dyn Fn(&Req) -> Idempotency + Send + Sync>;
type SharedBudget = Arc<dyn Budget + Send + Sync>;
type DrawsOf = Arc<dyn Fn() -> u64 + Send + Sync>;

impl<Req, Res, E> TowerPolicy<Req, Res, E> {
    /// Makes it: every error is [`Class::Transient`], and every request may be sent twice, until you
    /// say what is.
    pub fn new(policy: Policy) -> Self {
        let classify = |result: &Result<Res, E>| result.is_err().then(|| Class::Transient.into());
        Self {
            policy,
            name: "",
            classify: Arc::new(classify),
            idempotency: None,
            budget: None,
            counters: None,
            draws: None,
            session: OfRequest::default(),
        }
    }

    /// Says what a result means: a failure with its class and its hint, or `None`, which is success
    /// (B13).
    #[must_use]
    pub fn classify(
        self,
        classify: impl Fn(&Result<Res, E>) -> Option<Failure> + Send + Sync + 'static,
    ) -> Self {
        Self {
            classify: Arc::new(classify),
            ..self
        }
    }

    /// Says whether a request may be sent twice (B13).
    #[must_use]
    pub fn idempotency(
        self,
        idempotency: impl Fn(&Req) -> Idempotency + Send + Sync + 'static,
    ) -> Self {
        Self {
            idempotency: Some(Arc::new(idempotency)),
            ..self
        }
    }

    /// Spends on retries only what a budget allows. What a dropped request holds goes back (B10).
    #[must_use]
    pub fn budget(self, budget: Arc<dyn Budget + Send + Sync>) -> Self {
        Self {
            budget: Some(budget),
            ..self
        }
    }

    /// Counts in these what it comes to (B12).
    #[must_use]
    pub fn counters(self, counters: &Counters) -> Self {
        Self {
            counters: Some(counters.clone()),
            ..self
        }
    }

    /// Names it in what `tracing` is told.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Takes the draws of all requests, uniform over all of `u64`, from a function: for tests that
    /// name each delay. Without it each request has a generator of its own (B4).
    #[must_use]
    pub fn draws(self, draws: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self {
            draws: Some(Arc::new(draws)),
            ..self
        }
    }

    /// The first attempt starts now.
    fn begin(&self, request: &Req) -> Session<SharedBudget> {
        let now = clock::tokio_now();
        let idempotency = self.idempotency.as_ref();
        let settings = Settings {
            name: self.name,
            idempotency: idempotency.map_or(Idempotency::Always, |of| of(request)),
            budget: self.budget.clone(),
            counters: self.counters.clone(),
            draws: match self.draws.clone() {
                Some(draws) => Draws::Function(Box::new(move || draws())),
                None => Draws::default(),
            },
            ..Settings::new(self.policy)
        };
        let mut session = Session::begin(settings, now);
        _ = session.started_at(now); // it cannot be held back
        session
    }
}

impl<Req: Clone, Res, E> ::tower::retry::Policy<Req, Res, E> for TowerPolicy<Req, Res, E> {
    type Future = TowerWait;

    fn retry(&mut self, request: &mut Req, result: &mut Result<Res, E>) -> Option<TowerWait> {
        let mut begun = lock(&self.session);
        let session = begun.get_or_insert_with(|| self.begin(request));
        let now = clock::tokio_now();
        let Some(failure) = (self.classify)(result) else {
            session.succeeded(now);
            return None;
        };
        let wait = session.failed(failure, now).ok()?;
        Some(TowerWait {
            session: Arc::clone(&self.session),
            sleep: Box::pin(sleep(wait.at.saturating_sub(now))),
            started: false,
        })
    }

    /// Tower calls this on the layer's policy when a request comes, and makes that request's copy
    /// next: here its session begins, and the copy takes it along.
    fn clone_request(&mut self, request: &Req) -> Option<Req> {
        lock(&self.session).get_or_insert_with(|| self.begin(request));
        Some(request.clone())
    }
}

/// The wait before a retry.
#[derive(Debug)]
pub struct TowerWait {
    session: OfRequest,
    sleep: Pin<Box<Sleep>>,
    /// Its attempt counts as started: what is left is a budget's wait.
    started: bool,
}

impl Future for TowerWait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.sleep.as_mut().poll(cx));
        if self.started {
            return Poll::Ready(());
        }
        self.started = true;
        let now = clock::tokio_now();
        let admitted_at = lock(&self.session)
            .as_mut()
            .map_or(now, |session| session.started_at(now));
        self.sleep = Box::pin(sleep(admitted_at.saturating_sub(now)));
        self.sleep.as_mut().poll(cx)
    }
}

/// Whoever held it has finished or is gone.
fn lock(session: &OfRequest) -> MutexGuard<'_, Option<Session<SharedBudget>>> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A copy is for one request: the one that has just begun here, if one has.
impl<Req, Res, E> Clone for TowerPolicy<Req, Res, E> {
    fn clone(&self) -> Self {
        let begun = lock(&self.session).take();
        Self {
            policy: self.policy,
            name: self.name,
            classify: Arc::clone(&self.classify),
            idempotency: self.idempotency.clone(),
            budget: self.budget.clone(),
            counters: self.counters.clone(),
            draws: self.draws.clone(),
            session: Arc::new(Mutex::new(begun)),
        }
    }
}

impl<Req, Res, E> fmt::Debug for TowerPolicy<Req, Res, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TowerPolicy")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
