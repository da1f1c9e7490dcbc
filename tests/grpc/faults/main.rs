//! Our client and plain tonic before servers that fail in each known way, and gRPC's own
//! clients and servers beside them.

mod beds;
mod control;
mod dials;
mod listener;
mod oracles;
mod ours;
mod smoke;
mod virtual_time;
