//! Independent implementations, fed the same round trips or left without an answer.

mod ack_delay;
mod quinn;
mod s2n_quic;
mod sctp;
mod smoltcp;
