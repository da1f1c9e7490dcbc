//! Packet numbers as they travel: only their lowest bytes (W10), after RFC 9000, 17.1, A.2 and A.3.

use alloc::vec::Vec;

use bytes::{Buf, BufMut};

use super::{DecodeError, MAX_VARINT};

/// The largest packet number: 62 bits (W10).
pub(crate) const MAX_PACKET_NUMBER: u64 = MAX_VARINT;

/// The lowest 1 to 4 bytes of a packet number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShortNumber {
    low: u32,
    /// Bytes, 1 to 4.
    len: u8,
}

impl ShortNumber {
    /// As few bytes as represent more than twice the distance to `acked`, the largest number that
    /// the peer has acknowledged (W10). `None` if even four are too few, or the number itself is
    /// too large (W10).
    pub(crate) fn new(number: u64, acked: Option<u64>) -> Option<Self> {
        let next = acked.map_or(0, |acked| acked.saturating_add(1));
        let len = match number.saturating_sub(next) {
            _ if number > MAX_PACKET_NUMBER => return None,
            0..0x7f => 1,
            0x7f..0x7fff => 2,
            0x7fff..0x7f_ffff => 3,
            0x7f_ffff..0x7fff_ffff => 4,
            _ => return None,
        };
        Some(Self::cut(number, len))
    }

    /// All four bytes.
    pub(crate) fn longest(number: u64) -> Self {
        Self::cut(number, 4)
    }

    fn cut(number: u64, len: u8) -> Self {
        let low = number & range(len).wrapping_sub(1);
        let low = u32::try_from(low).unwrap_or_default();
        Self { low, len }
    }

    /// The number nearest to `expected`, the one after the largest that was received (W10).
    pub(crate) fn expand(self, expected: u64) -> u64 {
        let range = range(self.len);
        let half = range / 2;
        let mask = range.wrapping_sub(1);
        let near = expected & !mask | u64::from(self.low);
        if near.saturating_add(half) <= expected && near <= MAX_PACKET_NUMBER.saturating_sub(range)
        {
            near.saturating_add(range)
        } else if near > expected.saturating_add(half) {
            near.checked_sub(range).unwrap_or(near)
        } else {
            near
        }
    }

    /// What the type byte of a Data packet says of the length: 0 to 3.
    pub(super) fn length_bits(self) -> u8 {
        self.len.saturating_sub(1)
    }

    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.put_uint(self.low.into(), self.len.into());
    }

    pub(super) fn decode(length_bits: u8, body: &mut &[u8]) -> Result<Self, DecodeError> {
        let len = length_bits.saturating_add(1).min(4);
        let low = body.try_get_uint(len.into());
        let low = low.map_err(|_| DecodeError::Truncated)?;
        Ok(Self::cut(low, len))
    }
}

/// How many numbers so many bytes tell apart.
fn range(len: u8) -> u64 {
    1 << (len.saturating_mul(8) & 63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of RFC 9000, A.2 and A.3.
    #[test]
    fn the_examples_of_the_document() {
        let acked = Some(0xabe8b3);
        let short = ShortNumber::new(0xac5c02, acked).unwrap();
        assert_eq!((short.low, short.len), (0x5c02, 2));
        let short = ShortNumber::new(0xace8fe, acked).unwrap();
        assert_eq!((short.low, short.len), (0xace8fe, 3));
        let short = ShortNumber {
            low: 0x9b32,
            len: 2,
        };
        assert_eq!(short.expand(0xa82f30eb), 0xa82f9b32);
    }

    #[test]
    fn a_width_ends_where_twice_the_distance_does_not_fit() {
        let width = |distance: u64| {
            let (acked, number) = (1_000, 1_000 + distance);
            ShortNumber::new(number, Some(acked)).map(|short| short.len)
        };
        for (len, bits) in [(1, 8), (2, 16), (3, 24), (4, 32)] {
            let last = (1 << (bits - 1)) - 1;
            assert_eq!(width(last), Some(len));
            assert_eq!(width(last + 1), (len < 4).then_some(len + 1));
        }
        assert_eq!(ShortNumber::new(127, None).map(|short| short.len), Some(2));
        assert!(ShortNumber::new(MAX_PACKET_NUMBER, Some(MAX_PACKET_NUMBER - 1)).is_some());
        assert!(ShortNumber::new(MAX_PACKET_NUMBER + 1, Some(MAX_PACKET_NUMBER)).is_none());
    }

    /// Near 0, near where each width wraps, near the end, and anywhere.
    fn number() -> impl Strategy<Value = u64> {
        let edge = prop_oneof![Just(8_u32), Just(16), Just(24), Just(32), Just(62)];
        let near_edge =
            (edge, 0..600_u64).prop_map(|(bits, off)| ((1_u64 << bits) + 300).saturating_sub(off));
        let near_end = (0..600_u64).prop_map(|off| MAX_PACKET_NUMBER - off);
        prop_oneof![near_edge, near_end, 0..600_u64, 0..=MAX_PACKET_NUMBER]
            .prop_map(|number| number.min(MAX_PACKET_NUMBER))
    }

    /// Any distance, with those around a width more often.
    fn distance() -> impl Strategy<Value = u64> {
        let around = (
            prop_oneof![Just(7_u32), Just(15), Just(23), Just(31)],
            0..6_u64,
        )
            .prop_map(|(bits, off)| (1_u64 << bits) + 3 - off);
        prop_oneof![around, 1..1_000_u64, 1..1_u64 << 31]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// The receiver has what was acknowledged, and at most half a window more than `number`.
        #[test]
        fn a_number_comes_back_whatever_arrived_since_what_is_acknowledged(
            number in number(), distance in distance(), place in 0..=64_u64, extreme in 0..3_u8,
        ) {
            let acked = number.checked_sub(distance);
            let Some(short) = ShortNumber::new(number, acked) else {
                let distance = acked.map_or(number + 1, |acked| number - acked);
                prop_assert!(distance >= 1 << 31);
                return Ok(());
            };
            let half = range(short.len) / 2;
            let lowest = acked.map_or(0, |acked| acked + 1);
            let highest = number + half - 1; // reordered behind so many later ones
            let expected = match extreme {
                0 => lowest,
                1 => highest,
                _ => lowest + (highest - lowest) / 64 * place,
            };
            prop_assert_eq!(short.expand(expected), number);
            let mut out = Vec::new();
            short.encode(&mut out);
            prop_assert_eq!(out.len(), usize::from(short.len));
            let decoded = ShortNumber::decode(short.length_bits(), &mut &out[..]);
            prop_assert_eq!(decoded, Ok(short));
        }

        #[test]
        fn anything_expands_to_a_number_of_its_lowest_bytes(
            low in any::<u64>(), len in 1..=4_u8, expected in any::<u64>(),
        ) {
            let short = ShortNumber::cut(low, len);
            prop_assert_eq!(short.expand(expected) % range(len), u64::from(short.low));
        }
    }
}
