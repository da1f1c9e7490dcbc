//! Network links in virtual time: what happens to a packet between two hosts.
//!
//! A [`Link`] carries packets one way. It opens no socket and reads no clock: you hand packets in,
//! it says when each is due at the far end, and you take it out. So tests drive it in virtual time,
//! `rudp relay` between sockets, and `netsim tun` between network namespaces.
//!
//! ```text
//! handle_packet ─▶ bottleneck ─▶ dark? lost? ─▶ corrupt, duplicate ─▶ delay ─▶ poll_packet
//!                  mtu, rate,    blackouts,                           jitter,   at poll_timeout
//!                  queue, marks  policer, loss,                       reorder
//!                                burst
//! ```
//!
//! ```
//! # use {core::time::Duration, netsim::*};
//! let at = Duration::from_millis; // the clock: milliseconds since the start
//! let config = LinkConfig {
//!     delay: at(40),
//!     loss: "5%".parse()?,
//!     blackouts: vec![at(10_000)..at(25_000)],
//!     ..LinkConfig::PERFECT
//! };
//! let mut link = Link::new(config, 7)?; // 7 seeds the fate of every packet
//! link.handle_packet(at(0), b"hello".to_vec());
//! assert_eq!(link.poll_timeout(), Some(at(40)));
//! assert_eq!(link.poll_packet(at(39)), None); // early is harmless
//! assert_eq!(link.poll_packet(at(40)), Some(b"hello".to_vec()));
//! link.handle_packet(at(10_000), b"into the dark".to_vec());
//! assert_eq!(link.poll_timeout(), None);
//! assert_eq!(link.counters().lost_blackout, 1);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Replay
//!
//! The fate of a packet (its draws for loss, delay and the rest) hangs on the link's seed and the
//! packet's index alone, not on the packet, the time or the settings: raising the loss from 5 % to
//! 10 % loses the same packets and more. The same calls give the same results on every platform.
//! Give each link a seed of its own; neighbouring seeds are as good as any.
//!
//! # Time
//!
//! `now` and every deadline are spans since a moment that you fix once, by a clock that is never
//! set back. Should it go back nevertheless, see [`Link::handle_packet`].
//!
//! # Memory
//!
//! A link holds at most [`Link::MAX_PACKETS`] packets and [`Link::MAX_BYTES`] bytes; what exceeds
//! that is dropped and counted as lost to the queue.

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

extern crate alloc;
#[cfg(any(test, feature = "cli"))]
extern crate std;

mod bottleneck;
mod burst;
mod config;
mod counters;
mod ecn;
mod fate;
mod link;
#[cfg(feature = "cli")]
pub mod options;
mod policer;
mod probability;
#[cfg(feature = "cli")]
pub mod units;

pub use burst::{BurstError, GilbertElliott};
pub use config::{ConfigError, LinkConfig};
pub use counters::Counters;
pub use ecn::Ecn;
pub use link::Link;
pub use policer::Policer;
pub use probability::{Probability, ProbabilityError};
