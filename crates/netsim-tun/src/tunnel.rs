//! The handle of a running pair of links.

use std::{
    io,
    net::Ipv4Addr,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use netsim::{ConfigError, Counters, LinkConfig};
use serde::Serialize;

use crate::{
    namespace::Namespace,
    pump::{self, Shared},
};

/// One end of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The name of its network namespace: one that exists is taken and left, another is made and
    /// deleted again.
    pub namespace: String,
    /// Its address.
    pub address: Ipv4Addr,
}

/// The settings of a [`Tunnel`].
#[derive(Clone, Debug)]
pub struct TunnelConfig {
    /// The ends A and B. Default `netsim-a` at 198.18.0.1 and `netsim-b` at 198.18.0.2.
    pub ends: [End; 2],
    /// The MTU of both devices, in bytes. Default 1,500.
    pub mtu: u16,
    /// The link from A to B. Blackouts are counted from the start of the tunnel.
    pub there: LinkConfig,
    /// The link from B to A.
    pub back: LinkConfig,
    /// What decides the fate of packets: of those from A as it is, of those from B plus one.
    pub seed: u64,
    /// Whether the checksums of UDP are kept. Without them a kernel takes datagrams with flipped
    /// bits for good. Default `true`.
    pub udp_checksums: bool,
}

impl TunnelConfig {
    /// The same link in both directions, and otherwise the defaults.
    #[must_use]
    pub fn new(link: LinkConfig, seed: u64) -> Self {
        let end = |name: &str, last| End {
            namespace: format!("netsim-{name}"),
            address: Ipv4Addr::new(198, 18, 0, last),
        };
        Self {
            ends: [end("a", 1), end("b", 2)],
            mtu: 1_500,
            there: link.clone(),
            back: link,
            seed,
            udp_checksums: true,
        }
    }
}

/// What a tunnel did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TunnelCounters {
    /// The link from A to B.
    pub there: Counters,
    /// The link from B to A.
    pub back: Counters,
    /// Packets that left a link and that the kernel would not take, as with a broken header.
    pub not_taken: u64,
    /// Packets delivered more than 0.1 ms after they were due: the machine was busy.
    pub late: u64,
    /// The longest that one was late, in nanoseconds.
    pub latest_ns: u64,
}

/// Two namespaces, and a thread that carries packets between them over [`netsim::Link`]s.
///
/// Dropping it ends all that.
#[derive(Debug)]
pub struct Tunnel {
    shared: Arc<Shared>,
    pump: Option<JoinHandle<io::Result<()>>>,
    realtime: bool,
    // Dropped last: the devices in them belong to the pump.
    _namespaces: [Namespace; 2],
}

impl Tunnel {
    /// Makes the namespaces and begins to carry packets.
    ///
    /// # Errors
    /// `InvalidInput` with a [`ConfigError`] inside, or what the system refuses, in words.
    pub fn open(config: TunnelConfig) -> io::Result<Self> {
        let shared = Shared::new(&config)?;
        let [a, b] = &config.ends;
        let namespaces = [
            Namespace::take_or_make(&a.namespace)?,
            Namespace::take_or_make(&b.namespace)?,
        ];
        let devices = [
            namespaces[0].device(a.address, b.address, config.mtu)?,
            namespaces[1].device(b.address, a.address, config.mtu)?,
        ];
        let shared = Arc::new(shared);
        let (ready, running) = mpsc::sync_channel(1);
        let pump = thread::Builder::new().name("tunnel".into()).spawn({
            let shared = shared.clone();
            move || {
                _ = ready.send(pump::prefer_this_thread());
                shared.run(&devices)
            }
        })?;
        Ok(Self {
            shared,
            pump: Some(pump),
            realtime: running.recv().unwrap_or_default(),
            _namespaces: namespaces,
        })
    }

    /// Begins anew, with empty links, counters and the clock at zero: the next packet each way is
    /// the first of its seed. What is in the links is gone.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting that makes no sense; then nothing changes.
    pub fn restart(
        &self,
        there: LinkConfig,
        back: LinkConfig,
        seed: u64,
    ) -> Result<(), ConfigError> {
        self.shared.restart(there, back, seed)
    }

    /// Changes the links for the packets that enter from now on.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting that makes no sense; then nothing changes.
    pub fn set_config(&self, there: LinkConfig, back: LinkConfig) -> Result<(), ConfigError> {
        self.shared.set_config(there, back)
    }

    /// Makes both directions dark from now, for this long; zero ends it. A later call replaces an
    /// earlier one.
    pub fn black_out(&self, lasting: Duration) {
        self.shared.black_out(lasting);
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> TunnelCounters {
        self.shared.counters()
    }

    /// Whether packets are still carried: `false` when a device has gone.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.pump.as_ref().is_some_and(|pump| !pump.is_finished())
    }

    /// Whether the thread that carries packets has real-time priority, without which a busy machine
    /// makes them late.
    #[must_use]
    pub const fn is_realtime(&self) -> bool {
        self.realtime
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(pump) = self.pump.take() {
            _ = pump.join(); // how it ended matters no more
        }
    }
}
