//! A UDP relay that makes a real path as bad as you ask: `netsim` links between real sockets.
//!
//! ```text
//! client A ─▶ listening ─▶ link there ─▶ A's own socket ─▶ target
//!          ◀─  socket   ◀─ link back  ◀─  (connected)   ◀─
//! ```
//!
//! Each client address is a flow, with its own socket towards the target and its own pair of links.
//! The socket is connected, so that the kernel reports a closed port; the relay passes that on to
//! the client as the protocol's own notice, because the client's kernel will never see it.

mod flow;
mod flows;

use std::{
    collections::HashMap,
    convert::Infallible,
    fmt,
    future::poll_fn,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use netsim::{ConfigError, Counters, LinkConfig};
use tokio::{net::UdpSocket, sync::Notify};

use flows::Flows;

use crate::{Clock, socket};

/// The largest UDP payload, so that nothing is cut.
const MAX_PAYLOAD: usize = 65_535;
/// Bytes asked for each socket's buffers: what a burst needs until the relay has its turn.
const SOCKET_BUFFER: usize = 4 << 20;
/// How many datagrams one socket may hand in before the others have their turn.
const BATCH: usize = 64;

/// The settings of a [`Relay`].
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// The link from a client to the target. Default [`LinkConfig::PERFECT`].
    pub there: LinkConfig,
    /// The link from the target to a client. Default [`LinkConfig::PERFECT`].
    pub back: LinkConfig,
    /// What all links' seeds are derived from: the n-th flow's links (from 0) have `seed + 2 n` and
    /// `seed + 2 n + 1`. Default 0.
    pub seed: u64,
    /// How many client addresses may have a flow at once; a datagram from one more is dropped and
    /// counted. Default 256.
    pub max_flows: usize,
    /// For how long a flow lives without a datagram either way. Default 2 minutes.
    pub idle_timeout: Duration,
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self {
            there: LinkConfig::PERFECT,
            back: LinkConfig::PERFECT,
            seed: 0,
            max_flows: 256,
            idle_timeout: Duration::from_secs(120),
        }
    }
}

/// What a relay did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounters {
    /// All links from a client to the target together.
    pub there: Counters,
    /// All links from the target to a client together.
    pub back: Counters,
    /// Client addresses seen; one that comes back after its flow expired counts again.
    pub flows: u64,
    /// Datagrams dropped because `max_flows` clients were there already, or no socket could be made.
    pub no_flow: u64,
    /// Port-unreachable reports passed on to a client.
    pub unreachable: u64,
    /// Datagrams that left a link and that the system would not send.
    pub not_sent: u64,
}

impl fmt::Display for RelayCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "there: {}", self.there)?;
        writeln!(f, "back:  {}", self.back)?;
        write!(
            f,
            "flows {}, dropped without a flow {}, port unreachable {}, not sent {}",
            self.flows, self.no_flow, self.unreachable, self.not_sent
        )
    }
}

/// A relay, bound and not yet running.
#[derive(Debug)]
pub struct Relay {
    listening: UdpSocket,
    control: RelayControl,
}

impl Relay {
    /// Binds to `listen` (port 0: any free one) and relays to `to`. `clock` is what the scheduled
    /// blackouts are read against.
    ///
    /// # Errors
    /// Those of the socket, and `InvalidInput` with a [`ConfigError`] inside.
    pub fn bind(
        listen: SocketAddr,
        to: SocketAddr,
        config: RelayConfig,
        clock: Clock,
    ) -> io::Result<Self> {
        for link in [&config.there, &config.back] {
            check(link).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        }
        let flows = Flows {
            to,
            config,
            dark_until: Duration::ZERO,
            by_client: HashMap::new(),
            ended: RelayCounters::default(),
        };
        let shared = Shared {
            clock,
            flows: Mutex::new(flows),
            changed: Notify::new(),
        };
        Ok(Self {
            listening: socket::bind(listen, SOCKET_BUFFER)?,
            control: RelayControl(Arc::new(shared)),
        })
    }

    /// The address that clients send to.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listening.local_addr()
    }

    /// A handle that changes and reads the relay while it runs.
    #[must_use]
    pub fn control(&self) -> RelayControl {
        self.control.clone()
    }

    /// Relays until it is dropped.
    ///
    /// # Errors
    /// Those of the listening socket that do not go away.
    pub async fn run(self) -> io::Result<Infallible> {
        let shared = &*self.control.0;
        let mut buffer = vec![0; MAX_PAYLOAD];
        loop {
            let next = {
                let mut flows = shared.flows();
                let now = shared.clock.now();
                flows.receive(now, &self.listening, &mut buffer)?;
                flows.deliver(now, &self.listening);
                flows.expire(now);
                flows.poll_timeout()
            };
            // An idle flow has a deadline too; without any flow only a datagram matters.
            let next = shared.clock.at(next.unwrap_or(Duration::MAX));
            tokio::select! {
                () = poll_fn(|cx| shared.flows().poll_readable(cx, &self.listening)) => {}
                () = shared.changed.notified() => {}
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }
}

/// Changes and reads a running [`Relay`]; clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct RelayControl(Arc<Shared>);

impl RelayControl {
    /// Changes the links of all flows, present and future, for the datagrams that enter from now on.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting that makes no sense; then nothing changes.
    pub fn set_config(&self, there: LinkConfig, back: LinkConfig) -> Result<(), ConfigError> {
        check(&there)?;
        check(&back)?;
        let mut flows = self.0.flows();
        for flow in flows.by_client.values_mut() {
            flow.there.set_config(there.clone())?;
            flow.back.set_config(back.clone())?;
        }
        (flows.config.there, flows.config.back) = (there, back);
        self.0.changed.notify_one();
        Ok(())
    }

    /// Makes both directions dark from now, for this long; zero ends it. A later call replaces an
    /// earlier one. Returns when the dark ends, by the relay's clock.
    pub fn black_out(&self, lasting: Duration) -> Duration {
        let now = self.0.clock.now();
        let mut flows = self.0.flows();
        let until = now.saturating_add(lasting);
        flows.dark_until = until;
        for flow in flows.by_client.values_mut() {
            flow.black_out(now, until);
        }
        self.0.changed.notify_one();
        until
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> RelayCounters {
        let flows = self.0.flows();
        let mut total = flows.ended;
        flows
            .by_client
            .values()
            .for_each(|flow| flow.add_to(&mut total));
        total
    }
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    flows: Mutex<Flows>,
    /// Something was changed from outside: the deadlines may be others now.
    changed: Notify,
}

impl Shared {
    fn flows(&self) -> MutexGuard<'_, Flows> {
        // What a panicking holder left behind is still a set of flows.
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks a link's settings before any flow exists to refuse them.
fn check(config: &LinkConfig) -> Result<(), ConfigError> {
    netsim::Link::new(config.clone(), 0).map(drop)
}
