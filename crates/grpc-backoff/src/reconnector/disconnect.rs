use core::fmt;
use std::io;

/// Why a connection that the server had accepted is gone, in the classes of gRFC A94. As text it
/// is the value of the label `grpc.disconnect_error` (D14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Disconnect {
    /// The server said GOAWAY, with this HTTP/2 error code.
    GoAway(u32),
    /// This side has no more use for it: shutdown, or other addresses.
    Shutdown,
    /// It was reset.
    Reset,
    /// It timed out; so do connections whose keepalive is not answered.
    TimedOut,
    /// It was aborted.
    Aborted,
    /// Another error of the socket.
    Socket,
    /// Anything else, such as an end without a word.
    #[default]
    Unknown,
}

impl From<&io::Error> for Disconnect {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionReset => Self::Reset,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::ConnectionAborted => Self::Aborted,
            io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected => Self::Socket,
            _ if error.raw_os_error().is_some() => Self::Socket,
            _ => Self::Unknown,
        }
    }
}

impl Disconnect {
    /// The text, from a list that no server can make longer. A code that HTTP/2 does not define
    /// may be treated as INTERNAL_ERROR (RFC 9113, section 7).
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::GoAway(0x0) => "GOAWAY NO_ERROR",
            Self::GoAway(0x1) => "GOAWAY PROTOCOL_ERROR",
            Self::GoAway(0x3) => "GOAWAY FLOW_CONTROL_ERROR",
            Self::GoAway(0x4) => "GOAWAY SETTINGS_TIMEOUT",
            Self::GoAway(0x5) => "GOAWAY STREAM_CLOSED",
            Self::GoAway(0x6) => "GOAWAY FRAME_SIZE_ERROR",
            Self::GoAway(0x7) => "GOAWAY REFUSED_STREAM",
            Self::GoAway(0x8) => "GOAWAY CANCEL",
            Self::GoAway(0x9) => "GOAWAY COMPRESSION_ERROR",
            Self::GoAway(0xa) => "GOAWAY CONNECT_ERROR",
            Self::GoAway(0xb) => "GOAWAY ENHANCE_YOUR_CALM",
            Self::GoAway(0xc) => "GOAWAY INADEQUATE_SECURITY",
            Self::GoAway(0xd) => "GOAWAY HTTP_1_1_REQUIRED",
            Self::GoAway(_) => "GOAWAY INTERNAL_ERROR",
            Self::Shutdown => "subchannel shutdown",
            Self::Reset => "connection reset",
            Self::TimedOut => "connection timed out",
            Self::Aborted => "connection aborted",
            Self::Socket => "socket error",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Disconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
