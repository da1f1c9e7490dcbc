//! The budgets of `backoff-policy`: one test per rule of `spec/backoff.md`, and known sequences.

mod adaptive;
mod calls;
mod envoy;
mod finagle;
mod grpc;
mod model;
mod quota;
mod sre;
mod threads;
mod vectors;

use backoff_policy::{Admission, Budget, Call, Class};
use std::time::Duration;

/// Starts the next attempt of a call.
fn start<B: Budget>(call: &mut Call<&B>, now: Duration) {
    assert_eq!(call.admit(now, u64::MAX), Admission::Now);
}

/// A call whose first attempt succeeds.
fn succeed<B: Budget>(budget: &B, now: Duration) {
    let mut call = Call::new(budget);
    start(&mut call, now);
    call.succeeded(now);
}

/// A call whose first attempt failed, and whether it may be retried.
fn fail<B: Budget>(budget: &B, now: Duration, class: Class) -> (Call<&B>, bool) {
    let mut call = Call::new(budget);
    start(&mut call, now);
    call.failed(now, class);
    let retry = call.retry(now);
    (call, retry)
}
