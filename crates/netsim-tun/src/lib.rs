//! `netsim`'s links between two network namespaces of Linux, so that any program meets them: the
//! kernel's TCP, `ping`, a game.
//!
//! ```text
//! namespace A                     one thread                    namespace B
//! programs ─▶ tun0 ─▶ there: netsim::Link, by the clock ─▶ tun0 ─▶ programs
//!          ◀─      ◀─ back:  netsim::Link               ◀─      ◀─
//! ```
//!
//! A [`Tunnel`] makes the namespaces, carries IPv4 packets between them, and cleans up when it is
//! dropped; it needs root, `/dev/net/tun` and the program `ip`. The same packets meet the same fate
//! as in virtual time: that is `netsim`'s promise, and nothing else sends into these namespaces.
//!
//! ```no_run
//! # use {netsim::LinkConfig, netsim_tun::*, std::{process::Command, time::Duration}};
//! let link = LinkConfig {
//!     delay: Duration::from_millis(10),
//!     rate: Some(100_000_000),
//!     queue: 250_000,
//!     loss: "1%".parse()?,
//!     ..LinkConfig::PERFECT
//! };
//! let tunnel = Tunnel::open(TunnelConfig::new(link, 7))?;
//! Command::new("ip").args("netns exec netsim-a ping -c 100 -i 0.01 198.18.0.2".split(' ')).status()?;
//! println!("{}", tunnel.counters().there); // entered 100 (8400 bytes), delivered 99 ..
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The program `netsim` does this from a shell: `netsim tun --help`.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod checksum;
mod ecn;
mod namespace;
mod pump;
mod tunnel;

pub use tunnel::{End, Tunnel, TunnelConfig, TunnelCounters};
