//! The tag under every datagram: made and checked here alone (W3), and nothing of a datagram but
//! its header is read before it is opened.
//!
//! Today it is a checksum. An authenticated cipher has its place here: the packet number makes its
//! nonce, the header is its associated data, and what [`open`] returns is the plain text. It would
//! bring a key of the connection to both functions, where the header ends to [`seal`], and a
//! datagram that may be written to.

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

/// What is between a header of so many bytes and the tag, if that is the right one.
pub(super) fn open(
    datagram: &[u8],
    header: usize,
    number: Option<u64>,
) -> Result<&[u8], DecodeError> {
    let (covered, found) = datagram
        .split_last_chunk::<TAG_LEN>()
        .ok_or(DecodeError::Checksum)?;
    let right = tag(covered, number) == *found;
    let body = covered.get(header..).filter(|_| right);
    body.ok_or(DecodeError::Checksum)
}

fn tag(body: &[u8], number: Option<u64>) -> [u8; TAG_LEN] {
    let mut crc = crc32fast::Hasher::new();
    if let Some(number) = number {
        crc.update(&number.to_be_bytes());
    }
    crc.update(body);
    crc.finalize().to_be_bytes()
}
