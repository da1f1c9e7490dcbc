//! When to dial a server again: the gRPC connection backoff as a small state machine.
//!
//! ```text
//! connect, withdraw, reset, retarget, shutdown ─▶            ─▶ poll_timeout: when to poll again
//! handle_settings, handle_failed, handle_lost  ─▶ Connection ─▶ poll_action: Start or Abort
//! ```
//!
//! A [`Connection`] decides; dialling, the time and chance stay with you. `now` and every deadline
//! are spans since a moment that you fix once, such as the program's start, by a clock that is
//! never set back; each started attempt takes one random `u64` from you. Its whole run loop is:
//!
//! 1. Tell it what happened, or what you want.
//! 2. Call [`poll_action`](Connection::poll_action) until it gives `None`, and do what it says.
//! 3. Sleep until [`poll_timeout`](Connection::poll_timeout) or until something happens.
//!
//! ```
//! # use {core::time::Duration, grpc_backoff::*};
//! let s = Duration::from_secs;
//! let draw = || 1 << 63; // the middle of the jitter: bring your own generator
//! let mut connection = Connection::new(Config::GRPC)?;
//!
//! connection.connect(s(0));
//! let Some(Action::Start(first)) = connection.poll_action(s(0), draw) else { panic!() };
//! assert_eq!(first.deadline, s(20)); // SETTINGS must arrive by then (S5)
//!
//! assert_eq!(connection.handle_failed(s(0), first.attempt), Verdict::Accepted);
//! assert_eq!(connection.state(), State::TransientFailure { until: s(1) });
//! assert_eq!(connection.explain(s(0)).to_string(),
//!     "TRANSIENT_FAILURE after 1 failure; next attempt in 1.0 s");
//!
//! assert_eq!(connection.poll_action(s(0), draw), None); // early is harmless
//! let Some(Action::Start(second)) = connection.poll_action(s(1), draw) else { panic!() };
//! assert_eq!(connection.handle_settings(s(1), second.attempt), Verdict::Accepted);
//! assert!(matches!(connection.state(), State::Ready { .. }));
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! For HTTP/2 a [`SettingsProbe`] tells from the first bytes whether the server has accepted.
//!
//! The module `guide` (feature `tonic`) is a short course: which layer to take, tonic in five
//! lines, what SETTINGS means, and how to come from a hand-written loop.
//!
//! The feature `alloc` adds `PickFirst`, for a server with several addresses; it needs no std.
//! The feature `tokio` adds `Reconnector`, which runs this loop over any async connect
//! function; `tonic` adds the module `tonic`, for tonic 0.14's clients, `tls` TLS in it by rustls,
//! and `metrics` the counts listed below. Rule ids such as (S7) refer to `spec/grpc-connection-backoff.md`.
//!
#![doc = include_str!("../OBSERVABILITY.md")]
//!
#![doc = include_str!("../FLEET.md")]
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

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "tokio")]
extern crate std;

mod clock;
mod config;
mod connection;
mod explain;
#[cfg(feature = "tonic")]
pub mod guide;
#[cfg(feature = "alloc")]
mod pick_first;
#[cfg(feature = "tokio")]
mod reconnector;
mod settings;
#[cfg(feature = "alloc")]
mod snapshot;
mod state;
mod token_bucket;
#[cfg(feature = "tonic")]
pub mod tonic;

pub use backoff_policy::{Ratio, Schedule};
pub use config::{Config, ConfigError, FirstDelay, FlapGuard, Lint, Reset, Timing};
pub use connection::Connection;
#[cfg(feature = "alloc")]
pub use pick_first::{PickAction, PickFirst, interleave};
#[cfg(feature = "metrics")]
pub use reconnector::describe_metrics;
#[cfg(feature = "tokio")]
pub use reconnector::{
    Attempt, AttemptBudget, AttemptReport, ConnectionGuard, Disconnect, Error, Failure, Handle,
    LastFailure, Mode, OfService, Outcome, Phase, PhaseTimes, Reason, Reconnector, Shared, Status,
    Wait,
};
pub use settings::{FirstFrame, NotSettings, SettingsProbe};
#[cfg(feature = "alloc")]
pub use snapshot::ParseSnapshotError;
pub use state::{Abort, Action, AttemptId, Limit, Snapshot, Start, State, Verdict};
pub use token_bucket::{BudgetError, TokenBucket};
