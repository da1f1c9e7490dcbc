//! Subscribers of `tracing` for the thread of one test.

use std::sync::LazyLock;
use tracing::subscriber::{DefaultGuard, NoSubscriber, set_default};
use tracing::{Dispatch, Subscriber};

/// Gives this thread's events to `subscriber` until the guard is dropped.
///
/// Whether anyone wants a callsite is kept for the whole process, and while there is one subscriber
/// only, the thread that reaches a callsite first decides: a test without one would silence the
/// others. Two that never go prevent that.
pub fn listen(subscriber: impl Subscriber + Send + Sync + 'static) -> DefaultGuard {
    static KEPT: LazyLock<[Dispatch; 2]> =
        LazyLock::new(|| [(); 2].map(|()| Dispatch::new(NoSubscriber::new())));
    LazyLock::force(&KEPT);
    set_default(subscriber)
}
