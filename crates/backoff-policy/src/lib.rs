//! When to try again after a failure, and when to stop: policies, schedules and jitter, in exact
//! integers.
//!
//! ```text
//! Policy (schedule, attempts, deadline, rule for hints)            what everybody shares
//!    └─▶ Retry ── handle_failed(policy, failure, now, draw) ─▶ wait so long, or give up: why
//!                                                                  one per operation
//! Schedule (base, multiplier, cap, jitter)                         the delays alone
//!    └─▶ Series ── next(schedule, draw) ─▶ delay, delay, delay ... one per client
//! ```
//!
//! A [`Policy`] is plain data, such as one of its [presets](Policy#presets); a [`Retry`] is where one
//! operation stands. Neither knows the time, and neither waits: time is an argument, and so is one
//! random `u64` for each delay, so a test can name every delay in advance.
//!
//! ```
//! # use {backoff_policy::*, core::time::Duration};
//! # fn now() -> Duration { Duration::ZERO }
//! # fn random() -> u64 { 1 << 63 }
//! # fn sleep(_: Duration) {}
//! # let mut answers = [Some(503), Some(429), None].into_iter();
//! # let mut call = || answers.next().unwrap_or(None).map_or(Ok(()), Err);
//! let policy = &Policy::CALLS; // 5 attempts, 1 s to 30 s, full jitter
//! let mut retry = Retry::new(now());
//! let result = loop {
//!     let Err(status) = call() else { break Ok(()) };
//!     let failure = Failure::from(Class::of_http(status).unwrap_or(Class::Permanent));
//!     match retry.handle_failed(policy, failure, now(), random()) {
//!         Decision::Retry(wait) => sleep(wait.delay),
//!         Decision::GiveUp(end) => break Err(end), // why, after how many attempts and how long
//!     }
//!     if let Some(end) = retry.handle_woken(policy, now()) {
//!         break Err(end); // the deadline has passed meanwhile
//!     }
//! };
//! assert_eq!(result, Ok(()));
//! ```
//!
//! The delays alone, for a loop of your own:
//!
//! ```
//! # use {backoff_policy::*, core::time::Duration};
//! let ms = Duration::from_millis;
//! let doubling = Schedule::new(ms(100), Ratio::new(2, 1), ms(500), Jitter::Full)?;
//! assert_eq!(doubling.ceiling(1), ms(200));
//! assert_eq!(doubling.bounds(9), ms(0)..=ms(500));
//!
//! let mut series = Series::new(&doubling);
//! assert_eq!(series.next(&doubling, 1 << 63), ms(50)); // the middle of 0..=100 ms
//! assert_eq!(series.next(&doubling, 1 << 63), ms(100)); // the middle of 0..=200 ms
//! # Ok::<(), ScheduleError>(())
//! ```
//!
//! # Draws
//!
//! Give every client its own generator, seeded by the operating system (B4). A generator copied
//! along with its configuration makes a whole fleet wait the same delays, and then jitter
//! spreads nothing.
//!
//! # Budgets
//!
//! A schedule slows down one client; a [`Budget`] bounds what all calls of a program spend on retries
//! together: the quotas and throttles of AWS, gRPC, Finagle, Envoy and Google's site reliability
//! engineers, shared by threads without a lock. A [`Call`] tells it of every attempt.
//!
//! # Which runner
//!
//! ```text
//!                        Policy, Budget                      no clock, no generator
//!                     Retry           Job
//!                       |              |
//!  ---------------------------------------------- the border: clocks, draws, sleeps
//!        |              |              |
//!   retry_blocking    retry        your queue
//!     a thread      TowerPolicy
//! ```
//!
//! | to retry | take | feature |
//! |---|---|---|
//! | an async function | `retry(policy, op).await` | `tokio` |
//! | a function, in its thread | `retry_blocking(policy, op).run()` | `std` |
//! | the requests of a tower service | `TowerPolicy` | `tower` |
//! | jobs that outlive the program | [`Job`] | none |
//! | anything, in a loop of your own | [`Retry`], [`Call`] | none |
//!
//! The first two are set up alike: what an error means, what the server said, whether it may be done
//! twice, a budget, counters, an observer. All decide by the same code.
//!
//! ```
//! # #[cfg(feature = "tokio")] {
//! # use {backoff_policy::*, std::{io, time::Duration}};
//! # async fn get(_: &str) -> io::Result<String> { Ok(String::new()) }
//! async fn page(url: &str) -> Result<String, RetryError<io::Error>> {
//!     retry(Policy::CALLS, || get(url)) // 5 attempts; up to 1, 2, 4, 8 s between them
//!         .classify(|error| Class::of_io(error.kind()))
//!         .attempt_timeout(Duration::from_secs(5))
//!         .await
//! }
//! # }
//! ```
//!
//! | feature | adds |
//! |---|---|
//! | none | policies, retries, jobs and budgets, without std and without allocation |
//! | `std` | `retry_blocking`, `Counters`, classes of `std::io` errors, `SmoothV2` |
//! | `tracing` | events for `tracing`, from every runner |
//! | `tokio` | `retry`, with `tracing` |
//! | `tower` | `TowerPolicy`, with `tokio` |
//! | `http` | the module `http`: classes, hints and idempotency by the types of the crate `http` |

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::float_arithmetic,
        clippy::cast_possible_truncation,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(any(feature = "std", test))]
extern crate std;

mod budget;
mod class;
mod hint;
#[cfg(feature = "http")]
pub mod http;
mod jitter;
mod job;
mod lint;
mod names;
mod nanos;
mod policy;
mod presets;
mod ratio;
mod retry;
#[cfg(feature = "std")]
mod runner;
mod schedule;
mod series;
#[cfg(any(feature = "std", test))]
mod smooth;
#[cfg(test)]
mod tests;
mod text;
mod total;
mod unexpected;

pub use budget::{Admission, Budget, BudgetError, Call, Cost, Outcome};
#[cfg(target_has_atomic = "64")]
pub use budget::{
    AwsAdaptive, AwsQuota, EnvoyBudget, FinagleBudget, GrpcThrottle, QuotaCosts, SreThrottle,
};
pub use class::{Class, Idempotency, Layer};
pub use hint::{Hint, HintRule};
pub use jitter::{Jitter, uniform};
pub use job::{Job, JobState, ParseJobError};
pub use lint::Lint;
pub use nanos::nanos;
pub use policy::{DeadlineFrom, FirstDelay, Policy, Repeats};
pub use ratio::Ratio;
pub use retry::{Decision, Failure, GiveUp, Reason, Retry, Wait};
#[cfg(feature = "std")]
pub use runner::{Counters, Event, RetryError, Retrying, retry_blocking};
#[cfg(feature = "tokio")]
pub use runner::{Running, retry};
#[cfg(feature = "tower")]
pub use runner::{TowerPolicy, TowerWait};
pub use schedule::{Schedule, ScheduleError};
pub use series::Series;
#[cfg(any(feature = "std", test))]
pub use smooth::SmoothV2;
pub use text::{ParsePolicyError, parse_duration};
pub use total::Total;

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "tokio", feature = "http"))]
#[doc = include_str!("../README.md")]
struct Readme;
