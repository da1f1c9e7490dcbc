//! Fields: whole numbers, varints and byte strings (W5).

use alloc::vec::Vec;

use bytes::BufMut;

use super::DecodeError;

/// The largest number a varint holds: 62 bits (W5).
pub const MAX_VARINT: u64 = (1 << 62) - 1;

/// The two top bits of the first byte say how many bytes follow: 0, 1, 3 or 7
/// (W5). Larger numbers are written as [`MAX_VARINT`].
#[expect(
    clippy::cast_possible_truncation,
    reason = "each arm's range fits the width it writes"
)]
pub(super) fn put_varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0x3f => out.put_u8(value as u8),
        0x40..=0x3fff => out.put_u16(value as u16 | 1 << 14),
        0x4000..=0x3fff_ffff => out.put_u32(value as u32 | 2 << 30),
        _ => out.put_u64(value.min(MAX_VARINT) | 3 << 62),
    }
}

/// How many bytes [`put_varint`] writes.
pub(super) const fn varint_len(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

pub(super) fn take_varint(body: &mut &[u8]) -> Result<u64, DecodeError> {
    let first = body.first().ok_or(DecodeError::Truncated)?;
    Ok(match first >> 6 {
        0 => take_u8(body)?.into(),
        1 => u64::from(u16::from_be_bytes(take_array(body)?)) & 0x3fff,
        2 => u64::from(u32::from_be_bytes(take_array(body)?)) & 0x3fff_ffff,
        _ => take_u64(body)? & MAX_VARINT,
    })
}

pub(super) fn take_u8(body: &mut &[u8]) -> Result<u8, DecodeError> {
    let [byte] = take_array(body)?;
    Ok(byte)
}

pub(super) fn take_u64(body: &mut &[u8]) -> Result<u64, DecodeError> {
    Ok(u64::from_be_bytes(take_array(body)?))
}

pub(super) fn take_array<const N: usize>(body: &mut &[u8]) -> Result<[u8; N], DecodeError> {
    let (array, rest) = body.split_first_chunk().ok_or(DecodeError::Truncated)?;
    *body = rest;
    Ok(*array)
}

/// A varint length, then so many bytes.
pub(super) fn take_bytes<'a>(body: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let len = usize::try_from(take_varint(body)?).map_err(|_| DecodeError::Truncated)?;
    let (bytes, rest) = body.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *body = rest;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_keep_their_value_on_both_sides_of_each_width() {
        let edges = [0, 63, 64, 16383, 16384, (1 << 30) - 1, 1 << 30, MAX_VARINT];
        let widths = [1, 1, 2, 2, 4, 4, 8, 8];
        for (value, width) in edges.into_iter().zip(widths) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!((out.len(), varint_len(value)), (width, width), "{value}");
            let mut body = &out[..];
            assert_eq!(take_varint(&mut body), Ok(value));
            assert!(body.is_empty());
            assert_eq!(
                take_varint(&mut &out[..width - 1]),
                Err(DecodeError::Truncated)
            );
        }
    }
}
