use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::boxed::Box;

/// Where the draws of one operation come from.
pub(crate) enum Draws {
    /// A generator of its own (B4). The operating system seeds it for the first draw: most
    /// operations succeed without any.
    Generator(Option<SmallRng>),
    /// A function of the host's.
    Function(Box<dyn FnMut() -> u64 + Send>),
}

impl Draws {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self::Generator(Some(SmallRng::seed_from_u64(seed)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        match self {
            Self::Generator(generator) => generator.get_or_insert_with(rand::make_rng).next_u64(),
            Self::Function(function) => function(),
        }
    }
}

impl Default for Draws {
    fn default() -> Self {
        Self::Generator(None)
    }
}
