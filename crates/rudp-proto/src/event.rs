//! What an endpoint tells its host.

use alloc::string::String;
use core::fmt;

use rto::{GiveUp, Limit};

use crate::trace::Trace;

use crate::StreamId;
use crate::wire::Versions;

/// What happened on a connection, from [`Endpoint::poll_event`](crate::Endpoint::poll_event).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done: the server's SETTINGS arrived here, or a client proved its address
    /// to this server by a cookie or its first Data packet (H7, H11).
    Connected,
    /// R1 of [`Config::limits`](crate::Config::limits) is reached: the route may be stale, and
    /// the end may come. Comes again only after something was acknowledged (K10).
    Unanswered,
    /// Something new was acknowledged after [`Unanswered`](Self::Unanswered) (K10).
    Answered,
    /// The peer opened streams: call [`accept_stream`](crate::Connection::accept_stream) until
    /// `None` (S2).
    Opened,
    /// There is something to read, or the end of the stream. Comes again only
    /// after more has arrived: read until `None`.
    Readable(StreamId),
    /// There is room again after a [`write`](crate::Connection::write) that did
    /// not take everything.
    Writable(StreamId),
    /// The peer wants no more of the stream: what it does not have is dropped, and the next
    /// [`write`](crate::Connection::write) or [`finish`](crate::Connection::finish) tells the
    /// peer's code (S7).
    Stopped(StreamId),
    /// Everything written to the stream or message is acknowledged, and its end if it is finished,
    /// after [`is_acknowledged`](crate::Connection::is_acknowledged) said "not yet" (S8).
    Acknowledged(StreamId),
    /// [`open_stream`](crate::Connection::open_stream) may work again after it refused (S4).
    MayOpen,
    /// A message arrived: call [`read_message`](crate::Connection::read_message) until `None`.
    MessageReadable,
    /// [`send_message`](crate::Connection::send_message) may work again after it refused.
    MessageWritable,
    /// The deadline of a message passed before all of it was acknowledged: it is dropped, though
    /// it may have arrived (M4).
    MessageExpired(StreamId),
    /// A step of the machinery; only with [`Config::trace`](crate::Config::trace).
    Trace(Trace),
    /// The last event of a connection: its handle is dead from here on.
    Closed(CloseReason),
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// This side closed and the peer's endpoint has everything, or this side
    /// aborted. What is acknowledged has arrived; whether the peer's application
    /// has read it, only the application can say.
    Local {
        /// This side's code, as the peer is told; 0 is "no error".
        code: u64,
        /// This side's words, as the peer is told: at most 256 bytes of them.
        reason: String,
    },
    /// The peer closed or aborted.
    Peer {
        /// The application's code; 0 is "no error".
        code: u64,
        /// The application's words, at most 256 bytes.
        reason: String,
    },
    /// Nobody meant it to end.
    Lost(Lost),
}

/// How a connection was lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Nobody listens at the peer's port (K6).
    Refused,
    /// The peer does not know this connection, for example after a restart; what
    /// it had acknowledged may be unread (K5).
    Reset,
    /// The server is at its connection limit (H9).
    Busy,
    /// What was sent was not acknowledged before R2 or the user timeout of
    /// [`Config::limits`](crate::Config::limits); it may have arrived (K11).
    GaveUp(GiveUp),
    /// Nothing arrived for the idle timeout (K2), or after a
    /// [`close`](crate::Connection::close) nothing moved for so long (K3).
    TimedOut,
    /// The server speaks none of this side's versions, but these (N3).
    Version(Versions),
    /// There is no packet number left, or none that the peer could read (W10).
    Exhausted,
    /// The peer broke the protocol; the text names the rule.
    Violation(&'static str),
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { code, reason } => write_closed(f, "this side", *code, reason),
            Self::Peer { code, reason } => write_closed(f, "the peer", *code, reason),
            Self::Lost(lost) => lost.fmt(f),
        }
    }
}

fn write_closed(f: &mut fmt::Formatter<'_>, by: &str, code: u64, reason: &str) -> fmt::Result {
    write!(f, "closed by {by}")?;
    match (code, reason) {
        (0, "") => Ok(()),
        (_, "") => write!(f, ", code {code}"),
        _ => write!(f, ", code {code}: {reason}"),
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("refused: nobody listens there"),
            Self::Reset => f.write_str("reset: the peer does not know this connection"),
            Self::Busy => f.write_str("refused: the server is at its connection limit"),
            Self::GaveUp(GiveUp {
                limit,
                retransmissions,
                elapsed,
            }) => {
                let limit = match limit {
                    Limit::R2 => "R2",
                    Limit::UserTimeout => "the user timeout",
                };
                write!(
                    f,
                    "gave up at {limit}: no answer to {retransmissions} repetitions in {elapsed:?}"
                )
            }
            Self::TimedOut => f.write_str("timed out: no progress for the idle timeout"),
            Self::Version(theirs) => write!(f, "no common version: the server speaks {theirs}"),
            Self::Exhausted => f.write_str("exhausted: no packet number is left"),
            Self::Violation(what) => write!(f, "protocol violation: {what}"),
        }
    }
}

/// Why [`Connection::open_stream`](crate::Connection::open_stream) refuses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The peer allows no more streams until some are over, or 65,536 of them are open: wait for
    /// [`Event::MayOpen`] (S3).
    TooMany,
    /// The connection is closing or closed (K3).
    Closed,
}

/// Why [`Connection::send_message`](crate::Connection::send_message) refuses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// It has more bytes than [`MAX_MESSAGE`](crate::MAX_MESSAGE), or than half of the peer's first
    /// window, which counts as 1,200 bytes until the peer is known (M2, M5).
    TooLong {
        /// Its length, in bytes.
        length: usize,
        /// The most it may have.
        limit: usize,
    },
    /// The peer allows no more messages until it has read some, 65,536 of them are not acknowledged
    /// (S3), or the application has not fetched what it was told of expired ones (M4): wait for
    /// [`Event::MessageWritable`].
    TooMany,
    /// The buffer has no room: wait for [`Event::MessageWritable`] (F6).
    BufferFull,
    /// The connection is closing or closed (K3).
    Closed,
}

/// Why [`Connection::write`](crate::Connection::write) and
/// [`finish`](crate::Connection::finish) refuse.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// No such stream was ever opened, or it is a message (S2).
    NoStream,
    /// The stream was finished or reset by this side (F4).
    Finished,
    /// The peer wants no more, and says so with this code (S7).
    Stopped(u64),
    /// The connection is closing or closed (K3).
    Closed,
}

/// Why [`Connection::read`](crate::Connection::read) refuses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// No such stream was ever opened, or it is a message (S2).
    NoStream,
    /// The peer gave the stream up, with this code; told once (S6).
    Reset(u64),
    /// The connection ended before the end of the peer's stream (K3).
    Closed,
}

/// Why [`Endpoint::connect`](crate::Endpoint::connect) refuses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The endpoint holds as many connections as
    /// [`Config::max_connections`](crate::Config::max_connections) allows (H9).
    TooManyConnections(usize),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "no more streams are allowed for now (S3)",
            Self::Closed => "the connection is closed (K3)",
        })
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { length, limit } => {
                write!(
                    f,
                    "a message of {length} bytes, where {limit} are allowed (M2, M5)"
                )
            }
            Self::TooMany => f.write_str("no more messages are allowed for now (S3, M4)"),
            Self::BufferFull => f.write_str("the buffer has no room for the message (F6)"),
            Self::Closed => f.write_str("the connection is closed (K3)"),
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStream => f.write_str("there is no such stream (S2)"),
            Self::Finished => f.write_str("the stream is finished (F4)"),
            Self::Stopped(code) => write!(f, "the peer stopped the stream, code {code} (S7)"),
            Self::Closed => f.write_str("the connection is closed (K3)"),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStream => f.write_str("there is no such stream (S2)"),
            Self::Reset(code) => write!(f, "the peer reset the stream, code {code} (S6)"),
            Self::Closed => f.write_str("the connection ended before the peer's stream did (K3)"),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyConnections(limit) => {
                write!(
                    f,
                    "the endpoint is at its limit of {limit} connections (H9)"
                )
            }
        }
    }
}

impl core::error::Error for OpenError {}
impl core::error::Error for MessageError {}
impl core::error::Error for WriteError {}
impl core::error::Error for ReadError {}
impl core::error::Error for ConnectError {}
