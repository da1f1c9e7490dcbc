//! What chance holds for each packet.

use core::{array, time::Duration};
use rand_chacha::{ChaCha8Rng, rand_core::Rng};

/// The draws for one packet: a function of the link's seed and the packet's index alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) loss: u32,
    pub(crate) burst_loss: u32,
    pub(crate) burst_move: u32,
    pub(crate) reorder: u32,
    pub(crate) duplicate: u32,
    pub(crate) corrupt: u32,
    pub(crate) corrupt_bit: u64,
    pub(crate) jitter: u64,
    pub(crate) copy_jitter: u64,
}

impl Fate {
    /// Draws for the next packet: one whole ChaCha block of 16 words, whatever the settings need.
    ///
    /// A setting therefore never shifts the draws of later packets, and the four spare words leave
    /// room for new effects under old seeds.
    pub(crate) fn draw(rng: &mut ChaCha8Rng) -> Self {
        let words: [u32; 16] = array::from_fn(|_| rng.next_u32());
        let [
            loss,
            burst_loss,
            burst_move,
            reorder,
            duplicate,
            corrupt,
            wide @ ..,
        ] = words;
        let [a, b, c, d, e, f, _, _, _, _] = wide;
        Self {
            loss,
            burst_loss,
            burst_move,
            reorder,
            duplicate,
            corrupt,
            corrupt_bit: join(a, b),
            jitter: join(c, d),
            copy_jitter: join(e, f),
        }
    }
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Maps a uniform draw to a whole number from 0 to `max` inclusive, rounding down.
pub(crate) fn scale(draw: u64, max: u64) -> u64 {
    let steps = u128::from(max).saturating_add(1);
    (u128::from(draw).saturating_mul(steps) >> 64) as u64
}

/// Varies `delay` uniformly by at most `jitter` either way; `jitter` is at most `delay`.
pub(crate) fn vary(delay: Duration, jitter: Duration, draw: u64) -> Duration {
    let span_ns = u64::try_from(jitter.as_nanos().saturating_mul(2)).unwrap_or(u64::MAX);
    delay
        .saturating_sub(jitter)
        .saturating_add(Duration::from_nanos(scale(draw, span_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn the_fate_of_a_packet_is_the_block_of_its_index() {
        let mut in_turn = ChaCha8Rng::seed_from_u64(7);
        for index in 0..100 {
            let fate = Fate::draw(&mut in_turn);
            let mut sought = ChaCha8Rng::seed_from_u64(7);
            sought.set_word_pos(16 * index);
            assert_eq!(fate, Fate::draw(&mut sought), "packet {index}");
        }
    }

    #[test]
    fn a_draw_reaches_both_ends_and_no_further() {
        let ns = Duration::from_nanos;
        assert_eq!(scale(0, 9), 0);
        assert_eq!(scale(u64::MAX, 9), 9);
        assert_eq!(scale(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(scale(u64::MAX, 0), 0);
        assert_eq!(vary(ns(40), ns(5), 0), ns(35));
        assert_eq!(vary(ns(40), ns(5), 1 << 63), ns(40));
        assert_eq!(vary(ns(40), ns(5), u64::MAX), ns(45));
        assert_eq!(vary(Duration::MAX, Duration::ZERO, 1), Duration::MAX);
    }
}
