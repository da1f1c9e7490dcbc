//! Why settings are refused, and why a call on a connection or a stream fails.

use std::{fmt, io};

use rudp_proto::CloseReason;

/// Why settings are refused before anything is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionsError {
    /// The transport's: those of [`EndpointOptions::config`](crate::EndpointOptions::config).
    Transport(rudp_proto::ConfigError),
    /// Those that say when to connect again.
    Backoff(grpc_backoff::ConfigError),
    /// [`ListenerOptions::max_sessions`](crate::ListenerOptions::max_sessions) is 0.
    NoSessions,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(error) => error.fmt(f),
            Self::Backoff(error) => error.fmt(f),
            Self::NoSessions => f.write_str("max_sessions is 0: no session could begin"),
        }
    }
}

impl std::error::Error for OptionsError {}

impl From<rudp_proto::ConfigError> for OptionsError {
    fn from(error: rudp_proto::ConfigError) -> Self {
        Self::Transport(error)
    }
}

impl From<grpc_backoff::ConfigError> for OptionsError {
    fn from(error: grpc_backoff::ConfigError) -> Self {
        Self::Backoff(error)
    }
}

/// Why a call on a connection, a stream or a message fails. As [`io::Error`] it is found inside
/// (`get_ref`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// This side has finished, reset or stopped the stream.
    Finished,
    /// The peer wants no more of the stream, and says so with this code (S7). Kind `BrokenPipe`.
    Stopped(u64),
    /// The peer gave its half of the stream up, with this code (S6). Kind `ConnectionReset`.
    Reset(u64),
    /// It is longer than the limit, both in bytes: the one of
    /// [`read_to_end`](crate::RecvStream::read_to_end), or that of a message (M2). Kind
    /// `InvalidData`.
    TooLong {
        /// The least length it has.
        length: usize,
        /// The most allowed.
        limit: usize,
    },
    /// Either side is closing the connection: nothing new is taken, and nothing more will come.
    /// Kind `ConnectionReset`.
    Closing,
    /// The connection has ended. Kind `ConnectionReset`, or `TimedOut` after silence (K2).
    Closed(CloseReason),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => f.write_str("the stream was ended by this side"),
            Self::Stopped(code) => write!(f, "the peer stopped the stream, code {code} (S7)"),
            Self::Reset(code) => write!(f, "the peer reset the stream, code {code} (S6)"),
            Self::TooLong { length, limit } => {
                write!(f, "{length} bytes or more, where {limit} are allowed")
            }
            Self::Closing => f.write_str("the connection is closing"),
            Self::Closed(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for StreamError {}

impl From<StreamError> for io::Error {
    fn from(error: StreamError) -> Self {
        use rudp_proto::Lost::TimedOut;
        let kind = match error {
            StreamError::Finished | StreamError::Stopped(_) => io::ErrorKind::BrokenPipe,
            StreamError::TooLong { .. } => io::ErrorKind::InvalidData,
            StreamError::Closed(CloseReason::Lost(TimedOut)) => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::ConnectionReset,
        };
        Self::new(kind, error)
    }
}
