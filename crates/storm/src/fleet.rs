//! Many clients of one kind, each with its own place in the series and its own chance.

use std::{hint::black_box, time::Duration};

use backoff_policy::{Jitter, Schedule, Series};
use grpc_backoff::{Action, Config, ConfigError, Connection, State};

use crate::draws::Draws;

/// What a client does after a failed attempt.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// Tries again as soon as it knows.
    AtOnce,
    /// Waits as this schedule says, from the failure on.
    Backoff(Schedule),
    /// Does what a machine like this one says: waits from the start of the attempt on, and gives
    /// up one in flight by its own deadline.
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
}

/// One dense array for each kind, so that a small state stays small.
#[derive(Clone, Debug)]
enum Clients {
    AtOnce,
    Backoff(Schedule, Vec<Series>),
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
                Behaviour::Backoff(schedule) => {
                    Clients::Backoff(*schedule, vec![Series::new(schedule); count])
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
        }
    }

    /// Lets the first ceiling be the `first`-th of the schedule, counted from 0, as in the
    /// published simulations. Decorrelated jitter has none, nor have gRPC's clients.
    #[must_use]
    pub fn starting_at(mut self, first: u32) -> Self {
        if let Clients::Backoff(schedule, series) = &mut self.clients
            && schedule.jitter() != Jitter::Decorrelated
        {
            series.fill(Series::resume(schedule, schedule.ceiling(first)));
        }
        self
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
            Clients::Backoff(_, series) => _ = black_box(series[id]),
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
    #[inline]
    pub fn start(&mut self, client: u32, now: u64) -> u64 {
        let id = client as usize;
        match &mut self.clients {
            Clients::AtOnce | Clients::Backoff(..) => now.saturating_add(self.timeout),
            Clients::Grpc(connections) => {
                let draws = &mut self.draws[id];
                match connections[id].poll_action(Duration::from_nanos(now), || draws.next()) {
                    Some(Action::Start(start)) => nanos(start.deadline),
                    action => unreachable!("{action:?}: a simulation starts what is due"),
                }
            }
        }
    }

    /// The attempt has failed; gives the instant of the next.
    #[inline]
    pub fn fail(&mut self, client: u32, now: u64) -> u64 {
        let id = client as usize;
        match &mut self.clients {
            Clients::AtOnce => now,
            Clients::Backoff(schedule, series) => {
                let delay = series[id].next(schedule, self.draws[id].next());
                now.saturating_add(nanos(delay))
            }
            Clients::Grpc(connections) => {
                let connection = &mut connections[id];
                if let State::Connecting { attempt, .. } = connection.state() {
                    let _ = connection.handle_failed(Duration::from_nanos(now), attempt);
                }
                connection.poll_timeout().map_or(u64::MAX, nanos)
            }
        }
    }
}

/// Whole nanoseconds; a span of 2^64 ns or more counts as 1 ns less than that.
#[must_use]
pub fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
