//! The file protocol: what sender and receiver say to each other over one stream.
//!
//! ```text
//! sender                            receiver
//! Offer {name, length, force} ────▶
//!                             ◀──── Exists {hash}     only if a file of that name and length is there
//! Compared {same} ────────────────▶                   the same: on to Done; else only `force` goes on
//!                             ◀──── Resume {offset, prefix}
//! Begin {offset, or 0} ───────────▶
//! length - offset bytes of data ──▶
//! End {hash of the whole file} ───▶
//!                             ◀──── Done              verified, on disk, under its name
//! ```
//!
//! A receiver that will not have the file aborts the connection with a
//! [`RefusalCode`] and a reason. `Ping` may come from the receiver at any time
//! and means nothing: that the transport acknowledges it proves that the
//! sender lives.
//!
//! A message is a kind (1 byte), the length of its body (2 bytes, big-endian,
//! at most [`MAX_BODY`]) and the body.

mod codec;
mod refusal;

use std::{fmt, io};

use blake3::Hash;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub use refusal::{Refusal, RefusalCode};

/// The version of the file protocol, the first thing in an offer: 1.
pub const VERSION: u8 = 1;

/// The longest body of a message, in bytes: 4096. A longer one is an error,
/// so a hostile peer cannot make the other side set memory aside.
pub const MAX_BODY: usize = 4096;

const MAGIC: [u8; 4] = *b"RUDP";
const HEADER: usize = 3;

/// One message of the file protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Sender: may I send this file?
    Offer {
        /// The length of the file, in bytes.
        length: u64,
        /// Whether it may replace another file of the same name.
        force: bool,
        /// The name it shall have; the receiver checks it, see [`FileName`](crate::FileName).
        name: String,
    },
    /// Receiver: a file of that name and length is here, and this is its hash.
    Exists {
        /// The BLAKE3 hash of the receiver's file.
        hash: Hash,
    },
    /// Sender: whether the receiver's file is the one offered.
    Compared {
        /// Whether the two hashes are equal.
        same: bool,
    },
    /// Receiver: this much of it is on my disk already.
    Resume {
        /// The number of bytes on disk.
        offset: u64,
        /// The BLAKE3 hash of these bytes.
        prefix: Hash,
    },
    /// Sender: the data starts here.
    Begin {
        /// The offset of [`Resume`](Message::Resume) if the prefixes agree, else 0.
        offset: u64,
    },
    /// Sender: that was all.
    End {
        /// The BLAKE3 hash of the whole file.
        hash: Hash,
    },
    /// Receiver: the file is verified, on disk and under its name.
    Done,
    /// Receiver: nothing; the sender skips it.
    Ping,
}

/// Bytes that are no message of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The kind of message is unknown.
    Kind(u8),
    /// The body is longer than [`MAX_BODY`]; carries its length.
    TooLong(usize),
    /// The body of a message of this kind ends early, goes on too long or holds an impossible value.
    Body(u8),
    /// The offer does not start with this protocol's magic bytes.
    Magic,
    /// The peer speaks another version; carries it.
    Version(u8),
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "unknown kind of message: {kind}"),
            Self::TooLong(length) => {
                write!(
                    f,
                    "a message of {length} bytes; at most {MAX_BODY} are allowed"
                )
            }
            Self::Body(kind) => write!(f, "malformed message of kind {kind}"),
            Self::Magic => write!(f, "the peer does not speak the rudp file protocol"),
            Self::Version(version) => write!(
                f,
                "the peer speaks version {version} of the file protocol; this is version {VERSION}"
            ),
        }
    }
}

impl std::error::Error for ProtocolError {}

impl From<ProtocolError> for io::Error {
    fn from(error: ProtocolError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Reads the next message from a stream.
///
/// # Errors
///
/// Those of the stream, `UnexpectedEof` at its end, and `InvalidData` with a
/// [`ProtocolError`] inside for bytes that are no message.
pub async fn read_message(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Message> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).await?;
    let [kind, high, low] = header;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > MAX_BODY {
        return Err(ProtocolError::TooLong(length).into());
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Message::decode(kind, &body)?)
}

/// Writes a message to a stream.
///
/// # Errors
///
/// Those of the stream, and `InvalidData` for a message that cannot be encoded.
pub async fn write_message(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &Message,
) -> io::Result<()> {
    stream.write_all(&message.encode()?).await
}

#[cfg(test)]
mod tests;
