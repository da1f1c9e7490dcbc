//! Work that blocks, away from the tasks that must not.

use std::panic::resume_unwind;

/// Runs `work` on a thread that may block, and returns what it returns.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    // Such a task is never cancelled, so it can only have panicked.
    done.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}
