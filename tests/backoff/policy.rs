//! One test per rule of `spec/backoff.md` about policies: when to retry, and when to give up.

mod data;
mod ends;
mod hints;
mod lints;
mod presets;
mod text;

use backoff_policy::{Class, Decision, Failure, GiveUp, Policy, Retry, Wait};
use conformance::draws::MIDDLE;
use std::time::Duration;

/// One operation, with the clock and the middle of every draw.
struct Run {
    policy: Policy,
    retry: Retry,
    now: Duration,
}

impl Run {
    fn of(policy: Policy) -> Self {
        Self {
            policy,
            retry: Retry::new(Duration::ZERO),
            now: Duration::ZERO,
        }
    }

    fn fails(&mut self, failure: impl Into<Failure>) -> Decision {
        self.retry
            .handle_failed(&self.policy, failure.into(), self.now, MIDDLE)
    }

    /// An attempt of this length fails, and its wait is over.
    fn fails_and_waits(&mut self, after: Duration, failure: impl Into<Failure>) -> Wait {
        self.now += after;
        match self.fails(failure) {
            Decision::Retry(wait) => {
                self.now = wait.at;
                wait
            }
            Decision::GiveUp(end) => panic!("{end}"),
        }
    }

    fn ends(&mut self, failure: impl Into<Failure>) -> GiveUp {
        match self.fails(failure) {
            Decision::GiveUp(end) => end,
            Decision::Retry(wait) => panic!("{wait:?}"),
        }
    }
}

fn transient() -> Failure {
    Class::Transient.into()
}
