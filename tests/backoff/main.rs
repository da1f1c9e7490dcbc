//! The crate `backoff-policy`: its rules, its vectors, and what runs a policy.

mod budgets;
mod drivers;
mod policy;
mod rules;
mod vectors;
