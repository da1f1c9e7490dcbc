//! One test per rule of `spec/backoff.md` about what runs a policy: the drivers, what HTTP says, and
//! jobs of a queue.

mod awaited;
mod blocking;
mod budgets;
mod http;
mod job;
mod layers;
mod told;
mod tower;

use backoff_policy::{Class, Policy};
use conformance::time::s;
use std::time::Duration;

/// Waits of exactly 1, 2, 4 and 8 s.
fn exact() -> Policy {
    "base=1s,cap=30s,jitter=none,attempts=5"
        .parse()
        .expect("a policy")
}

fn transient(_: &&str) -> Class {
    Class::Transient
}

const STARTS: [Duration; 5] = [s(0), s(1), s(3), s(7), s(15)];
