//! Files over UDP, through loss, reordering and servers that die.
//!
//! ```text
//!  send ─▶ Reconnector ─▶ Endpoint::connect          when to connect again: grpc-backoff
//!    └─ file protocol ──▶ Connection  ◀── Receiver   which bytes are missing
//!                           │ Endpoint               one task, one socket, one clock
//!                        rudp_proto                  when to send a packet again: rto
//! ```
//!
//! Three layers, each usable without those above it:
//!
//! - An [`Endpoint`] drives the sans-IO transport `rudp_proto` with tokio. Its [`Connection`]s are
//!   tokio streams.
//! - [`send`] and [`Receiver`] move files over them. They report everything they do to an
//!   [`Observer`], which is all that the program's output is made of.
//! - The program `rudp`: `recv`, `send`, `relay`, `demo`, and `plot` for what the others traced.
//!
//! ```
//! # use {rudp::{Endpoint, EndpointOptions}, tokio::io::AsyncReadExt};
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::default())?;
//! let address = server.local_addr();
//! let client = tokio::spawn(async move {
//!     let client = Endpoint::client_to(address, EndpointOptions::default())?;
//!     let connection = client.connect(address).await?;
//!     connection.write_all(b"hello").await?;
//!     connection.close(0, "").await; // everything has arrived
//!     Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! });
//! let mut connection = server.accept().await.ok_or("the endpoint ended")?;
//! let mut heard = String::new();
//! connection.read_to_string(&mut heard).await?;
//! assert_eq!(heard, "hello");
//! # client.await?.map_err(|error| error.to_string())?; Ok(()) }
//! ```

mod blocking;
mod clock;
mod connection;
pub mod demo;
mod driver;
mod endpoint;
pub mod plot;
pub mod protocol;
mod receiver;
pub mod relay;
mod sender;
mod socket;
mod state;
mod storage;
mod words;

pub use clock::Clock;
pub use connection::Connection;
pub use endpoint::{ConnectError, Endpoint, EndpointOptions};
pub use receiver::{ReceiveEvent, Receiver, Receiving};
pub use rudp_proto::{
    CloseReason, CongestionMetrics, CongestionPhase, EndpointStats, Handle, HandshakeStep, Lost,
    Stats, Step, Trace, TracedPacket,
};
pub use sender::{
    Attempt, Delivered, DialError, Report, SendError, SendEvent, SendOptions, Sending, Totals, send,
};
pub use state::TraceSink;
pub use storage::{FileName, Folder, FolderError, NameError};

/// Takes events as they happen; called from the tasks that make them, so it
/// should be quick.
pub type Observer<E> = std::sync::Arc<dyn Fn(E) + Send + Sync>;
