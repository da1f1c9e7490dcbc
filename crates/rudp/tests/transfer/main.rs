//! Files between real processes over real sockets.

mod changes;
mod disk;
mod harness;
mod lost;
mod peers;
mod plain;
mod refused;
mod source;
mod traced;
