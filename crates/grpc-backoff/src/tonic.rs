//! gRPC channels that reconnect as the connection backoff asks, for tonic as it is.
//!
//! Tonic by itself dials for each call that finds no connection, and takes a TCP connection for a
//! server that works. Two ways to change that:
//!
//! | | [`Connector`] | [`Channel`] |
//! |---|---|---|
//! | what calls go through | tonic's channel with all of `Endpoint` | a `tower` service of its own |
//! | connects | when there is a call | by itself, also without calls |
//! | a call during the backoff | fails, or waits | fails, waits within its `grpc-timeout`, or finds it not ready |
//! | a call whose connection closes before it is sent | fails with UNAVAILABLE | goes to the next connection |
//! | for a balancer | no | yes: it is not ready during the backoff, and knows its load |
//!
//! Both dial over TCP or any inner connector, speak TLS themselves (feature `tls`: tonic's own
//! would hide the server's first frame), and watch each connection by [`SettingsIo`]: the server
//! has accepted when its SETTINGS comes (S11), and has until the connect deadline for it (S5).
//! Calls do not wait for that (D13). A name with several addresses is tried address by address,
//! each with its own backoff.
//!
//! ```
//! # use grpc_backoff::{Config, ConfigError, Wait, tonic::{Channel, Connector}};
//! # use tonic::transport::Endpoint;
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ConfigError> {
//! let endpoint = Endpoint::from_static("http://127.0.0.1:50051");
//! // Instead of endpoint.connect_lazy():
//! let channel = Connector::new(Config::GRPC)?.lazy(endpoint);
//!
//! let target = "http://127.0.0.1:50051".parse().expect("a URI");
//! let channel = Channel::new(Config::GRPC, target)?.calls(Wait::FailFast);
//! println!("{}", channel.status()); // such as IDLE, or TRANSIENT_FAILURE after 4 failures; ...
//! # Ok(()) }
//! ```

mod answer;
mod builder;
mod channel;
mod connector;
mod deadline;
mod lazy;
mod origin;
mod settings_io;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod unavailable;

use core::pin::Pin;
use std::boxed::Box;

pub use builder::Builder;
pub use channel::Channel;
pub use connector::Connector;
pub use lazy::{Answering, LazyChannel};
pub use settings_io::SettingsIo;
#[cfg(feature = "tls")]
pub use tls::Tls;
pub use transport::Io;
pub use unavailable::Unavailable;

type BoxError = Box<dyn core::error::Error + Send + Sync>;
type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
