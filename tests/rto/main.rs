//! The crate `rto`: its rules and vectors, what holds for every input, and others beside it.

mod compact;
mod family;
mod linux;
mod peers;
mod properties;
mod qlog;
mod rules;
mod vectors;
