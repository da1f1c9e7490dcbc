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
//!
//! The links carry IP packets: to each datagram they count the headers of UDP and of the target's
//! IP, and its ECN field crosses them, where the system tells and sets it on such sockets (Linux,
//! Android). A datagram too long for the way out is not cut into fragments, but counted as not sent.

mod flow;
mod flows;

use std::{
    collections::HashMap,
    convert::Infallible,
    error::Error,
    fmt,
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use netsim::{ConfigError, Counters, LinkConfig};
use tokio::sync::Notify;

use flows::Flows;

use crate::{
    Clock,
    socket::{BatchSocket, Inbox},
};

/// Bytes asked for each socket's buffers: what a burst needs until the relay has its turn.
const SOCKET_BUFFER: usize = 4 << 20;
/// How often one socket may hand in what it has before the others have their turn.
const BATCH: usize = 16;

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
    /// counted. Default 256, at least 1.
    pub max_flows: usize,
    /// For how long a flow lives without a datagram either way. Default 2 minutes, more than 0.
    pub idle_timeout: Duration,
}

impl RelayConfig {
    fn validate(&self) -> io::Result<()> {
        let refused = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        if self.max_flows == 0 {
            return Err(refused("max_flows is 0: at least 1 is needed".into()));
        }
        if self.idle_timeout.is_zero() {
            let why = "idle_timeout is 0s: a flow needs more to live";
            return Err(refused(why.into()));
        }
        for link in [&self.there, &self.back] {
            check(link).map_err(|error| refused(Box::<dyn Error + Send + Sync>::from(error)))?;
        }
        Ok(())
    }
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

/// Whether what is sent to `to` comes to the socket bound to `local`, and so round and round.
fn is_itself(local: SocketAddr, to: SocketAddr) -> bool {
    let (here, there) = (local.ip().to_canonical(), to.ip().to_canonical());
    // Only an address of this machine can be bound to; an unspecified one leads to the loopback.
    let is_ours = || std::net::UdpSocket::bind((there, 0)).is_ok();
    let same = match (here.is_unspecified(), there.is_unspecified()) {
        (true, _) => is_ours(),
        (false, true) => here.is_loopback(),
        (false, false) => here == there,
    };
    local.port() == to.port() && same
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
    listening: BatchSocket,
    control: RelayControl,
}

impl Relay {
    /// Binds to `listen` (port 0: any free one) and relays to `to`. `clock` is what the scheduled
    /// blackouts are read against.
    ///
    /// # Errors
    /// Those of the socket, and `InvalidInput` for a bad `config`, with a [`ConfigError`] inside if it
    /// is that of a link, and where it would relay to itself.
    pub fn bind(
        listen: SocketAddr,
        to: SocketAddr,
        config: RelayConfig,
        clock: Clock,
    ) -> io::Result<Self> {
        config.validate()?;
        let listening = BatchSocket::bind(listen, SOCKET_BUFFER, false)?;
        if is_itself(listening.local_addr()?, to) {
            let wrong = format!("{to} is where it listens: it would relay to itself");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
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
            turned: Notify::new(),
        };
        Ok(Self {
            listening,
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
        let mut inbox = Inbox::new();
        loop {
            let next = {
                let mut flows = shared.flows();
                let now = shared.clock.now();
                flows.receive(now, &self.listening, &mut inbox)?;
                flows.deliver(now, &self.listening);
                flows.expire(now);
                flows.poll_timeout()
            };
            shared.turned.notify_waiters();
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
        let to = flows.to;
        for flow in flows.by_client.values_mut() {
            flow.there.set_config(with_headers(&there, to))?;
            flow.back.set_config(with_headers(&back, to))?;
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

    /// Waits until the counters are as wanted, and returns them. Cancel-safe. For ever, if the relay
    /// ends before.
    pub async fn wait_for(&self, mut wanted: impl FnMut(&RelayCounters) -> bool) -> RelayCounters {
        loop {
            let mut turned = pin!(self.0.turned.notified());
            turned.as_mut().enable(); // before looking, so that no turn is missed
            let counters = self.counters();
            if wanted(&counters) {
                return counters;
            }
            turned.await;
        }
    }
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    flows: Mutex<Flows>,
    /// Something was changed from outside: the deadlines may be others now.
    changed: Notify,
    /// The relay had a turn: the counters may be others now.
    turned: Notify,
}

impl Shared {
    fn flows(&self) -> MutexGuard<'_, Flows> {
        // What a panicking holder left behind is still a set of flows.
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The settings of a link that is handed payloads of UDP, as if they were IP packets of the target's
/// family.
fn with_headers(config: &LinkConfig, to: SocketAddr) -> LinkConfig {
    let headers = match to.ip().to_canonical() {
        IpAddr::V4(_) => 20 + 8,
        IpAddr::V6(_) => 40 + 8,
    };
    LinkConfig {
        overhead: config.overhead.saturating_add(headers),
        ..config.clone()
    }
}

/// Checks a link's settings before any flow exists to refuse them.
fn check(config: &LinkConfig) -> Result<(), ConfigError> {
    netsim::Link::new(config.clone(), 0).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_relay_would_relay_to_itself() {
        for (local, to, itself) in [
            ("127.0.0.1:5", "127.0.0.1:5", true),
            ("127.0.0.1:5", "127.0.0.1:6", false),
            ("127.0.0.1:5", "127.0.0.2:5", false),
            ("127.0.0.1:5", "0.0.0.0:5", true),
            ("0.0.0.0:5", "127.0.0.1:5", true),
            ("0.0.0.0:5", "0.0.0.0:5", true),
            ("0.0.0.0:5", "192.0.2.1:5", false), // nobody's
            ("[::]:5", "127.0.0.1:5", true),
            ("[::ffff:127.0.0.1]:5", "127.0.0.1:5", true),
            ("192.0.2.1:5", "0.0.0.0:5", false),
        ] {
            let [local, to] = [local, to].map(|text| text.parse().expect("an address"));
            assert_eq!(is_itself(local, to), itself, "{local} {to}");
        }
    }
}
