//! The retransmission timeout of [RFC 6298]: from round trips to the time after which an
//! unanswered packet is sent again.
//!
//! The RFC is TCP's, and nearly every transport since has taken over its answer. You say
//! what was sent, what was acknowledged and what time it is; this crate says when to
//! retransmit, and nothing else.
//!
//! | You have | You use |
//! |---|---|
//! | sequence numbers that a retransmission repeats (TCP) | [`Sampler`], [`RetransmitTimer`] |
//! | packet numbers that are never reused | [`Sample::of_transmission`], [`RetransmitTimer`] |
//! | QUIC: ACK delays, three packet number spaces | [`quic::ProbeTimer`] |
//! | a request and its answer (CoAP, STUN, DTLS) | [`transaction::TransactionTimer`] |
//! | a timer of your own | [`Estimator`] |
//! | firmware, a clock of 32-bit ticks | [`compact`] |
//! | a Linux kernel to simulate or to check | [`linux`] |
//!
//! ```
//! use {core::time::Duration, rto::*};
//! let ms = Duration::from_millis; // the clock: milliseconds since boot
//!
//! let mut timer = RetransmitTimer::new(Estimator::new(Config::RFC6298)?);
//! timer.handle_sent(ms(0));
//! assert_eq!(timer.poll_timeout(), Some(ms(1_000))); // no sample yet: 1 s
//!
//! let sample = Sample::of_transmission(ms(0), ms(600));
//! timer.handle_acked(ms(600), Progress::Some, Some(sample));
//! assert_eq!(timer.estimator().rto(), ms(1_800)); // 600 ms + 4 x 300 ms
//! assert_eq!(timer.poll_timeout(), Some(ms(2_400)));
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! The [`guide`] is a short course: the run loop step by step, which round trips count, how to
//! choose the settings, and the timer in five kinds of host.
//!
//! # Time
//!
//! Every `now` counts from one moment of your choice, boot or the start of the program, on a
//! clock that never goes back, and so does every deadline. A deadline is due when
//! it is at or before `now`; calling early is harmless. Nothing here reads a clock,
//! allocates, uses a float or panics, whatever the input and the order of calls.
//!
//! # Exactness
//!
//! SRTT and RTTVAR are kept in 1/256 ns and rounded to nearest. With the gains of the RFC
//! the sum SRTT + 4 x RTTVAR stays within 28/256 ns of exact rational arithmetic after
//! any number of samples; the RTO handed out is rounded up past that bound, so it is
//! never earlier than exact and less than 2 ns late. `spec/rfc6298.md` has the proof; the tests
//! check its steps for every update of 8 bits.
//!
//! Rule numbers in parentheses, such as (5.3-1), are those of `spec/rfc6298.md` in the
//! repository: the section of the RFC, then our count. Decisions, such as (D7), are listed
//! there too; P and T, such as (T6), are the rules of its relatives in `spec/rto-family.md`.
//!
//! [RFC 6298]: https://www.rfc-editor.org/rfc/rfc6298
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

mod clock;
pub mod compact;
mod config;
mod deviation;
mod estimator;
#[cfg(test)]
mod exhaustive;
mod explain;
mod fixed;
pub mod guide;
mod handshake;
mod limits;
pub mod linux;
mod observer;
mod presets;
#[cfg(feature = "qlog")]
pub mod qlog;
pub mod quic;
mod sampler;
mod timer;
pub mod transaction;
mod undo;

pub use config::{Collapse, Config, ConfigError, Gain, PostSyn, VarianceFloor};
pub use deviation::Deviation;
pub use estimator::{Estimator, Outcome};
pub use limits::{GiveUp, Limit, Limits, Threshold};
pub use observer::{Event, Observer};
pub use sampler::{Rejection, Sample, Sampler};
pub use timer::{Expiry, Progress, RetransmitTimer, Timeout};
pub use undo::{Snapshot, expected_samples, is_spurious};

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
