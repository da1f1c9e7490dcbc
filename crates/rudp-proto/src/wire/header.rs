//! What can be read of a datagram before its connection is known, and the rest after it.

use bytes::Buf;

use super::field::{take_array, take_u8, take_u64};
use super::version::is_reserved;
use super::{
    CHALLENGE, DATA, Datagram, DecodeError, Frames, HEADER_LEN, HELLO, HELLO_LEN, KIND_BITS,
    LARGEST_DATAGRAM, NO_VERSION, REFUSE, RESET, ShortNumber, UNREACHABLE, VERSION, VERSIONS,
    Versions, decode_hello, seal, take_cookie,
};

/// The beginning of a datagram. Nothing of it is checked before [`open`](Self::open).
#[derive(Copy, Clone, Debug)]
pub struct Header<'a> {
    /// The version it is of.
    pub version: u8,
    /// Whose id this is, [`Datagram`] says for each kind.
    pub id: u64,
    kind: u8,
    /// The upper half of the type byte.
    bits: u8,
    /// What follows, with the tag.
    rest: &'a [u8],
    datagram: &'a [u8],
}

impl<'a> Header<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// The datagram is too long or too short to be one.
    pub fn of(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        if datagram.len() > LARGEST_DATAGRAM {
            return Err(DecodeError::TooLong(datagram.len()));
        }
        let mut rest = datagram;
        let mut read = || {
            Ok((
                take_u8(&mut rest)?,
                take_u8(&mut rest)?,
                take_u64(&mut rest)?,
            ))
        };
        let (version, kind, id) = read().map_err(|_: DecodeError| DecodeError::Checksum)?;
        Ok(Self {
            version,
            id,
            kind: kind & ((1 << KIND_BITS) - 1),
            bits: kind >> KIND_BITS,
            rest,
            datagram,
        })
    }

    /// Whether it is of a Data packet: then its id is a connection of the receiver's, which knows
    /// the packet number to expect.
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.is_spoken() && self.kind == DATA && self.bits < 4
    }

    /// Whether it is a list of versions, which is of none itself (N1).
    pub(crate) fn is_list_of_versions(&self) -> bool {
        self.version == NO_VERSION && self.kind == VERSIONS
    }

    /// Whether it asks for a connection, in whatever version, and is longer than a list of them
    /// in answer (N1).
    pub(crate) fn is_foreign_hello(&self) -> bool {
        self.kind == HELLO && self.bits == 0 && self.datagram.len() >= HELLO_LEN
    }

    /// Whether this crate knows what the rest means.
    fn is_spoken(&self) -> bool {
        self.version == VERSION || is_reserved(self.version)
    }

    /// Whether the tag is right, in whatever version; that of a Data packet is not to be seen (N1).
    pub(crate) fn is_intact(&self) -> bool {
        seal::open(self.datagram, HEADER_LEN, None).is_ok()
    }

    /// Checks the datagram, and decodes it without taking memory; see
    /// [`Packet::decode`](super::Packet::decode).
    ///
    /// # Errors
    /// See [`DecodeError`]; a datagram is taken whole or not at all (W4).
    pub fn open(self, expected: u64) -> Result<Datagram<Frames<'a>>, DecodeError> {
        self.open_with(expected, |frames| frames)
    }

    pub(super) fn open_with<F>(
        self,
        expected: u64,
        hold: impl FnOnce(Frames<'a>) -> F,
    ) -> Result<Datagram<F>, DecodeError> {
        let mut rest = self.rest;
        let mut number = None;
        if self.is_data() {
            let short = ShortNumber::decode(self.bits, &mut rest);
            let short = short.map_err(|_| DecodeError::Checksum)?;
            number = Some(short.expand(expected)); // (W10)
        }
        let header = self.datagram.len().saturating_sub(rest.len());
        let mut body = seal::open(self.datagram, header, number)?; // (W3)
        if !self.is_spoken() && !self.is_list_of_versions() {
            return Err(DecodeError::Version(self.version));
        }
        if let Some(number) = number {
            let frames = hold(Frames::check(body)?);
            let to = self.id;
            return Ok(Datagram::Data { to, number, frames });
        }
        let id = self.id;
        let packet = match self.kind {
            _ if self.bits > 0 => return Err(self.unknown_type()),
            VERSIONS if self.version == NO_VERSION => Datagram::Versions {
                client_id: id,
                versions: Versions::decode(&mut body)?,
            },
            HELLO => return decode_hello(id, body, self.datagram.len()),
            CHALLENGE => Datagram::Challenge {
                client_id: id,
                cookie: take_cookie(&mut body)?,
            },
            RESET => Datagram::Reset {
                id,
                token: take_array(&mut body)?,
            },
            REFUSE => Datagram::Refuse { client_id: id },
            UNREACHABLE => {
                let hello = match take_u8(&mut body)? {
                    HELLO => true,
                    DATA => false,
                    _ => {
                        return Err(DecodeError::Field(
                            "the packet type cannot be unreachable (W4)",
                        ));
                    }
                };
                Datagram::Unreachable { id, hello }
            }
            _ => return Err(self.unknown_type()),
        };
        if body.has_remaining() {
            return Err(DecodeError::Field("bytes follow the last field (W4)"));
        }
        Ok(packet)
    }

    fn unknown_type(&self) -> DecodeError {
        DecodeError::PacketType(self.kind | self.bits << KIND_BITS)
    }
}
