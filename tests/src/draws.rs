//! The random draws of backoff vectors and tests: named, so that any language can repeat them.

use serde::Deserialize;

/// The draw in the middle: it gives exactly the value before jitter.
pub const MIDDLE: u64 = 1 << 63;

/// The draw in the middle, every time.
#[must_use]
pub fn middle() -> u64 {
    MIDDLE
}

/// Where a vector takes its draws from; `middle` unless it says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draws {
    /// The least draw, every time.
    Low,
    /// [`MIDDLE`], every time.
    #[default]
    Middle,
    /// The greatest draw, every time.
    High,
    /// Those of [`splitmix64`], seeded so.
    Splitmix64(u64),
}

impl Draws {
    /// The next draw.
    pub fn draw(&mut self) -> u64 {
        match self {
            Self::Low => 0,
            Self::Middle => MIDDLE,
            Self::High => u64::MAX,
            Self::Splitmix64(state) => splitmix64(state),
        }
    }
}

/// Steele, Lea and Flood's generator: four lines in any language.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draws_are_those_of_splitmix64() {
        let mut draws = Draws::Splitmix64(1);
        let expected = [
            0x910a_2dec_8902_5cc1,
            0xbeeb_8da1_658e_ec67,
            0xf893_a2ee_fb32_555e,
            0x71c1_8690_ee42_c90b,
        ];
        assert_eq!([0; 4].map(|_| draws.draw()), expected);
    }
}
