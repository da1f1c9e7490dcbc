//! The tag under every datagram: made and checked here alone (W3).
//!
//! Today it is a checksum. An authenticated cipher takes its place without a change elsewhere:
//! the packet number makes its nonce, and what precedes the frames is its associated data.

use alloc::vec::Vec;

use bytes::BufMut;

use super::DecodeError;

/// How many bytes a tag has.
pub(crate) const TAG_LEN: usize = 4;

/// Appends the tag of the datagram that begins at `begin`; `number` is the whole packet number of a
/// Data packet (W10).
pub(super) fn seal(out: &mut Vec<u8>, begin: usize, number: Option<u64>) {
    let tag = tag(out.get(begin..).unwrap_or_default(), number);
    out.put_slice(&tag);
}

/// The datagram without its tag, if that is the right one.
pub(super) fn open(datagram: &[u8], number: Option<u64>) -> Result<&[u8], DecodeError> {
    let (body, found) = datagram
        .split_last_chunk::<TAG_LEN>()
        .ok_or(DecodeError::Checksum)?;
    let right = tag(body, number) == *found;
    right.then_some(body).ok_or(DecodeError::Checksum)
}

fn tag(body: &[u8], number: Option<u64>) -> [u8; TAG_LEN] {
    let mut crc = crc32fast::Hasher::new();
    if let Some(number) = number {
        crc.update(&number.to_be_bytes());
    }
    crc.update(body);
    crc.finalize().to_be_bytes()
}
