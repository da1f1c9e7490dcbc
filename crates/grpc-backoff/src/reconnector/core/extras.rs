use super::super::budget::AttemptBudget;
use super::Inner;
use core::time::Duration;
use std::sync::Arc;
use tokio::time::Instant;

pub(in super::super) type SuspendClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// What few reconnectors are given when they are made, so that the others need no room for it.
#[derive(Default)]
pub(in super::super) struct Extras {
    pub(in super::super) budget: Option<AttemptBudget>,
    /// From when the budget lets the next attempt start.
    pub(super) permit: Option<Instant>,
    pub(in super::super) suspend_clock: Option<SuspendClock>,
}

impl<A> Inner<A> {
    pub(in super::super) fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    /// From when the budget lets the next attempt start, if it has been asked.
    pub(super) fn permit(&self) -> Option<Instant> {
        self.extras.as_ref()?.permit
    }
}
