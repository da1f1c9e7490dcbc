//! Independent implementations, fed the same round trips.

mod s2n_quic;
mod smoltcp;
