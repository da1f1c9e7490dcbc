use super::core::Core;
use super::guard::ConnectionGuard;
use super::phase::Phase;
use crate::AttemptId;
use core::fmt;
use std::sync::Arc;
use tokio::time::Instant;

/// One attempt, as its connect function sees it. None of these calls has to be made: unless the
/// function takes a [`guard`](Self::guard), its result is the outcome.
///
/// A copy is the same attempt.
pub struct Attempt<A = ()> {
    core: Arc<Core<A>>,
    id: AttemptId,
    address: A,
    deadline: Instant,
}

impl<A: Clone + Eq> Attempt<A> {
    pub(super) fn new(core: Arc<Core<A>>, id: AttemptId, address: A, deadline: Instant) -> Self {
        Self {
            core,
            id,
            address,
            deadline,
        }
    }

    /// Which one it is, counted from 0 over all addresses.
    #[must_use]
    pub const fn id(&self) -> AttemptId {
        self.id
    }

    /// Where to connect.
    #[must_use]
    pub const fn address(&self) -> &A {
        &self.address
    }

    /// When it is aborted unless the server has accepted (S5): nothing to enforce, but good to
    /// know. One that tokio cannot count to is 30 years away.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// A phase begins, and the one before is over: from now on a failure says that it was in this
    /// one, and the [`AttemptReport`](crate::AttemptReport) says how long each took.
    pub fn enter(&self, phase: Phase) {
        self.core.with(|inner, _| inner.enter(self.id, phase));
    }

    /// Says by itself what comes of this attempt: for connections that are used before the server
    /// has accepted them (D13). Once it is taken, `Ok` from the connect function is no acceptance.
    pub fn guard(&self) -> ConnectionGuard<A> {
        self.core.look(|inner, _| inner.guard(self.id));
        ConnectionGuard::new(Arc::clone(&self.core), self.id, self.deadline)
    }
}

impl<A: Clone> Clone for Attempt<A> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            id: self.id,
            address: self.address.clone(),
            deadline: self.deadline,
        }
    }
}

impl<A: fmt::Debug> fmt::Debug for Attempt<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("id", &self.id)
            .field("address", &self.address)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
