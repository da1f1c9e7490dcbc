//! gRPC's reconnect interop test, both sides.
//!
//! ```text
//! client                                   server
//!   Start(max_reconnect_backoff_ms) ─────▶ control port: begins a record
//!   connect ... connect .... connect ────▶ retry port: notes the instant, closes
//!   Stop ────────────────────────────────▶ control port: judges the gaps
//! ```
//!
//! The program `grpc-backoff-interop` is a thin shell around these parts; the README has the
//! commands.

#![forbid(unsafe_code)]

pub mod client;
mod clock;
pub mod dial;
mod record;
mod recorder;
mod scale;
pub mod server;
pub mod tls;

pub use record::{Fault, Gap, MAX_GAPS, Record};
pub use recorder::Recorder;
pub use scale::Scale;

/// The published protocol, generated from `proto/reconnect.proto`.
#[expect(clippy::allow_attributes_without_reason, reason = "generated")]
pub mod proto {
    tonic::include_proto!("grpc.testing");
}
