//! Versions of the protocol, and lists of them (N1 to N5).

use core::fmt;

use alloc::vec::Vec;
use bytes::BufMut;

use super::DecodeError;
use super::field::{take_array, take_u8};

/// The protocol version of this crate (W2).
pub const VERSION: u8 = 2;
/// A list has no more (N1).
const MAX_VERSIONS: usize = 8;

/// Whether a version is reserved to try negotiation out (N5): it never means a protocol. This
/// crate can speak them all, and means version 2.
pub(super) const fn is_reserved(version: u8) -> bool {
    version & 0xf == 0xa
}

/// 1 to 8 versions, in order of preference.
#[derive(Copy, Clone, PartialEq, Eq)]
pub struct Versions {
    /// The rest is zero, which is no version.
    list: [u8; MAX_VERSIONS],
}

impl Versions {
    /// [`VERSION`] alone.
    pub const DEFAULT: Self = Self {
        list: [VERSION, 0, 0, 0, 0, 0, 0, 0],
    };

    /// `None` if there is none or more than 8, or one of them is 0.
    #[must_use]
    pub fn new(versions: &[u8]) -> Option<Self> {
        let mut list = [0; MAX_VERSIONS];
        let used = list.get_mut(..versions.len())?;
        used.copy_from_slice(versions);
        let good = !versions.is_empty() && !versions.contains(&0);
        good.then_some(Self { list })
    }

    /// Them, the preferred one first.
    pub fn iter(&self) -> impl Iterator<Item = u8> {
        self.list.into_iter().take_while(|version| *version != 0)
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn contains(&self, version: u8) -> bool {
        self.iter().any(|it| it == version)
    }

    /// The one that both know and a client with this list prefers (N3).
    pub(crate) fn common(&self, server: &Self) -> Option<u8> {
        self.iter().find(|version| server.contains(*version))
    }

    /// The one tried first.
    pub(crate) fn preferred(&self) -> u8 {
        let [first, ..] = self.list;
        first
    }

    /// One that this crate cannot speak, or that is named twice.
    pub(crate) fn odd_one(&self) -> Option<u8> {
        let spoken = |version: u8| version == VERSION || is_reserved(version);
        let times = |version: u8| self.iter().filter(|it| *it == version).count();
        self.iter()
            .find(|version| !spoken(*version) || times(*version) > 1)
    }

    /// Appends how many there are, and them.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.put_u8(0);
        for version in self.iter() {
            out.put_u8(version);
            if let Some(count) = out.get_mut(at) {
                *count = count.saturating_add(1);
            }
        }
    }

    pub(super) fn decode(body: &mut &[u8]) -> Result<Self, DecodeError> {
        const BAD: DecodeError =
            DecodeError::Field("a list of no version, of 0 or of more than 8 (W4)");
        let mut list = [0; MAX_VERSIONS];
        let count = usize::from(take_u8(body)?);
        for version in list.get_mut(..count).ok_or(BAD)? {
            [*version] = take_array(body)?;
        }
        Self::new(list.get(..count).unwrap_or_default()).ok_or(BAD)
    }
}

/// Comma-separated numbers: `2, 26`.
impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, version) in self.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{version}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
