use super::catch::catch;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::boxed::Box;

/// Where the draws come from.
pub(super) enum Draws {
    /// A generator of the reconnector's own (B4).
    Generator(SmallRng),
    /// A function of the host's; should it panic, a generator takes its place.
    Function(Box<dyn FnMut() -> u64 + Send>),
}

impl Draws {
    /// Seeded by the operating system.
    pub(super) fn random() -> Self {
        Self::Generator(rand::make_rng())
    }

    pub(super) fn seeded(seed: u64) -> Self {
        Self::Generator(SmallRng::seed_from_u64(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        match self {
            Self::Generator(generator) => generator.next_u64(),
            Self::Function(function) => catch(function).unwrap_or_else(|_| {
                *self = Self::random();
                self.next()
            }),
        }
    }
}
