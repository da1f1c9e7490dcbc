use super::core::Core;
use super::status::Status;
use crate::Snapshot;
use core::fmt;
use core::time::Duration;
use std::string::{String, ToString};
use std::sync::Arc;
use std::vec::Vec;
use tokio::sync::watch;

/// Reads and commands a [`Reconnector`](crate::Reconnector) from anywhere, also while its owner is
/// inside `connect`, who then notices at once. An attempt that a command cancels ends at once;
/// its future is dropped when the owner polls next.
///
/// A copy is for the same reconnector.
pub struct Handle<A = ()> {
    pub(super) core: Arc<Core<A>>,
}

impl<A: Clone + Eq> Handle<A> {
    /// The state, the last failure and the instant of the next attempt (D14).
    #[must_use]
    pub fn status(&self) -> Status {
        self.core.look(|inner, _| inner.status())
    }

    /// Watches the [`Status`]. A watch shows the latest value only: see
    /// [`on_attempt`](crate::Reconnector::on_attempt) for all that happened. It ends with
    /// SHUTDOWN. Whoever holds a borrowed value may read by a handle, but a command would wait for
    /// that borrow, so clone the value first.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.core.look(|inner, _| inner.watch())
    }

    /// Says in one line what the machine is doing and why, for a human.
    #[must_use]
    pub fn explain(&self) -> String {
        (self.core).look(|inner, now| inner.machine.explain(now).to_string())
    }

    /// Restarts the series and ends any wait, for instance when the network is back (C4). An
    /// attempt in flight goes on; if it fails, the next one starts at once (D5).
    pub fn reset(&self) {
        self.core.command(|inner, now| inner.machine.reset(now));
    }

    /// As [`reset`](Self::reset), but a wait ends at a random point of `window`, or when it would
    /// have ended, if that is sooner: for a signal that a whole fleet gets at once (D15).
    pub fn reset_within(&self, window: Duration) {
        (self.core).command(|inner, now| {
            let draw = inner.draws.next();
            inner.machine.reset_within(now, window, draw);
        });
    }

    /// Nobody wants a connection any more: cancels an attempt in flight, which is neither success
    /// nor failure (D12). The wait still counts, and a connection that is there stays (D8). An
    /// owner who waits gets [`Error::Withdrawn`](crate::Error::Withdrawn).
    pub fn withdraw(&self) {
        self.core.command(|inner, now| {
            inner.withdrawals = inner.withdrawals.wrapping_add(1);
            inner.withdraw(now);
        });
    }

    /// The server to connect to is another one: starts afresh with these addresses, at once if a
    /// connection is wanted and missing. A connection to the old one is its owner's to close.
    pub fn retarget(&self, addresses: impl IntoIterator<Item = A>) {
        let addresses: Vec<_> = addresses.into_iter().collect();
        (self.core).command(|inner, now| {
            inner.machine.retarget(now, addresses);
            inner.cancel_rest();
        });
    }

    /// The server has these addresses now. Those that stay keep their backoff, their attempt and
    /// their connection (A9); a connection to any other is its owner's to close.
    pub fn set_addresses(&self, addresses: impl IntoIterator<Item = A>) {
        let addresses: Vec<_> = addresses.into_iter().collect();
        (self.core).command(|inner, now| {
            inner.machine.set_addresses(now, addresses);
            inner.cancel_rest();
        });
    }

    /// Ends everything for good, an attempt in flight as well (C1): whoever waits for a connection
    /// gets [`Error::Shutdown`](crate::Error::Shutdown). A connection that was given is its
    /// owner's to close.
    pub fn shutdown(&self) {
        (self.core).command(|inner, _| {
            inner.machine.shutdown();
            inner.cancel_rest();
        });
    }

    /// What to keep across a restart of the program, see
    /// [`restore`](crate::Reconnector::restore): each address with its backoff (D10). Take it
    /// before `shutdown`, which forgets the waits.
    #[must_use]
    pub fn snapshot(&self) -> Vec<(A, Snapshot)> {
        (self.core).look(|inner, now| {
            let each = inner.machine.snapshot(now);
            each.map(|(address, snapshot)| (address.clone(), snapshot))
                .collect()
        })
    }
}

impl<A> Clone for Handle<A> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
        }
    }
}

impl<A: Clone + Eq> fmt::Debug for Handle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
