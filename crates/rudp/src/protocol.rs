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

impl Message {
    const OFFER: u8 = 1;
    const EXISTS: u8 = 2;
    const COMPARED: u8 = 3;
    const RESUME: u8 = 4;
    const BEGIN: u8 = 5;
    const END: u8 = 6;
    const DONE: u8 = 7;
    const PING: u8 = 8;

    /// Encodes the message, header included.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::TooLong`] if the name in an offer does not fit.
    pub fn encode(&self) -> Result<Vec<u8>, ProtocolError> {
        let mut body = Vec::new();
        let kind = match self {
            Self::Offer {
                length,
                force,
                name,
            } => {
                body.extend(MAGIC);
                body.push(VERSION);
                body.push(u8::from(*force));
                body.extend(length.to_be_bytes());
                body.extend(name.as_bytes());
                Self::OFFER
            }
            Self::Exists { hash } => {
                body.extend(hash.as_bytes());
                Self::EXISTS
            }
            Self::Compared { same } => {
                body.push(u8::from(*same));
                Self::COMPARED
            }
            Self::Resume { offset, prefix } => {
                body.extend(offset.to_be_bytes());
                body.extend(prefix.as_bytes());
                Self::RESUME
            }
            Self::Begin { offset } => {
                body.extend(offset.to_be_bytes());
                Self::BEGIN
            }
            Self::End { hash } => {
                body.extend(hash.as_bytes());
                Self::END
            }
            Self::Done => Self::DONE,
            Self::Ping => Self::PING,
        };
        let length = u16::try_from(body.len())
            .ok()
            .filter(|&length| usize::from(length) <= MAX_BODY)
            .ok_or(ProtocolError::TooLong(body.len()))?;
        let mut message = vec![kind];
        message.extend(length.to_be_bytes());
        message.extend(body);
        Ok(message)
    }

    /// Decodes the body of a message of this kind.
    ///
    /// # Errors
    ///
    /// A [`ProtocolError`] for anything [`encode`](Self::encode) cannot make.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Self, ProtocolError> {
        if body.len() > MAX_BODY {
            return Err(ProtocolError::TooLong(body.len()));
        }
        let mut fields = Fields(body);
        let message = match kind {
            Self::OFFER => return Self::decode_offer(fields),
            Self::EXISTS => fields.hash().map(|hash| Self::Exists { hash }),
            Self::COMPARED => fields.flag().map(|same| Self::Compared { same }),
            Self::RESUME => fields.u64().and_then(|offset| {
                let prefix = fields.hash()?;
                Some(Self::Resume { offset, prefix })
            }),
            Self::BEGIN => fields.u64().map(|offset| Self::Begin { offset }),
            Self::END => fields.hash().map(|hash| Self::End { hash }),
            Self::DONE => Some(Self::Done),
            Self::PING => Some(Self::Ping),
            _ => return Err(ProtocolError::Kind(kind)),
        };
        message
            .filter(|_| fields.0.is_empty())
            .ok_or(ProtocolError::Body(kind))
    }

    fn decode_offer(mut fields: Fields<'_>) -> Result<Self, ProtocolError> {
        if fields.take() != Some(MAGIC) {
            return Err(ProtocolError::Magic);
        }
        let malformed = ProtocolError::Body(Self::OFFER);
        let [version] = fields.take().ok_or(malformed)?;
        if version != VERSION {
            return Err(ProtocolError::Version(version));
        }
        let force = fields.flag().ok_or(malformed)?;
        let length = fields.u64().ok_or(malformed)?;
        let name = str::from_utf8(fields.0).map_err(|_| malformed)?.to_owned();
        Ok(Self::Offer {
            length,
            force,
            name,
        })
    }
}

/// What is left of a body to decode.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn hash(&mut self) -> Option<Hash> {
        self.take().map(Hash::from_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.take()? {
            [0] => Some(false),
            [1] => Some(true),
            [_] => None,
        }
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hash() -> impl Strategy<Value = Hash> {
        any::<[u8; 32]>().prop_map(Hash::from_bytes)
    }

    fn message() -> impl Strategy<Value = Message> {
        prop_oneof![
            (any::<u64>(), any::<bool>(), ".{0,300}").prop_map(|(length, force, name)| {
                Message::Offer {
                    length,
                    force,
                    name,
                }
            }),
            hash().prop_map(|hash| Message::Exists { hash }),
            any::<bool>().prop_map(|same| Message::Compared { same }),
            (any::<u64>(), hash()).prop_map(|(offset, prefix)| Message::Resume { offset, prefix }),
            any::<u64>().prop_map(|offset| Message::Begin { offset }),
            hash().prop_map(|hash| Message::End { hash }),
            Just(Message::Done),
            Just(Message::Ping),
        ]
    }

    fn decode(bytes: &[u8]) -> io::Result<Message> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(read_message(&mut &*bytes))
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(message in message()) {
            let bytes = message.encode().expect("short enough");
            prop_assert_eq!(decode(&bytes).expect("valid"), message);
        }

        #[test]
        fn arbitrary_bytes_are_an_error_or_a_message_that_encodes_to_them(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok(message) = decode(&bytes) {
                let again = message.encode().expect("it was short enough");
                prop_assert_eq!(&bytes[..again.len()], &again[..]);
            }
        }

        #[test]
        fn an_arbitrary_body_is_an_error_or_a_message_that_encodes_to_it(
            kind in 0_u8..10,
            body in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            if let Ok(message) = Message::decode(kind, &body) {
                let again = message.encode().expect("it was short enough");
                prop_assert_eq!((again[0], &again[HEADER..]), (kind, &body[..]));
            }
        }

        #[test]
        fn a_body_cut_or_lengthened_is_an_error(message in message(), cut in 1_usize..8, extra: u8) {
            let bytes = message.encode().expect("short enough");
            let (kind, body) = (bytes[0], &bytes[HEADER..]);
            if kind != Message::OFFER {
                let longer = [body, &[extra]].concat();
                prop_assert_eq!(Message::decode(kind, &longer), Err(ProtocolError::Body(kind)));
                if let Some(end) = body.len().checked_sub(cut) {
                    prop_assert_eq!(Message::decode(kind, &body[..end]), Err(ProtocolError::Body(kind)));
                }
            }
        }
    }

    #[test]
    fn the_longest_name_fits_and_one_byte_more_does_not() {
        let offer = |length| Message::Offer {
            length: 1,
            force: false,
            name: "x".repeat(length),
        };
        let fixed = MAGIC.len() + 1 + 1 + 8;
        assert!(offer(MAX_BODY - fixed).encode().is_ok());
        assert_eq!(
            offer(MAX_BODY - fixed + 1).encode(),
            Err(ProtocolError::TooLong(MAX_BODY + 1))
        );
    }

    #[test]
    fn a_long_body_is_refused_before_it_is_read() {
        let error = decode(&[Message::OFFER, 0xff, 0xff]).expect_err("64 KiB announced");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn another_version_and_another_protocol_are_named() {
        let mut offer = Message::Offer {
            length: 1,
            force: true,
            name: "a".into(),
        }
        .encode()
        .expect("short");
        offer[HEADER + 4] = 9;
        assert_eq!(
            Message::decode(Message::OFFER, &offer[HEADER..]),
            Err(ProtocolError::Version(9))
        );
        assert_eq!(
            Message::decode(Message::OFFER, b"GET / HTTP/1.1"),
            Err(ProtocolError::Magic)
        );
    }
}
