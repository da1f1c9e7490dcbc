//! The two halves of a stream.

mod recv;
mod send;

pub use recv::RecvStream;
pub use send::SendStream;
