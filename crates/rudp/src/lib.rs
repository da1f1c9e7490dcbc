//! A reliable transport over UDP: tokio driver and program.

pub mod protocol;
pub mod storage;

pub use storage::{FileName, Folder};
