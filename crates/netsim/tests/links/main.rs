//! Links, driven in virtual time as a host drives them.

mod bottleneck;
mod common;
mod effects;
mod header;
mod properties;
mod time;
