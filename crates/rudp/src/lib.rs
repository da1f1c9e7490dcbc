//! A reliable transport over UDP: tokio driver and program.

mod clock;
mod connection;
mod driver;
mod endpoint;
pub mod protocol;
pub mod relay;
mod socket;
mod state;
pub mod storage;

pub use clock::Clock;
pub use connection::Connection;
pub use endpoint::{ConnectError, Endpoint, Options};
pub use rudp_proto::{CloseReason, EndpointStats, Handle, HandshakeStep, Lost, Stats, Trace};
pub use state::TraceSink;
pub use storage::{FileName, Folder};
