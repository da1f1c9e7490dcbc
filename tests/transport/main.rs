//! The transport, `rudp-proto`, in virtual time.
//!
//! `transport_allocations` is a target of its own: its allocator counts.

mod batches;
mod clock;
mod connections;
mod ends;
mod estimator;
mod first_answer;
mod hostile;
mod matrix;
mod refused_calls;
mod refused_settings;
mod rules;
mod simulation;
mod streams;
mod traces;
mod wire;
