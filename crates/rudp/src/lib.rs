//! A reliable transport over UDP for tokio: streams, messages, and streams that outlive connections.
//!
//! ```text
//!  send, Receiver ──┐                               files: which bytes are missing
//!  Resumable ───────┼─▶ Reconnector                 when to connect again: grpc-backoff
//!                   ▼
//!  Connection, SendStream, RecvStream, messages     cheap handles, from any task
//!                   │ Endpoint                      one task, one socket, one clock
//!                rudp_proto                         when to send a packet again: rto
//! ```
//!
//! # Streams
//!
//! An [`Endpoint`] is a socket with any number of [`Connection`]s, as client, server or both. A
//! connection has any number of streams, each a [`SendStream`] and a [`RecvStream`], which are
//! tokio's `AsyncWrite` and `AsyncRead`. A stream waits for nothing that is lost on another one.
//!
//! ```
//! # use rudp::{Endpoint, EndpointOptions};
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::default())?;
//! let address = server.local_addr();
//! tokio::spawn(async move {
//!     let connection = server.accept().await?;
//!     while let Ok((mut send, mut recv)) = connection.accept_stream().await {
//!         tokio::spawn(async move {
//!             tokio::io::copy(&mut recv, &mut send).await?; // an echo
//!             send.finish()?; // dropped before that, it is reset: nothing looks complete by accident
//!             Ok::<(), std::io::Error>(())
//!         });
//!     }
//!     Some(())
//! });
//! let client = Endpoint::client_to(address, EndpointOptions::default())?;
//! let connection = client.connect(address).await?;
//! let (mut send, mut recv) = connection.open_stream().await?;
//! send.write_all(b"hello").await?;
//! send.finish()?;
//! assert_eq!(recv.read_to_end(100).await?, b"hello"); // at most 100 bytes
//! connection.close(0, "done").await; // everything has arrived
//! # Ok(()) }
//! ```
//!
//! # Messages
//!
//! A message of up to 64 KiB arrives whole and once, in any order among others. It may have a
//! lifetime: what is of no use any more is not repeated, and its sender can hear of it.
//!
//! ```
//! # use {rudp::{Endpoint, EndpointOptions, MessageOutcome}, std::time::Duration};
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::default())?;
//! # let address = server.local_addr();
//! # let client = Endpoint::client_to(address, EndpointOptions::default())?;
//! # let (connection, accepted) = tokio::join!(client.connect(address), server.accept());
//! # let (connection, accepted) = (connection?, accepted.ok_or("the endpoint ended")?);
//! let sent = connection.send_message(b"the state", Some(Duration::from_secs(1))).await?;
//! assert_eq!(accepted.recv_message().await?, b"the state");
//! assert_eq!(sent.outcome().await?, MessageOutcome::Delivered);
//! # Ok(()) }
//! ```
//!
//! # Streams that outlive connections
//!
//! A [`Resumable`] goes on, byte for byte, over one connection after the other; see there. A program
//! that wants to say "offline" meanwhile sets an observer in [`ResumableOptions`].
//!
//! # Settings
//!
//! [`EndpointOptions`] has all of them: the transport's in its [`Config`], each with its default, its
//! unit and its rule in `spec/rudp.md`. [`Connection::stats`] counts what happened,
//! [`Connection::explain`] says in one line what a connection waits for, and `on_trace` hears each
//! [`Step`]. There is no encryption: a checksum guards against damage, not against an attacker.
//!
//! ```
//! # use {rudp::{Congestion, EndpointOptions}, std::time::Duration};
//! let mut options = EndpointOptions::default();
//! options.config.idle_timeout = Duration::from_secs(20); // default: 60 s
//! options.config.congestion = Congestion::Cubic; // default: Congestion::Bbr
//! options.config.rto = rudp::rto::Config::GAMES; // a floor of 200 ms; default: RFC6298, of 1 s
//! options.config.limits.user_timeout = Some(Duration::from_secs(5)); // default: none
//! ```
//!
//! What is set may be refused: the error names the setting, its value, the bound and the rule. It is
//! inside of the [`io::Error`](std::io::Error) of an [`Endpoint`], and an [`OptionsError`] of
//! [`Resumable::connect`] and [`send`]. The crates whose types settings and errors have come with this one: [`rto`], [`grpc_backoff`] and
//! [`rudp_proto`].
//!
//! # Speed
//!
//! Who moves much is best a task of its own (`tokio::spawn`): the body of `block_on`, and so of
//! `#[tokio::main]`, runs on none of the runtime's threads, so that a wake-up has to cross from one to
//! another. Datagrams are as large as the path carries, within a host 16,000 bytes
//! ([`Config::max_datagram`]).
//!
//! # Files
//!
//! [`send`] and [`Receiver`] move files. They report everything they do to an [`Observer`], which
//! is all that the output of the program `rudp` is made of: `recv`, `send`, `relay`, `demo`, and `plot`
//! for what the others traced.
//!
//! # Programs to copy
//!
//! `cargo run -p rudp --example NAME`: `echo`, `chat` (several clients, a broadcast), `file` (a
//! stream for each), `rpc` (a stream for each call, with a deadline), `game` (the newest state
//! matters).

mod attempt;
mod backlog;
mod blocking;
mod clock;
mod connection;
pub mod demo;
mod driver;
mod endpoint;
mod error;
mod last_rtt;
mod message;
pub mod plot;
pub mod protocol;
mod receiver;
pub mod relay;
mod resumable;
mod sender;
mod socket;
mod state;
mod storage;
mod stream;
mod waiting;
mod words;

pub use {grpc_backoff, rto, rudp_proto};

pub use attempt::Attempt;
pub use clock::Clock;
pub use connection::Connection;
pub use endpoint::{ConnectError, Endpoint, EndpointOptions};
pub use error::{OptionsError, StreamError};
pub use message::{MessageOutcome, SentMessage};
pub use receiver::{ReceiveEvent, Receiver, Receiving};
pub use resumable::{
    ListenerOptions, Resumable, ResumableListener, ResumableOptions, ResumeError, ResumeEvent,
    Resuming,
};
pub use rudp_proto::{
    CloseReason, Config, Congestion, CongestionMetrics, CongestionPhase, EcnState, EndpointStats,
    Handle, HandshakeStep, LossTrigger, Lost, MAX_MESSAGE, Stats, Step, StreamId, Trace,
    TracedPacket,
};
pub use sender::{
    Delivered, DialError, Report, SendError, SendEvent, SendOptions, Sending, Totals, send,
};
pub use state::TraceSink;
pub use storage::{FileName, Folder, FolderError, NameError};
pub use stream::{RecvStream, SendStream};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Takes events as they happen; called from the tasks that make them, so it
/// should be quick.
pub type Observer<E> = std::sync::Arc<dyn Fn(E) + Send + Sync>;
