//! What a reconnector may be given when it is made.

use super::Reconnector;
use super::attempt::Attempt;
use super::budget::AttemptBudget;
use super::core::Inner;
use super::draws::Draws;
use super::report::AttemptReport;
use core::time::Duration;
use std::boxed::Box;
#[cfg(feature = "metrics")]
use std::string::String;
use std::sync::Arc;

/// Well below the second for which a token of a budget is kept (D17).
const MAX_SLACK: Duration = Duration::from_millis(500);

impl<A, F, Fut> Reconnector<A, F, Fut>
where
    A: Clone + Eq,
    F: FnMut(Attempt<A>) -> Fut,
{
    /// Takes its draws from a generator with this seed: for tests that replay. Never use one
    /// seed for two clients.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        self.with_inner(|inner| inner.draws = Draws::seeded(seed))
    }

    /// Takes its draws, uniform over all of `u64`, from a function: for tests that name each
    /// delay. It is called in the middle of a step, so it must not call the [`Handle`](crate::Handle) of its own
    /// reconnector; should it panic, a generator takes its place.
    #[must_use]
    pub fn with_draws(self, draws: impl FnMut() -> u64 + Send + 'static) -> Self {
        self.with_inner(|inner| inner.draws = Draws::Function(Box::new(draws)))
    }

    /// Starts attempts only within a budget that many reconnectors share (D17).
    #[must_use]
    pub fn with_budget(self, budget: AttemptBudget) -> Self {
        self.with_inner(|inner| inner.extras_mut().budget = Some(budget))
    }

    /// Lets waits end later than they have to, by up to this, at instants that all of this process
    /// with the same slack share (D19): for a process with very many, which a wake each costs more
    /// than what it is woken for. None by default; more than half a second counts as that.
    #[must_use]
    pub fn with_slack(self, slack: Duration) -> Self {
        self.with_inner(|inner| inner.slack_ns = slack.min(MAX_SLACK).subsec_nanos())
    }

    /// Names the target in what `tracing` and the metrics say of it.
    #[must_use]
    pub fn named(self, target: impl Into<Arc<str>>) -> Self {
        self.with_inner(|inner| inner.teller_mut().target = Some(target.into()))
    }

    /// Adds labels to its metrics, such as `grpc.lb.backend_service` and `grpc.lb.locality`, which
    /// gRFC A94 leaves to whoever knows them.
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn with_labels(self, labels: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.with_inner(|inner| inner.teller_mut().labels.add(labels))
    }

    /// Calls `observer` at the end of every attempt, with what was planned and what came of it. As
    /// `tracing` subscribers and recorders of metrics, it may call the [`Handle`](crate::Handle), and its panic
    /// breaks nothing: whoever caused the news goes on.
    #[must_use]
    pub fn on_attempt(self, observer: impl Fn(&AttemptReport) + Send + Sync + 'static) -> Self {
        self.with_inner(|inner| inner.teller_mut().observer = Some(Arc::new(observer)))
    }

    /// Reads from a function how long the machine has been suspended since it booted, instead of
    /// from the system's clocks (D16): for tests, and for systems whose clocks do not say. It may call
    /// the [`Handle`](crate::Handle).
    #[must_use]
    pub fn with_suspend_clock(
        self,
        suspended: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        let so_far = suspended();
        self.with_inner(|inner| {
            inner.suspended = so_far;
            inner.extras_mut().suspend_clock = Some(Arc::new(suspended));
        })
    }

    fn with_inner(self, change: impl FnOnce(&mut Inner<A>)) -> Self {
        self.handle.core.with(|inner, _| change(inner));
        self
    }
}
