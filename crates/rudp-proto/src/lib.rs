//! A reliable transport over UDP as a plain state machine: sockets, time and chance stay outside.
//!
//! ```text
//! handle_datagram, handle_unreachable ─▶            ─▶ poll_transmit: the next datagrams
//! handle_timeout(now) ────────────────▶  Endpoint   ─▶ poll_timeout: when to call again
//! connect, write, read, close ────────▶             ─▶ poll_event: what happened
//! ```
//!
//! An [`Endpoint`] is client and server at once. Each [`Connection`] carries one
//! ordered byte stream in each direction, and its only retransmission timer is
//! [`rto::RetransmitTimer`]. `now` and every deadline are spans since a moment
//! that the host fixes once, by a clock that is never set back. The wire format
//! and every rule cited in the code are in `spec/rudp.md`.
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

mod ack;
mod config;
mod congestion;
mod connection;
mod ecn;
mod endpoint;
mod event;
mod handshake;
mod loss;
mod ranges;
mod receiver;
mod sender;
mod stats;
mod trace;
pub mod wire;

pub use config::{Config, ConfigError, Congestion, Secrets};
pub use connection::Connection;
pub use connection::closing::VIOLATION_CODE;
pub use ecn::{Ecn, EcnCounts};
pub use endpoint::{Endpoint, Handle, Transmit};
pub use event::{CloseReason, ConnectError, Event, Lost, ReadError, WriteError};
pub use handshake::COOKIE_LIFETIME;
pub use stats::{EndpointStats, Stats};
pub use trace::{CongestionMetrics, CongestionPhase, HandshakeStep, Step, Trace, TracedPacket};
