//! What `tracing` is told (B12).

use crate::{Failure, GiveUp, Wait};

#[cfg(feature = "tracing")]
mod events {
    use super::{Failure, GiveUp, Wait};
    use tracing::{debug, warn};

    pub(crate) fn retrying(operation: &str, failure: Failure, wait: &Wait) {
        let Failure { class, hint, .. } = failure;
        let Wait { delay, attempt, .. } = wait;
        debug!(operation, ?class, ?hint, ?delay, attempt, "retrying");
    }

    pub(crate) fn succeeded(operation: &str, attempts: u32) {
        if attempts > 1 {
            debug!(operation, attempts, "succeeded after retries");
        }
    }

    pub(crate) fn gave_up(operation: &str, end: &GiveUp) {
        let GiveUp {
            reason,
            attempts,
            elapsed,
            slept,
        } = end;
        warn!(operation, %reason, attempts, ?elapsed, ?slept, "gave up");
    }
}

#[cfg(not(feature = "tracing"))]
mod events {
    use super::{Failure, GiveUp, Wait};

    pub(crate) const fn retrying(_: &str, _: Failure, _: &Wait) {}
    pub(crate) const fn succeeded(_: &str, _: u32) {}
    pub(crate) const fn gave_up(_: &str, _: &GiveUp) {}
}

pub(crate) use events::{gave_up, retrying, succeeded};
