//! Which messages and short streams a side sends and when, and what becomes of each: known to both
//! sides by the seed.

use std::time::Duration;

use rudp_proto::{Side, StreamId};

use crate::{draws::splitmix64, time::ms};

/// No message or short stream has more bytes.
pub(in crate::simulation) const MOST_BYTES: usize = 6_000;
/// A message is shorter, so that it fits into the smallest windows.
const MOST_MESSAGE: u64 = 1_400;
/// They begin within so many milliseconds, and are given up within so many.
const SPREAD_MS: u64 = 3_000;
const PATIENCE_MS: u64 = 600;

/// Something to send.
#[derive(Copy, Clone, Debug)]
pub(super) struct Act {
    /// Since the first moment at which something could be sent.
    pub(super) after: Duration,
    pub(super) is_stream: bool,
    /// Of a message.
    pub(super) lifetime: Option<Duration>,
}

/// What becomes of a short stream.
#[derive(Copy, Clone, Debug)]
pub(super) struct Fate {
    pub(super) len: usize,
    /// Its sender gives it up so long after it opened it,
    pub(super) reset_after: Option<Duration>,
    /// or its reader after it accepted it.
    pub(super) stop_after: Option<Duration>,
}

/// So many, the next at the end.
pub(super) fn acts(seed: u64, side: Side, count: usize) -> Vec<Act> {
    let mut state = seed ^ if side == Side::Client { 1 } else { 2 } << 32;
    let mut below = |most: u64| splitmix64(&mut state) % most;
    let mut acts: Vec<_> = (0..count)
        .map(|_| Act {
            after: ms(below(SPREAD_MS)),
            is_stream: below(2) == 0,
            lifetime: (below(2) == 0).then(|| ms(1 + below(PATIENCE_MS))),
        })
        .collect();
    acts.sort_by_key(|act| core::cmp::Reverse(act.after));
    acts
}

pub(super) fn fate_of(seed: u64, id: StreamId) -> Fate {
    let mut state = seed ^ id.number().rotate_left(40);
    let mut below = |most: u64| splitmix64(&mut state) % most;
    let len = 1 + usize::try_from(below(MOST_BYTES as u64)).expect("a short one");
    let after = ms(below(PATIENCE_MS));
    let who = below(4);
    Fate {
        len,
        reset_after: (who == 0).then_some(after),
        stop_after: (who == 1).then_some(after),
    }
}

/// The bytes of a message: its number, and what follows from that.
pub(super) fn message(seed: u64, number: u64) -> Vec<u8> {
    let mut state = seed ^ number.rotate_left(20);
    let len = usize::try_from(splitmix64(&mut state) % MOST_MESSAGE).expect("a short one");
    let rest = (0..len).map(|_| splitmix64(&mut state).to_be_bytes()[0]);
    number.to_be_bytes().into_iter().chain(rest).collect()
}

/// The number of a message.
pub(super) fn number_of(data: &[u8]) -> u64 {
    u64::from_be_bytes(*data.first_chunk().expect("a whole message"))
}

/// The byte at `index` of a stream.
pub(in crate::simulation) fn byte(seed: u64, id: StreamId, index: usize) -> u8 {
    let mixed = (index as u64 ^ seed.rotate_left(17) ^ id.number().rotate_left(32))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_be_bytes()[0]
}
