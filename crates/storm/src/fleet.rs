//! Many clients of one kind, each with its own place in the series and its own chance.

use std::{hint::black_box, str::FromStr, time::Duration};

use backoff_policy::{Class, Decision, Jitter, ParsePolicyError, Policy, Retry, Schedule, nanos};
use grpc_backoff::{Action, Config, ConfigError, Connection, State};

use crate::draws::Draws;

/// What a client does after a failed attempt.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// Tries again as soon as it knows.
    AtOnce,
    /// Does what `backoff_policy::Retry` says: waits from the failure on, or gives up.
    Policy(Policy),
    /// Does what a machine like this one says: waits from the start of the attempt on, and ends one
    /// in flight by its own deadline.
    Grpc(Connection),
}

impl Behaviour {
    /// That of gRPC's clients: of machines in IDLE, with this config.
    ///
    /// # Errors
    ///
    /// A config that makes no sense.
    pub const fn grpc(config: Config) -> Result<Self, ConfigError> {
        match Connection::new(config) {
            Ok(connection) => Ok(Self::Grpc(connection)),
            Err(error) => Err(error),
        }
    }

    /// The same with this connect deadline, if its machines have one of their own.
    ///
    /// # Errors
    ///
    /// A deadline of zero.
    pub fn with_connect_timeout(self, timeout: Duration) -> Result<Self, ConfigError> {
        let Self::Grpc(connection) = &self else {
            return Ok(self);
        };
        Self::grpc(Config {
            min_connect_timeout: timeout,
            ..connection.config()
        })
    }

    /// The same with the schedule's `first`-th ceiling, counted from 0, as the first one: the
    /// published simulations take ceiling 1. Decorrelated jitter has no ceilings, and clients
    /// without a policy none to choose.
    #[must_use]
    pub fn from_ceiling(self, first: u32) -> Self {
        let Self::Policy(policy) = self else {
            return self;
        };
        let old = policy.schedule;
        if old.jitter() == Jitter::Decorrelated {
            return self;
        }
        let base = old.ceiling(first);
        let schedule = Schedule::new(base, old.multiplier(), old.cap(), old.jitter());
        Self::Policy(Policy {
            schedule: schedule.unwrap_or(old), // a ceiling is a base as good as the first
            ..policy
        })
    }
}

/// Reads `at-once`, `grpc` (its connections, with the values of its document), or a
/// `backoff_policy::Policy`.
impl FromStr for Behaviour {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        const GRPC: Result<Behaviour, ConfigError> = Behaviour::grpc(Config::GRPC);
        match text {
            "at-once" => Ok(Self::AtOnce),
            "grpc" => Ok(GRPC.expect("the document's values are valid")),
            policy => policy.parse().map(Self::Policy),
        }
    }
}

/// Clients numbered from 0.
///
/// It knows of each when it tries again and when it gives up an attempt in flight; what becomes of
/// an attempt is the simulation's affair. Instants are in ns.
#[derive(Clone, Debug)]
pub struct Fleet {
    clients: Clients,
    draws: Vec<Draws>,
    /// How long an attempt may take, where the clients do not know it themselves.
    timeout: u64,
    gave_up: u32,
}

/// One dense array for each kind, so that a small state stays small.
#[derive(Clone, Debug)]
enum Clients {
    AtOnce,
    Policy(Policy, Vec<Retry>),
    Grpc(Vec<Connection>),
}

impl Fleet {
    /// Makes `clients` clients that draw by `seed`, before their first attempt.
    #[must_use]
    pub fn new(behaviour: &Behaviour, clients: u32, seed: u64) -> Self {
        let count = clients as usize;
        Self {
            clients: match behaviour {
                Behaviour::AtOnce => Clients::AtOnce,
                Behaviour::Policy(policy) => {
                    Clients::Policy(*policy, vec![Retry::new(Duration::ZERO); count])
                }
                Behaviour::Grpc(connection) => {
                    let mut connection = connection.clone();
                    connection.connect(Duration::ZERO);
                    Clients::Grpc(vec![connection; count])
                }
            },
            draws: (0..u64::from(clients))
                .map(|id| Draws::of(seed, id))
                .collect(),
            timeout: u64::MAX,
            gave_up: 0,
        }
    }

    /// Lets clients that have no connect deadline of their own give up an attempt after this
    /// time.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = nanos(timeout);
        self
    }

    /// Reads the client's state, so that it is in the processor's cache when it is needed.
    #[inline]
    pub fn touch(&self, client: u32) {
        let id = client as usize;
        match &self.clients {
            Clients::AtOnce => {}
            Clients::Policy(_, retries) => _ = black_box(retries[id]),
            Clients::Grpc(connections) => _ = black_box(connections[id].clone()),
        }
        black_box(self.draws[id]);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.draws.len() as u32
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.draws.is_empty()
    }

    /// The client starts an attempt; gives the instant at which it gives that up.
    ///
    /// # Panics
    ///
    /// Where a machine of gRPC has not asked for an attempt yet: the first is due at 0, any other
    /// when [`fail`](Self::fail) said.
    #[inline]
    pub fn start(&mut self, client: u32, now: u64) -> u64 {
        let id = client as usize;
        match &mut self.clients {
            Clients::AtOnce | Clients::Policy(..) => now.saturating_add(self.timeout),
            Clients::Grpc(connections) => {
                let draws = &mut self.draws[id];
                match connections[id].poll_action(Duration::from_nanos(now), || draws.next()) {
                    Some(Action::Start(start)) => nanos(start.deadline),
                    action => panic!("client {client} at {now} ns: {action:?} is no start"),
                }
            }
        }
    }

    /// The attempt has failed; gives the instant of the next, or `None` where the client gives up
    /// for good.
    #[inline]
    pub fn fail(&mut self, client: u32, now: u64) -> Option<u64> {
        let id = client as usize;
        let next = match &mut self.clients {
            Clients::AtOnce => Some(now),
            Clients::Policy(policy, retries) => {
                let (now, draw) = (Duration::from_nanos(now), self.draws[id].next());
                match retries[id].handle_failed(policy, Class::Transient.into(), now, draw) {
                    Decision::Retry(wait) => Some(nanos(wait.at)),
                    Decision::GiveUp(_) => None,
                }
            }
            Clients::Grpc(connections) => {
                let connection = &mut connections[id];
                if let State::Connecting { attempt, .. } = connection.state() {
                    let _ = connection.handle_failed(Duration::from_nanos(now), attempt);
                }
                connection.poll_timeout().map(nanos)
            }
        };
        self.gave_up += u32::from(next.is_none());
        next
    }

    /// How many have given up for good.
    #[must_use]
    pub fn gave_up(&self) -> u32 {
        self.gave_up
    }
}
