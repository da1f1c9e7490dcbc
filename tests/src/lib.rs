//! Vectors, reference models and simulations that hold this workspace to its rules.
//!
//! | module | holds |
//! |---|---|
//! | [`vectors`] | the reader of every vector file |
//! | [`schema`] | the check of vector files against `vectors/schema.json` |
//! | [`rto_vectors`] | the format of the RTO vectors and how answers are compared |
//! | [`settings`] | an estimator's configuration in plain numbers |
//! | [`model`] | RFC 6298 in exact rationals, without a line of `rto` |
//! | [`linux`] | the kernel's RTO a second time, with mistakes to choose from |
//! | [`fixed`] | the same estimate in 256-bit fixed point, for long chains |
//! | [`subject`] | `rto` behind the same events as the model |
//! | [`quic`] | vectors of QUIC's probe timer, its model, and `rto::quic` behind the same events |
//! | [`transaction`] | the same of messages and answers, and `rto::transaction` |
//! | [`compact`] | its compact form, on a clock that wraps, behind the same events |
//! | [`grpc`] | steps of the gRPC connection machine |
//! | [`draws`] | named random draws |
//! | [`listening`] | subscribers of `tracing` that tests beside them cannot silence |
//! | [`time`] | spans by their unit |
//! | [`datagrams`] | datagrams of the transport, made and looked into |
//! | [`pair`] | two endpoints of the transport in virtual time |
//! | [`turns`] | the same without a link, many datagrams at a time |
//! | [`simulation`] | a whole connection of such a pair, held to the rules at every step |
//! | [`matrix`] | how fast the transport is over a table of links, in numbers that never vary |
use std::io::Write;

pub mod addresses;
pub mod compact;
pub mod datagrams;
pub mod draws;
pub mod fixed;
pub mod grpc;
pub mod linux;
pub mod listening;
pub mod matrix;
mod misses;
pub mod model;
pub mod pair;
pub mod quic;
pub mod rto_vectors;
pub mod schema;
pub mod settings;
pub mod simulation;
pub mod subject;
pub mod time;
pub mod transaction;
pub mod turns;
pub mod twin;
pub mod vectors;

/// Says that a test cannot run here, past the harness, which hides what passing tests print.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "\nskipped: {test}: {why}");
}

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
