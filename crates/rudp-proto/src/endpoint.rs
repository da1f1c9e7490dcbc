//! All connections of one socket.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use crate::{Config, ConfigError, ConnectError, Connection, EndpointStats, Event, Secrets};

/// Names a connection of an endpoint; never used again within it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(u64);

/// Client and server at once, any number of connections, no socket.
#[derive(Debug)]
pub struct Endpoint {
    connections: BTreeMap<Handle, Connection>,
    stats: EndpointStats,
    listening: bool,
}

impl Endpoint {
    /// Makes an endpoint.
    ///
    /// # Errors
    /// A bad config.
    pub fn new(config: Config, _secrets: Secrets) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            connections: BTreeMap::new(),
            stats: EndpointStats::default(),
            listening: false,
        })
    }
    /// Accepts incoming connections from here on, or no more.
    pub fn listen(&mut self, on: bool) {
        self.listening = on;
    }
    /// Starts a handshake.
    ///
    /// # Errors
    /// At the limit.
    pub fn connect(&mut self, _now: Duration, _to: SocketAddr) -> Result<Handle, ConnectError> {
        Err(ConnectError::TooManyConnections(0))
    }
    /// Takes a received datagram.
    pub fn handle_datagram(&mut self, _now: Duration, _from: SocketAddr, _datagram: &[u8]) {}
    /// The system reported port unreachable for `to`.
    pub fn handle_unreachable(&mut self, _now: Duration, _to: SocketAddr) {}
    /// Runs what is due.
    pub fn handle_timeout(&mut self, _now: Duration) {}
    /// When to call `handle_timeout`.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        None
    }
    /// Clears and fills `datagram`.
    #[must_use]
    pub fn poll_transmit(&mut self, _now: Duration, _datagram: &mut Vec<u8>) -> Option<SocketAddr> {
        None
    }
    /// What happened.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<(Handle, Event)> {
        None
    }
    /// The connection, until its `Closed` event was fetched.
    #[must_use]
    pub fn connection(&self, handle: Handle) -> Option<&Connection> {
        self.connections.get(&handle)
    }
    /// The connection, for reading, writing and closing.
    #[must_use]
    pub fn connection_mut(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.connections.get_mut(&handle)
    }
    /// The counters.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        self.stats
    }
}
