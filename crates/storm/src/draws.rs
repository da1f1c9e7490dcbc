//! Chance: one small stream of draws for each client.

/// A stream of random draws by SplitMix64 (Steele, Lea and Flood, 2014): eight bytes, and the same
/// everywhere.
///
/// ```
/// # use storm::draws::Draws;
/// let mut draws = Draws::seeded(1);
/// assert_eq!([draws.next(), draws.next()], [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws(u64);

impl Draws {
    /// The stream of this seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of one of many: each starts at a place of its own in the sequence, which a
    /// draw from the seed's stream chooses.
    #[must_use]
    pub fn of(seed: u64, id: u64) -> Self {
        let key = Self(seed).next();
        Self(Self(key ^ id).next())
    }

    /// The next draw, uniform over all of `u64`.
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A draw from the normal distribution with this mean and standard deviation, by Box and
    /// Muller.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let share = |draw: u64| ((draw >> 11) as f64 + 0.5) / (1_u64 << 53) as f64; // never 0
        let radius = (-2.0 * share(self.next()).ln()).sqrt();
        let angle = std::f64::consts::TAU * share(self.next());
        mean + deviation * radius * angle.cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_million_clients_have_as_many_first_draws() {
        let first: HashSet<_> = (0..1_000_000).map(|id| Draws::of(7, id).next()).collect();
        assert_eq!(first.len(), 1_000_000);
    }

    #[test]
    fn neighbours_in_seed_and_number_are_not_alike() {
        let draws = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(seed, id)| Draws::of(seed, id).next());
        for (a, b) in [(0, 1), (0, 2), (1, 2), (0, 3)] {
            let differing = (draws[a] ^ draws[b]).count_ones();
            assert!((10..=54).contains(&differing), "{differing} bits of 64");
        }
    }

    #[test]
    fn the_normal_distribution_has_its_mean_and_deviation() {
        let mut draws = Draws::seeded(3);
        let values: Vec<_> = (0..100_000).map(|_| draws.normal(10.0, 2.0)).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e5;
        let within = values.iter().filter(|v| (8.0..12.0).contains(*v)).count() as f64 / 1e5;
        assert!((mean - 10.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() - 2.0).abs() < 0.03, "{variance}");
        assert!((within - 0.6827).abs() < 0.01, "{within}");
    }
}
