//! gRPC servers that fail in each way that clients meet, to test how a client comes back.
//!
//! ```text
//!             Listener   TCP, loopback, real time; notes each connection's instant
//!   Fault ─▶  Memory     in memory, for virtual time; notes each dial's instant   ─▶ Judge
//!             serve      one connection over any stream, such as a TLS one
//! ```
//!
//! A [`Client`] is the other side, by hand. [`Judge`] says whether who was let down
//! so came back as the connection backoff asks.
//!
//! ```
//! # use {grpc_faults::*, std::time::Duration};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! let server = Memory::new(Fault::AcceptThenClose);
//! for gap in [0, 1_000, 1_600, 2_560] {
//!     tokio::time::sleep(Duration::from_millis(gap)).await;
//!     let _ = server.connect().await;
//! }
//! assert_eq!(Judge::OFFICIAL.judge(&server.starts()), Ok(()));
//! # }
//! ```
//!
//! The wire format is written by hand, frame by frame, so that no HTTP/2 library corrects it.

mod client;
mod fault;
mod http2;
mod judge;
mod listener;
mod memory;
mod record;
#[cfg(target_os = "linux")]
mod syn;

pub use client::{Client, Gone};
pub use fault::{Fault, GoAway, serve};
pub use judge::{Gap, Judge, Rejected, Window};
pub use listener::Listener;
pub use memory::Memory;
