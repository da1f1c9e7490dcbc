//! What every driver does between its sleeps.

use super::counters::Counters;
use super::draws::Draws;
use super::layer;
use super::tell;
use crate::{
    Admission, Budget, Call, Class, Decision, Failure, GiveUp, Idempotency, Layer, Policy, Reason,
    Retry, Wait,
};
use core::fmt;
use core::ops::Deref;
use core::time::Duration;

/// What one operation goes by, apart from what its driver wants to know of its errors.
pub(crate) struct Settings<P> {
    pub(crate) policy: Policy,
    /// What `tracing` calls it.
    pub(crate) name: &'static str,
    pub(crate) idempotency: Idempotency,
    /// `None`: as where it starts.
    pub(crate) layer: Option<Layer>,
    pub(crate) budget: Option<P>,
    pub(crate) counters: Option<Counters>,
    pub(crate) draws: Draws,
}

impl<P> Settings<P> {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            name: "",
            idempotency: Idempotency::Always,
            layer: None,
            budget: None,
            counters: None,
            draws: Draws::default(),
        }
    }
}

/// What a driver does next, unless the operation ends.
pub(crate) enum Next {
    /// Make an attempt, and tell how it ends.
    Attempt,
    /// Sleep until this time, and say so by [`Session::woken`].
    Sleep(Duration),
}

/// One operation under its policy and its budget.
pub(crate) struct Session<P: Deref<Target: Budget>> {
    policy: Policy,
    name: &'static str,
    retry: Retry,
    call: Option<Call<P>>,
    counters: Option<Counters>,
    draws: Draws,
    /// What the next attempt follows.
    failed: Option<Class>,
    /// The budget refused an attempt that is made all the same.
    refused: bool,
}

impl<P: Deref<Target: Budget>> Session<P> {
    /// Begins it here and now.
    pub(crate) fn begin(settings: Settings<P>, now: Duration) -> Self {
        Self {
            policy: settings.policy,
            name: settings.name,
            retry: Retry::new(now)
                .with_idempotency(settings.idempotency)
                .with_layer(settings.layer.unwrap_or_else(layer::current)),
            call: settings.budget.map(Call::new),
            counters: settings.counters,
            draws: settings.draws,
            failed: None,
            refused: false,
        }
    }

    /// Nothing has happened yet, or a sleep is over (B5).
    pub(crate) fn woken(&mut self, now: Duration) -> Result<Next, GiveUp> {
        if let Some(end) = self.retry.handle_woken(&self.policy, now) {
            return Err(self.ended(end));
        }
        match self.admission(now) {
            Admission::Now => {
                self.started();
                Ok(Next::Attempt)
            }
            Admission::At(at) if self.retry.handle_woken(&self.policy, at).is_some() => {
                Err(self.end(now, Reason::Deadline))
            }
            Admission::At(at) => Ok(Next::Sleep(at)),
            Admission::Rejected => Err(self.end(now, Reason::Budget)),
        }
    }

    /// An attempt has failed.
    pub(crate) fn failed(&mut self, failure: Failure, now: Duration) -> Result<Wait, GiveUp> {
        if let Some(call) = &mut self.call {
            call.failed(now, failure.class);
        }
        let draw = self.draws.next();
        let wait = match (self.retry).handle_failed(&self.policy, failure, now, draw) {
            Decision::Retry(wait) => wait,
            Decision::GiveUp(end) => return Err(self.ended(end)),
        };
        if self.refused || self.call.as_mut().is_some_and(|call| !call.retry(now)) {
            let end = self.retry.give_up(now, Reason::Budget);
            return Err(self.ended(GiveUp {
                slept: end.slept.saturating_sub(wait.delay), // which nobody waits now
                ..end
            }));
        }
        self.failed = Some(failure.class);
        tell::retrying(self.name, failure, &wait);
        Ok(wait)
    }

    /// An attempt, and with it the operation, has succeeded.
    pub(crate) fn succeeded(&mut self, now: Duration) {
        if let Some(call) = &mut self.call {
            call.succeeded(now);
        }
        if let Some(counters) = &self.counters {
            counters.handle_succeeded();
        }
        tell::succeeded(self.name, self.attempts());
    }

    /// Starts an attempt that its driver can delay but not refuse: at this time. One that the
    /// budget refuses is the last.
    #[cfg(feature = "tower")]
    pub(crate) fn started_at(&mut self, now: Duration) -> Duration {
        self.started();
        match self.admission(now) {
            Admission::Now => now,
            Admission::At(at) => {
                _ = self.admission(at); // its place is taken: now it counts as started
                at
            }
            Admission::Rejected => {
                self.refused = true;
                now
            }
        }
    }

    /// Ends it for a reason that its policy does not know.
    fn end(&self, now: Duration, reason: Reason) -> GiveUp {
        self.ended(self.retry.give_up(now, reason))
    }

    fn ended(&self, end: GiveUp) -> GiveUp {
        if let Some(counters) = &self.counters {
            counters.handle_gave_up(&end);
        }
        tell::gave_up(self.name, &end);
        end
    }

    fn admission(&mut self, now: Duration) -> Admission {
        match &mut self.call {
            Some(call) => call.admit(now, self.draws.next()),
            None => Admission::Now,
        }
    }

    fn started(&mut self) {
        if let Some(counters) = &self.counters {
            counters.handle_started(self.failed);
        }
    }

    /// How many attempts there were, if the last one succeeded.
    pub(crate) fn attempts(&self) -> u32 {
        self.retry.attempts().saturating_add(1)
    }
}

impl<P: Deref<Target: Budget>> fmt::Debug for Session<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
