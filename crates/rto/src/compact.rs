//! The same estimator and timer for firmware: 32-bit arithmetic, a clock that wraps, 16 bytes
//! of state for the estimator and 8 more for the timer.
//!
//! Time is a free-running counter of microseconds in a `u32`, as a hardware timer gives it. It
//! wraps every 71.6 minutes and may start anywhere: instants are compared by their difference,
//! and half the range counts as "after" (P70). Deadlines are instants of the same counter, fit
//! for a compare register.
//!
//! ```
//! use rto::{Config, compact::*};
//!
//! // Checked when it is compiled, kept in flash, shared by all connections.
//! static PARAMS: Params = match Params::new(Config::RFC6298) {
//!     Ok(params) => params,
//!     Err(_) => panic!("illegal settings"),
//! };
//! let clock = |ms: u32| (ms * 1_000).wrapping_sub(700_000); // wraps after 0.7 s
//!
//! let mut timer = RetransmitTimer::new(Estimator::new(&PARAMS));
//! timer.handle_sent(clock(0));
//! let sample = Sample::of_transmission(clock(0), clock(600));
//! timer.handle_acked(&PARAMS, clock(600), Progress::Some, Some(sample));
//! assert_eq!(timer.estimator().rto_us(), 1_800_000); // 600 ms + 4 x 300 ms
//! assert_eq!(timer.poll_timeout(), Some(clock(2_400)));
//! assert_eq!(timer.handle_timeout(&PARAMS, clock(2_399)), None);
//! assert!(timer.handle_timeout(&PARAMS, clock(2_400)).is_some());
//! ```
//!
//! # Bounds
//!
//! | | |
//! |---|---|
//! | RTO | never earlier than exact, less than 3 µs later (P76) |
//! | cap of the RTO | below 2^31 µs, 35.8 minutes (P73) |
//! | largest sample | [`Estimator::MAX_SAMPLE_US`], 134 s: larger ones count as that much (P77) |
//! | gains | those of the RFC, 1/8, 1/4 and 4: shifts, no multiplication (P73, P78) |
//! | overdue deadlines | seen for 35.8 minutes, see [`RetransmitTimer::handle_timeout`] (P72) |
//!
//! The rest is as in [`Estimator`](crate::Estimator) and
//! [`RetransmitTimer`](crate::RetransmitTimer), rule by rule (P79). Limits are the host's: give
//! up when [`Expiry::backoffs`] says so.

mod estimator;
mod params;
mod ticks;
mod timer;

pub use estimator::Estimator;
#[cfg(test)]
pub(crate) use estimator::blend;
pub use params::{Params, Unsupported};
pub use ticks::{Sample, elapsed};
pub use timer::{Expiry, Progress, RetransmitTimer};
