//! A reliable transport over UDP as a plain state machine: sockets, time and chance stay outside.
//!
//! ```text
//! handle_datagram, handle_unreachable ─▶            ─▶ poll_transmit: the next datagrams
//! handle_timeout(now) ────────────────▶  Endpoint   ─▶ poll_timeout: when to call again
//! connect, write, read, close ────────▶             ─▶ poll_event: what happened
//! ```
//!
//! An [`Endpoint`] is client and server at once. Each [`Connection`] carries any number of
//! ordered byte streams, two directions each, and of messages, which arrive whole and in any
//! order; its only retransmission timer is [`rto::RetransmitTimer`]. A byte is copied twice on each
//! side: into its stream's buffer and from there into a datagram, and back. `now` and every deadline are spans since a moment
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
mod mtu;
mod queue;
mod ranges;
mod receiver;
mod sender;
mod stats;
mod stream_id;
mod streams;
mod trace;
pub mod wire;

pub use config::{Config, ConfigError, Congestion, Secrets};
pub use connection::Connection;
pub use connection::closing::VIOLATION_CODE;
pub use ecn::{Ecn, EcnCounts, EcnState};
pub use endpoint::{Endpoint, Handle, Transmit};
pub use event::{
    CloseReason, ConnectError, Event, Lost, MessageError, OpenError, ReadError, WriteError,
};
pub use handshake::COOKIE_LIFETIME;
pub use stats::{EndpointStats, Stats};
pub use stream_id::{Side, StreamId, StreamKind};
pub use streams::MAX_MESSAGE;
pub use trace::{
    CongestionMetrics, CongestionPhase, HandshakeStep, LossTrigger, Step, Trace, TracedPacket,
};
