//! One test per rule of `spec/grpc-connection-backoff.md`. Where a test needs tokio, it is in
//! `grpc/reconnector`.

mod addresses;
mod configs;
mod decisions;
mod document;
mod fleet;
mod limits;
mod lists;
mod manners;
mod official;
mod snapshots;
mod states;
