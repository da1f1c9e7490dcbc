//! All connections of one socket, and the answers to strangers.

mod deadlines;
mod strangers;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::ops::Bound;
use core::time::Duration;

use rto::Estimator;

use crate::connection::Birth;
use crate::handshake::{Keys, UsedCookies};
use crate::stats::add;
use crate::wire::{BASE_DATAGRAM, Datagram, DecodeError, Header, LARGEST_DATAGRAM};
use crate::{Config, ConfigError, ConnectError, Connection, Ecn, EndpointStats, Event, Secrets};

/// Connections that linger at most; more end early (K7).
const MAX_LINGERING: usize = 1024;

/// The size of datagrams in bytes from which on several leave together.
const MIN_SEGMENT: usize = BASE_DATAGRAM / 10 * 9;

/// Names a connection of an endpoint; never used again within it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(u64);

/// The number of the connection, counted from 0.
impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Datagrams of one connection, or one answer to a stranger, as a system call sends them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// What the IP header is to say of congestion.
    pub ecn: Option<Ecn>,
    /// The length in bytes of each datagram in the buffer; the last may be shorter.
    pub segment_size: usize,
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
    connections: BTreeMap<Handle, Connection>,
    next_handle: u64,
    /// By the id we gave ourselves.
    by_local: BTreeMap<u64, Handle>,
    /// By the peer's address and the id it gave itself.
    by_remote: BTreeMap<(SocketAddr, u64), Handle>,
    /// Connections whose `Closed` event the host has fetched: their handles are
    /// dead (K7).
    closed: BTreeSet<Handle>,
    /// The one whose `Closed` was fetched just now: it still has counters to read.
    told_closed: Option<Handle>,
    /// Of those connections that are not in `to_transmit`.
    deadlines: deadlines::Deadlines,
    /// Connections that may have something to send, and the one served last.
    to_transmit: BTreeSet<Handle>,
    served: Handle,
    /// Connections that may have an event.
    eventful: BTreeSet<Handle>,
    answers: strangers::Answers,
    used_cookies: UsedCookies,
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
            connections: BTreeMap::new(),
            next_handle: 0,
            by_local: BTreeMap::new(),
            by_remote: BTreeMap::new(),
            closed: BTreeSet::new(),
            told_closed: None,
            deadlines: deadlines::Deadlines::default(),
            to_transmit: BTreeSet::new(),
            served: Handle(0),
            eventful: BTreeSet::new(),
            answers: strangers::Answers::default(),
            used_cookies: UsedCookies::default(),
            stats: EndpointStats::default(),
        })
    }

    /// Accepts incoming connections from here on, or no more. At first it does
    /// not: Hellos are ignored.
    pub fn listen(&mut self, on: bool) {
        self.listening = on;
    }

    /// Starts a handshake with the server at `to`. It ends with
    /// [`Event::Connected`], or with [`Event::Closed`] at the latest after
    /// [`Config::idle_timeout`]; [`Connection::abort`] ends it earlier.
    ///
    /// # Errors
    /// The endpoint is at [`Config::max_connections`].
    pub fn connect(&mut self, now: Duration, to: SocketAddr) -> Result<Handle, ConnectError> {
        if self.is_full() {
            return Err(ConnectError::TooManyConnections(
                self.config.max_connections,
            ));
        }
        Ok(self.insert(now, to, Connection::connect))
    }

    fn is_full(&self) -> bool {
        let open = self.connections.len().saturating_sub(self.closed.len());
        open >= self.config.max_connections
    }

    fn insert(
        &mut self,
        now: Duration,
        peer: SocketAddr,
        make: impl FnOnce(&Birth<'_>) -> Connection,
    ) -> Handle {
        let mut local_id = self.keys.next_id();
        while self.by_local.contains_key(&local_id) {
            local_id = self.keys.next_id();
        }
        let connection = make(&Birth {
            now,
            config: &self.config,
            estimator: self.estimator,
            peer,
            local_id,
            reset_token: self.keys.reset_token(local_id),
        });
        let handle = Handle(self.next_handle);
        self.next_handle = self.next_handle.saturating_add(1);
        self.by_local.insert(local_id, handle);
        self.connections.insert(handle, connection);
        self.touch(handle);
        handle
    }

    /// Takes a datagram that arrived from `from`, with what its IP header says of congestion.
    /// What cannot be decoded, or belongs to no connection, is counted in
    /// [`stats`](Self::stats). Hand over all that arrived together before asking for what is to
    /// be sent: one ACK answers it all.
    pub fn handle_datagram(
        &mut self,
        now: Duration,
        from: SocketAddr,
        ecn: Option<Ecn>,
        datagram: &[u8],
    ) {
        add(&mut self.stats.datagrams_received, 1);
        let len = datagram.len();
        if len > self.config.max_datagram {
            return add(&mut self.stats.malformed, 1); // (W1)
        }
        let header = match Header::of(datagram) {
            Ok(header) => header,
            Err(error) => return self.count(error),
        };
        if !self.config.versions.contains(header.version) && !header.is_list_of_versions() {
            return self.handle_foreign(from, &header);
        }
        let mut expected = 0;
        if header.is_data() {
            let receiver = self.local(from, header.id);
            let receiver = receiver.and_then(|handle| self.connections.get(&handle));
            match receiver.filter(|it| it.version() == header.version) {
                Some(connection) => expected = connection.expected_number(),
                None => return self.handle_unknown(from, &header, len),
            }
        }
        let packet = match header.open(expected) {
            Ok(packet) => packet,
            Err(error) => return self.count(error),
        };
        let receiver = match packet {
            Datagram::Hello {
                client_id,
                params,
                cookie,
            } => {
                return self.handle_hello(now, from, header.version, client_id, params, cookie);
            }
            Datagram::Reset { id, .. } | Datagram::Unreachable { id, hello: false } => {
                self.by_remote.get(&(from, id)).copied()
            }
            _ => self.local(from, header.id),
        };
        self.update_known(receiver, |connection| match packet {
            Datagram::Data { number, frames, .. } => {
                connection.handle_data(now, len, ecn, number, frames)
            }
            Datagram::Challenge { cookie, .. } if connection.version() == header.version => {
                connection.handle_challenge(now, cookie);
            }
            Datagram::Versions { versions, .. } => connection.handle_versions(now, &versions),
            Datagram::Refuse { .. } => connection.handle_refusal(now),
            Datagram::Reset { token, .. } => connection.handle_reset(now, &token),
            Datagram::Unreachable { .. } => connection.handle_unreachable(now),
            Datagram::Hello { .. } | Datagram::Challenge { .. } => {} // the latter of a version given up
        });
    }

    fn count(&mut self, error: DecodeError) {
        match error {
            DecodeError::Checksum => add(&mut self.stats.corrupted, 1),
            _ => add(&mut self.stats.malformed, 1),
        }
    }

    /// The operating system reported that nobody listens at `to` (K6).
    pub fn handle_unreachable(&mut self, now: Duration, to: SocketAddr) {
        let there = |(handle, connection): (&Handle, &Connection)| {
            (connection.peer_addr() == to).then_some(*handle)
        };
        let handles: Vec<Handle> = self.connections.iter().filter_map(there).collect();
        for handle in handles {
            self.update(handle, |connection| connection.handle_unreachable(now));
        }
    }

    /// The operating system refused to send a datagram of `size` bytes to `to`: the way there
    /// carries less (U5).
    pub fn handle_too_large(&mut self, to: SocketAddr, size: usize) {
        let there = self.connections.values_mut();
        there
            .filter(|connection| connection.peer_addr() == to)
            .for_each(|connection| connection.handle_too_large(size));
    }

    /// Does everything that is due at `now`; harmless when nothing is.
    pub fn handle_timeout(&mut self, now: Duration) {
        let mut after = Bound::Unbounded;
        while let Some(&handle) = self.to_transmit.range((after, Bound::Unbounded)).next() {
            after = Bound::Excluded(handle);
            if self
                .deadline(handle)
                .is_some_and(|deadline| deadline <= now)
            {
                self.update(handle, |connection| connection.handle_timeout(now));
            }
        }
        while let Some(handle) = self.deadlines.pop_due(now) {
            self.update(handle, |connection| connection.handle_timeout(now));
        }
    }

    /// The deadline by which to call [`handle_timeout`](Self::handle_timeout);
    /// `None` asks for no call. Any other call may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let touched = self.to_transmit.iter();
        let touched = touched.filter_map(|handle| self.deadline(*handle));
        touched.chain(self.deadlines.next()).min()
    }

    fn deadline(&self, handle: Handle) -> Option<Duration> {
        self.connections.get(&handle)?.poll_timeout()
    }

    /// Clears `out` and fills it with the next datagrams to send to one place: one, or at most
    /// `max_segments` of the same size, of which the last may be shorter. Connections take turns.
    /// Any other call may give it something to do.
    #[must_use]
    pub fn poll_transmit(
        &mut self,
        now: Duration,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        out.clear();
        if let Some(to) = self.answers.poll(out) {
            add(&mut self.stats.datagrams_sent, 1);
            return Some(Transmit {
                to,
                ecn: None,
                segment_size: out.len(),
            });
        }
        loop {
            let after = (Bound::Excluded(self.served), Bound::Unbounded);
            let next = self.to_transmit.range(after).next();
            let handle = *next.or_else(|| self.to_transmit.first())?;
            self.served = handle;
            if let Some(connection) = self.connections.get_mut(&handle)
                && let Some(segment_size) = fill(connection, now, max_segments, out)
            {
                let segments = out.len().div_ceil(segment_size) as u64;
                add(&mut self.stats.datagrams_sent, segments);
                return Some(Transmit {
                    to: connection.peer_addr(),
                    ecn: connection.ecn(),
                    segment_size,
                });
            }
            self.to_transmit.remove(&handle);
            self.deadlines.set(handle, self.deadline(handle));
            self.eventful.insert(handle);
            self.bury(handle);
        }
    }

    /// What happened, and to which connection. Any other call may give it
    /// something to tell.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<(Handle, Event)> {
        if let Some(handle) = self.told_closed.take() {
            self.bury(handle);
        }
        while let Some(&handle) = self.eventful.first() {
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
        self.connections.get(&handle).filter(|_| open)
    }

    /// A connection to write to, read from or close, until its
    /// [`Event::Closed`] has been fetched.
    #[must_use]
    pub fn connection_mut(&mut self, handle: Handle) -> Option<&mut Connection> {
        if self.connections.contains_key(&handle) && !self.closed.contains(&handle) {
            self.touch(handle);
        }
        self.connection_mut_quietly(handle)
    }

    fn connection_mut_quietly(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.connections
            .get_mut(&handle)
            .filter(|_| !self.closed.contains(&handle))
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// The connection of this id, if the datagram comes from its peer (H10).
    fn local(&self, from: SocketAddr, id: u64) -> Option<Handle> {
        let handle = self.by_local.get(&id)?;
        let connection = self.connections.get(handle)?;
        (connection.peer_addr() == from).then_some(*handle)
    }

    fn update_known(&mut self, handle: Option<Handle>, change: impl FnOnce(&mut Connection)) {
        match handle {
            Some(handle) => self.update(handle, change),
            None => add(&mut self.stats.unknown, 1),
        }
    }

    fn update(&mut self, handle: Handle, change: impl FnOnce(&mut Connection)) {
        let Some(connection) = self.connections.get_mut(&handle) else {
            return;
        };
        let known = connection.remote_id();
        change(connection);
        if let Some(id) = connection.remote_id().filter(|_| known.is_none()) {
            self.by_remote
                .entry((connection.peer_addr(), id))
                .or_insert(handle);
        }
        self.touch(handle);
        self.bury(handle);
    }

    fn touch(&mut self, handle: Handle) {
        self.to_transmit.insert(handle);
        self.eventful.insert(handle);
    }

    /// Bounds what lingers: the oldest with nothing left to tell ends early, else
    /// the oldest (K7).
    fn limit_lingering(&mut self) {
        if self.closed.len() <= MAX_LINGERING {
            return;
        }
        let settled = |handle: &&Handle| {
            let connection = self.connections.get(handle);
            connection.is_some_and(Connection::is_close_settled)
        };
        let first = self.closed.iter().find(settled);
        if let Some(&handle) = first.or_else(|| self.closed.first())
            && let Some(connection) = self.connections.get_mut(&handle)
        {
            connection.end();
            self.bury(handle);
        }
    }

    /// Forgets a connection that is dead and whose end the host has heard.
    fn bury(&mut self, handle: Handle) {
        if !self.closed.contains(&handle) || self.told_closed == Some(handle) {
            return;
        }
        let Some(connection) = self.connections.get(&handle).filter(|it| it.is_dead()) else {
            return;
        };
        self.by_local.remove(&connection.local_id());
        if let Some(id) = connection.remote_id() {
            let key = (connection.peer_addr(), id);
            if self.by_remote.get(&key) == Some(&handle) {
                self.by_remote.remove(&key);
            }
        }
        self.connections.remove(&handle);
        self.closed.remove(&handle);
        self.deadlines.set(handle, None);
        self.to_transmit.remove(&handle);
        self.eventful.remove(&handle);
    }
}

/// Appends a datagram of the connection, and more of the same size behind a long one.
fn fill(
    connection: &mut Connection,
    now: Duration,
    max_segments: usize,
    out: &mut Vec<u8>,
) -> Option<usize> {
    if !connection.poll_transmit(now, usize::MAX, out) {
        return None;
    }
    let size = out.len();
    let mut end = size;
    for _ in 1..max_segments {
        // A short one is shorter than what a next one may have to carry beside stream data.
        let full = (MIN_SEGMENT..=connection.datagram_size()).contains(&size);
        let goes_on = full
            && out.len() == end
            && connection.is_ecn_settled()
            && end.saturating_add(size) <= LARGEST_DATAGRAM; // the system begins with one packet
        if !goes_on || !connection.poll_transmit(now, size, out) {
            break;
        }
        end = end.saturating_add(size);
    }
    Some(size)
}
