//! One test per rule of `spec/grpc-connection-backoff.md`. Where a test needs tokio, it is in
//! `reconnector.rs`.

mod oracle;
mod support;

#[path = "rules/configs.rs"]
mod configs;
#[path = "rules/decisions.rs"]
mod decisions;
#[path = "rules/document.rs"]
mod document;
#[path = "rules/limits.rs"]
mod limits;
#[path = "rules/official.rs"]
mod official;
#[path = "rules/states.rs"]
mod states;
