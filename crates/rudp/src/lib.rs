//! A reliable transport over UDP: tokio driver and program.

mod blocking;
mod clock;
mod connection;
pub mod demo;
mod driver;
mod endpoint;
pub mod protocol;
mod receiver;
pub mod relay;
mod sender;
mod socket;
mod state;
pub mod storage;

pub use clock::Clock;
pub use connection::Connection;
pub use endpoint::{ConnectError, Endpoint, Options};
pub use receiver::{Observer, ReceiveEvent, Receiver, Receiving};
pub use rudp_proto::{CloseReason, EndpointStats, Handle, HandshakeStep, Lost, Stats, Trace};
pub use sender::{
    Attempt, Delivered, Report, SendError, SendEvent, SendOptions, Sending, Totals, send,
};
pub use state::TraceSink;
pub use storage::{FileName, Folder};
