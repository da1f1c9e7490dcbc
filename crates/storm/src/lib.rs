//! What fleets of clients do to a server, in virtual time: simulations that use the machines of
//! `backoff-policy` and `grpc-backoff` themselves.
//!
//! | module | question |
//! |---|---|
//! | [`collision`] | clients that share a channel: when has each got through? |
//! | [`occ`] | clients that write one row: how many writes until each has written? |
//! | [`herd`] | clients that failed together: how close together do they come back? |
//! | [`reconnect`] | a server was away: how many dial it at once, and when is everybody back? |
//! | [`collapse`] | it comes back with limited capacity: does it ever recover? |
//!
//! Each takes a [`Behaviour`](fleet::Behaviour) and a seed, and gives the same outcome for the same
//! ones everywhere. [`over_seeds`] runs many.
//!
//! ```
//! use storm::{collision::Collision, fleet::Behaviour};
//!
//! let unspread: Behaviour = "base=10ms,cap=1s,jitter=none".parse()?;
//! let storm = Collision::PUBLISHED.run(&unspread.from_ceiling(1), 1);
//! assert_eq!((storm.attempts, storm.drained.len()), (20_500, 0)); // 200 s, and nobody got through
//!
//! let spread: Behaviour = "base=10ms,cap=1s,jitter=full".parse()?;
//! let calm = Collision::PUBLISHED.run(&spread.from_ceiling(1), 1);
//! assert_eq!(calm.drained.len(), 100);
//! assert!(calm.attempts < 600);
//! # Ok::<(), backoff_policy::ParsePolicyError>(())
//! ```

pub mod collapse;
pub mod collision;
pub mod draws;
pub mod engine;
pub mod fleet;
pub mod herd;
pub mod occ;
pub mod reconnect;
mod seeds;
mod server;
pub mod stats;

pub use seeds::over_seeds;
pub use server::Capacity;
