//! The bytes of a message.

use blake3::Hash;

use super::{MAGIC, MAX_BODY, Message, ProtocolError, VERSION};

impl Message {
    pub(super) const OFFER: u8 = 1;
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
