//! The crate `grpc-backoff`: the machines, their vectors, the tokio driver and the tonic layer.
//! `grpc_faults` has the clients before failing servers, a target of its own: it runs programs of
//! others, in real time.

mod intervals;
mod pick_first;
mod properties;
mod reconnector;
mod rules;
mod tonic;
mod vectors;
