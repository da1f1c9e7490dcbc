//! All connections of one socket, and the answers to strangers.
//!
//! [`input`] takes datagrams, [`output`] makes them, [`life`] is about who comes and goes, and
//! [`table`] finds them; [`strangers`] answers whom nobody knows.

mod input;
mod life;
mod output;
mod strangers;
mod table;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeSet;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use rto::Estimator;

use crate::handshake::{Keys, ProvedClients};
use crate::queue::Queue;
use crate::{Config, ConfigError, ConnectError, Connection, EndpointStats, Event, Secrets};
pub use output::Transmit;
use table::Table;

/// Names a connection of an endpoint; never used again within it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(u64);

/// The number of the connection, counted from 0.
impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Client and server at once: any number of connections over one socket, which
/// the host owns.
///
/// After every `handle_*` call, and every call on a [`Connection`], fetch from
/// [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event)
/// until they give `None`, then sleep until
/// [`poll_timeout`](Self::poll_timeout) or the next datagram.
///
/// ```
/// use core::time::Duration;
/// use rudp_proto::{Config, Endpoint, Event, Secrets};
///
/// let secrets = |seed| Secrets { reset_key: [7; 32], seed: [seed; 32] };
/// let (a, b) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
/// let mut client = Endpoint::new(Config::DEFAULT, secrets(1))?;
/// let mut server = Endpoint::new(Config::DEFAULT, secrets(2))?;
/// server.listen(true);
///
/// let now = Duration::ZERO; // a network without delay
/// let handle = client.connect(now, b)?;
/// let connection = client.connection_mut(handle).unwrap();
/// let stream = connection.open_stream()?;
/// connection.write(stream, b"hello")?;
/// let mut datagram = Vec::new();
/// loop {
///     if client.poll_transmit(now, 1, &mut datagram).is_some() {
///         server.handle_datagram(now, a, None, &datagram);
///     } else if server.poll_transmit(now, 1, &mut datagram).is_some() {
///         client.handle_datagram(now, b, None, &datagram);
///     } else {
///         break;
///     }
/// }
/// assert_eq!(client.poll_event(), Some((handle, Event::Connected)));
///
/// let (handle, event) = server.poll_event().unwrap();
/// assert_eq!(event, Event::Connected);
/// let connection = server.connection_mut(handle).unwrap();
/// let stream = connection.accept_stream().unwrap();
/// let mut buf = [0; 9];
/// let read = connection.read(stream, &mut buf)?;
/// assert_eq!(&buf[..read.unwrap()], b"hello");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
    estimator: Estimator,
    keys: Keys,
    listening: bool,
    table: Table,
    /// Connections of which the application does not know yet, the oldest first (H11).
    half_open: BTreeSet<Handle>,
    /// Connections whose `Closed` event the host has fetched: their handles are
    /// dead (K7).
    closed: BTreeSet<Handle>,
    /// The one whose `Closed` was fetched just now: it still has counters to read.
    told_closed: Option<Handle>,
    /// Of those connections that are not in `to_transmit`.
    deadlines: Queue<Duration, Handle>,
    /// Connections that may have something to send, and the one served last.
    to_transmit: BTreeSet<Handle>,
    served: Handle,
    /// Connections that may have an event.
    eventful: BTreeSet<Handle>,
    answers: strangers::Answers,
    proved: ProvedClients,
    stats: EndpointStats,
}

impl Endpoint {
    /// Makes an endpoint that does not listen yet.
    ///
    /// # Errors
    /// A setting breaks a rule.
    pub fn new(config: Config, secrets: Secrets) -> Result<Self, ConfigError> {
        Ok(Self {
            estimator: config.validate()?,
            config,
            keys: Keys::new(&secrets),
            listening: false,
            table: Table::default(),
            half_open: BTreeSet::new(),
            closed: BTreeSet::new(),
            told_closed: None,
            deadlines: Queue::default(),
            to_transmit: BTreeSet::new(),
            served: Handle(0),
            eventful: BTreeSet::new(),
            answers: strangers::Answers::default(),
            proved: ProvedClients::default(),
            stats: EndpointStats::default(),
        })
    }

    /// Accepts incoming connections from here on, or no more: then those that are half open end
    /// (H11). At first it does not: Hellos are ignored.
    pub fn listen(&mut self, on: bool) {
        self.listening = on;
        while !on && self.end_half_open() {}
    }

    /// Starts a handshake with the server at `to`. It ends with
    /// [`Event::Connected`], or with [`Event::Closed`] at the latest after
    /// [`Config::idle_timeout`]; [`Connection::abort`] ends it earlier.
    ///
    /// # Errors
    /// The endpoint is at [`Config::max_connections`].
    pub fn connect(&mut self, now: Duration, to: SocketAddr) -> Result<Handle, ConnectError> {
        if !self.make_room() {
            return Err(ConnectError::TooManyConnections(
                self.config.max_connections,
            ));
        }
        Ok(self.insert(now, to, Connection::connect))
    }

    /// What happened, and to which connection. Any other call may give it
    /// something to tell.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<(Handle, Event)> {
        if let Some(handle) = self.told_closed.take() {
            self.bury(handle);
        }
        while let Some(&handle) = self.eventful.first() {
            if self.half_open.contains(&handle) {
                self.eventful.remove(&handle); // its proof brings it back (H11)
                continue;
            }
            let event = self
                .connection_mut_quietly(handle)
                .and_then(Connection::poll_event);
            let Some(event) = event else {
                self.eventful.remove(&handle);
                continue;
            };
            if matches!(event, Event::Closed(_)) {
                self.closed.insert(handle);
                self.told_closed = Some(handle);
                self.limit_lingering();
            }
            return Some((handle, event));
        }
        None
    }

    /// A connection, until [`poll_event`](Self::poll_event) is called after it gave its
    /// [`Event::Closed`].
    #[must_use]
    pub fn connection(&self, handle: Handle) -> Option<&Connection> {
        let open = !self.closed.contains(&handle) || self.told_closed == Some(handle);
        self.table.get(handle).filter(|_| open)
    }

    /// A connection to write to, read from or close, until its
    /// [`Event::Closed`] has been fetched.
    #[must_use]
    pub fn connection_mut(&mut self, handle: Handle) -> Option<&mut Connection> {
        if self.table.get(handle).is_some() && !self.closed.contains(&handle) {
            self.touch(handle);
        }
        self.connection_mut_quietly(handle)
    }

    fn connection_mut_quietly(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.table
            .get_mut(handle)
            .filter(|_| !self.closed.contains(&handle))
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        self.stats
    }
}
