//! The contents of an ACK frame (W7).

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;
use core::{fmt, iter};

use super::DecodeError;
use super::field::{MAX_VARINT, put_varint, take_varint};
use crate::ranges::length;

/// The most ranges an ACK carries, and the most that a receiver keeps (W7, L8).
pub const MAX_ACK_RANGES: usize = 256;
/// The unit of delays, in microseconds: two bytes tell of the usual `max_ack_delay`.
const DELAY_US: u32 = 8;

/// The contents of an ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// How long the newest packet waited for this ACK; in steps of 8 us on the wire. Told, and not
    /// taken off a round trip (L2).
    pub delay: Duration,
    /// The packet numbers it acknowledges.
    pub ranges: AckRanges<'a>,
}

/// Ranges of packet numbers as an ACK carries them: newest first, 1 to [`MAX_ACK_RANGES`], none
/// empty, none touching another. Those of a datagram stay in it, without memory of their own.
#[derive(Clone)]
pub struct AckRanges<'a> {
    /// One more than the largest number.
    end: u64,
    /// The length of the first range, then the gap below and the length of each further one.
    fields: Cow<'a, [u8]>,
}

impl AckRanges<'_> {
    /// The ranges, newest first.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + Clone {
        let (mut end, mut fields) = (self.end, &*self.fields);
        let mut is_first = true;
        iter::from_fn(move || {
            let gap = if core::mem::take(&mut is_first) {
                0
            } else {
                take_varint(&mut fields).ok()?
            };
            end = end.saturating_sub(gap);
            let len = take_varint(&mut fields).ok()?;
            let range = end.saturating_sub(len)..end;
            end = range.start;
            Some(range)
        })
    }
}

/// Encodes the first ranges, as many as an ACK carries.
impl FromIterator<Range<u64>> for AckRanges<'static> {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut ranges = ranges.into_iter().take(MAX_ACK_RANGES).peekable();
        let end = ranges.peek().map_or(0, |first| first.end);
        let mut fields = Vec::new();
        put_ranges(&mut fields, ranges);
        Self {
            end,
            fields: fields.into(),
        }
    }
}

impl PartialEq for AckRanges<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for AckRanges<'_> {}

impl fmt::Debug for AckRanges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

fn put_ranges(out: &mut Vec<u8>, ranges: impl Iterator<Item = Range<u64>>) {
    let mut above = None;
    for range in ranges {
        if let Some(above) = above.replace(range.start) {
            put_varint(out, u64::saturating_sub(above, range.end));
        }
        put_varint(out, length(&range));
    }
}

/// Appends an ACK, without its type, of the numbers below `end`.
pub(super) fn put(
    out: &mut Vec<u8>,
    end: u64,
    delay: Duration,
    ranges: impl Iterator<Item = Range<u64>> + Clone,
) {
    let ranges = ranges.take(MAX_ACK_RANGES); // (W7)
    let count = ranges.clone().count() as u64;
    put_varint(out, end.saturating_sub(1));
    let delay = delay.checked_div(DELAY_US).unwrap_or_default();
    let delay = u64::try_from(delay.as_micros());
    put_varint(out, delay.unwrap_or(MAX_VARINT));
    put_varint(out, count.saturating_sub(1));
    put_ranges(out, ranges);
}

/// Takes an ACK, every range checked.
pub(super) fn take<'a>(body: &mut &'a [u8]) -> Result<Ack<'a>, DecodeError> {
    const BAD: DecodeError = DecodeError::Field("ACK ranges that overlap or go below zero (W7)");
    let largest = take_varint(body)?;
    let delay = Duration::from_micros(take_varint(body)?).saturating_mul(DELAY_US);
    let more = take_varint(body)?;
    if more >= MAX_ACK_RANGES as u64 {
        return Err(DecodeError::Field("an ACK of more than 256 ranges (W7)"));
    }
    let end = largest.saturating_add(1);
    let fields = *body;
    let mut start = end;
    for index in 0..=more {
        let gap = if index == 0 { 0 } else { take_varint(body)? };
        let len = take_varint(body)?;
        if len == 0 || (index > 0 && gap == 0) {
            return Err(BAD);
        }
        let below = start.checked_sub(gap).and_then(|end| end.checked_sub(len));
        start = below.ok_or(BAD)?;
    }
    let len = fields.len().saturating_sub(body.len());
    let fields = fields.get(..len).unwrap_or(&[]).into();
    let ranges = AckRanges { end, fields };
    Ok(Ack { delay, ranges })
}
