//! Vectors, reference models and simulations that hold this workspace to its rules.
pub mod pair;
