//! One connection.
use core::fmt::Display;
use core::net::SocketAddr;
use core::time::Duration;

use crate::{ReadError, Stats, WriteError};

/// One connection of an [`Endpoint`](crate::Endpoint).
#[derive(Debug)]
pub struct Connection {
    peer: SocketAddr,
    stats: Stats,
}

impl Connection {
    /// Takes bytes to send and returns how many it took.
    ///
    /// # Errors
    /// Refuses after `finish`, `close` and `abort`.
    pub fn write(&mut self, _data: &[u8]) -> Result<usize, WriteError> {
        Ok(0)
    }
    /// Reads received bytes.
    ///
    /// # Errors
    /// The connection ended before the peer's stream did.
    pub fn read(&mut self, _buf: &mut [u8]) -> Result<Option<usize>, ReadError> {
        Ok(None)
    }
    /// Ends this side's stream.
    ///
    /// # Errors
    /// Refuses when closed.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        Ok(())
    }
    /// Closes gracefully.
    pub fn close(&mut self, _code: u64, _reason: &str) {}
    /// Closes at once.
    pub fn abort(&mut self, _code: u64, _reason: &str) {}
    /// Whether the handshake is done and the connection not closed.
    #[must_use]
    pub fn is_established(&self) -> bool {
        false
    }
    /// The peer's address.
    #[must_use]
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }
    /// Bytes written and not yet acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        0
    }
    /// The counters.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// One line.
    pub fn explain(&self, now: Duration) -> impl Display {
        now.as_millis()
    }
}
