//! Work that blocks, away from the tasks that must not.

use std::panic::resume_unwind;

/// Runs `work` on a thread that may block, and returns what it returns.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    match done.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // Cancelled, as only a runtime that ends does: so does this task.
        Err(Err(_)) => std::future::pending().await,
    }
}
