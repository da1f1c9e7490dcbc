//! How a receiver says no.

use std::fmt;

/// Why a receiver will not have a file; the code with which it aborts the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCode {
    /// The name is no plain file name.
    BadName,
    /// Another file of that name is there, and the offer does not force.
    Exists,
    /// Another sender is sending a file of that name right now.
    InUse,
    /// The disk, the quota or the largest file size is exhausted.
    DiskFull,
    /// The receiver may not write there.
    NotAllowed,
    /// What arrived is not what the sender read.
    HashMismatch,
    /// The sender broke the file protocol.
    Protocol,
    /// Another error of the receiver's file system.
    Storage,
}

impl RefusalCode {
    const ALL: [(Self, u64); 8] = [
        (Self::BadName, 1),
        (Self::Exists, 2),
        (Self::InUse, 3),
        (Self::DiskFull, 4),
        (Self::NotAllowed, 5),
        (Self::HashMismatch, 6),
        (Self::Protocol, 7),
        (Self::Storage, 8),
    ];

    /// The number that stands for it on the wire.
    #[must_use]
    pub fn to_wire(self) -> u64 {
        let found = Self::ALL.into_iter().find(|&(code, _)| code == self);
        found.map_or(0, |(_, number)| number)
    }

    /// The code a number on the wire stands for, if any. 0 means that the
    /// receiver only went away, which is no refusal.
    #[must_use]
    pub fn from_wire(number: u64) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|&(_, known)| known == number);
        found.map(|(code, _)| code)
    }
}

/// A receiver's final "no", in words for a human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why, for programs. `None`: a code this version does not know.
    pub code: Option<RefusalCode>,
    /// Why, for humans; at most 256 bytes travel.
    pub reason: String,
}

impl Refusal {
    /// A refusal for this reason.
    pub fn new(code: RefusalCode, reason: impl Into<String>) -> Self {
        Self {
            code: Some(code),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_code_survives_the_wire_and_none_is_zero() {
        for (code, number) in RefusalCode::ALL {
            assert_eq!(
                (code.to_wire(), RefusalCode::from_wire(number)),
                (number, Some(code))
            );
        }
        assert_eq!(RefusalCode::from_wire(0), None);
    }
}
