use super::core::Core;
use super::disconnect::Disconnect;
use crate::{AttemptId, Verdict};
use core::fmt;
use std::string::ToString;
use std::sync::Arc;
use tokio::time::Instant;

/// Says what comes of a connection that is used before the server has accepted it: keep it inside
/// that connection (D13).
///
/// Dropped, it says that the connection is gone: a failed attempt before
/// [`accepted`](Self::accepted), a loss after it (D6). Until then it is for whoever holds it to
/// keep the [`deadline`](Self::deadline): dropped at that time, the attempt has timed out.
#[must_use = "dropped, it says that the connection is gone"]
pub struct ConnectionGuard<A: Clone + Eq = ()> {
    core: Arc<Core<A>>,
    attempt: AttemptId,
    deadline: Instant,
}

impl<A: Clone + Eq> ConnectionGuard<A> {
    pub(super) const fn new(core: Arc<Core<A>>, attempt: AttemptId, deadline: Instant) -> Self {
        Self {
            core,
            attempt,
            deadline,
        }
    }

    /// When to close the connection unless the server has accepted it (S5).
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The server has accepted: for gRPC, its SETTINGS has arrived (S11).
    /// [`Stale`](Verdict::Stale) asks to close the connection: it is not wanted any more.
    #[must_use]
    pub fn accepted(&self) -> Verdict {
        self.core
            .command(|inner, now| inner.accepted(now, self.attempt))
    }

    /// The connection is gone, for this reason: a failed attempt or a loss.
    pub fn failed(self, reason: impl fmt::Display) {
        self.disconnected(Disconnect::Unknown, reason);
    }

    /// As [`failed`](Self::failed), in a case that the metrics tell from others (D14).
    pub fn disconnected(self, why: Disconnect, reason: impl fmt::Display) {
        let reason = Some(reason.to_string().into());
        (self.core).command(|inner, now| inner.gone(now, self.attempt, why, reason));
    }
}

impl<A: Clone + Eq> Drop for ConnectionGuard<A> {
    fn drop(&mut self) {
        // After `failed` it is stale, and changes nothing.
        (self.core).command(|inner, now| inner.gone(now, self.attempt, Disconnect::Unknown, None));
    }
}

impl<A: Clone + Eq> fmt::Debug for ConnectionGuard<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionGuard")
            .field("attempt", &self.attempt)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
