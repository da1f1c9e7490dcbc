//! Who comes and goes: connections begin, are half open, linger and are forgotten.

use core::net::SocketAddr;
use core::time::Duration;

use super::{Endpoint, Handle};
use crate::Connection;
use crate::connection::Birth;
use crate::stats::add;

/// Connections that linger at most; more end early (K7).
const MAX_LINGERING: usize = 1024;

impl Endpoint {
    /// Whether there are as many connections as may be, those included that are half open.
    fn is_full(&self) -> bool {
        let open = self.table.len().saturating_sub(self.closed.len());
        open >= self.config.max_connections
    }

    /// Whether a client has to prove its address before there is a connection (H4).
    pub(super) fn is_crowded(&self) -> bool {
        self.half_open.len() >= self.config.max_half_open || self.is_full()
    }

    /// Whether there is room for one more whose peer is no stranger: the oldest half-open one
    /// gives way (H11).
    pub(super) fn make_room(&mut self) -> bool {
        !self.is_full() || self.end_half_open()
    }

    /// Ends the oldest half-open connection without a word; says whether there was one.
    pub(super) fn end_half_open(&mut self) -> bool {
        let Some(&handle) = self.half_open.first() else {
            return false;
        };
        self.update(handle, Connection::end);
        true
    }

    pub(super) fn insert(
        &mut self,
        now: Duration,
        peer: SocketAddr,
        make: impl FnOnce(&Birth<'_>) -> Connection,
    ) -> Handle {
        let mut local_id = self.keys.next_id();
        while self.table.has_local(local_id) {
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
        let is_half_open = connection.is_half_open();
        let handle = self.table.insert(connection);
        if is_half_open {
            self.half_open.insert(handle);
            add(&mut self.stats.half_open, 1);
        } else {
            self.remember_client(handle);
        }
        self.touch(handle);
        handle
    }

    pub(super) fn update(&mut self, handle: Handle, change: impl FnOnce(&mut Connection)) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        let known = connection.remote_id();
        change(connection);
        let learned = known != connection.remote_id();
        if !connection.is_half_open() && self.half_open.remove(&handle) {
            self.remember_client(handle);
        }
        if learned {
            self.table.index_remote(handle);
        }
        self.touch(handle);
        self.bury(handle);
    }

    /// A client has proved its address; a server proves nothing, and is not known by its id yet (H6).
    fn remember_client(&mut self, handle: Handle) {
        if let Some(connection) = self.table.get(handle)
            && let Some(client_id) = connection.remote_id()
        {
            let (at, from) = (connection.heard_at(), connection.peer_addr());
            self.proved.insert(at, from, client_id);
        }
    }

    pub(super) fn touch(&mut self, handle: Handle) {
        self.to_transmit.insert(handle);
        self.eventful.insert(handle);
    }

    /// Bounds what lingers: the oldest with nothing left to tell ends early, else
    /// the oldest (K7).
    pub(super) fn limit_lingering(&mut self) {
        if self.closed.len() <= MAX_LINGERING {
            return;
        }
        let settled = |handle: &&Handle| {
            let connection = self.table.get(**handle);
            connection.is_some_and(Connection::is_close_settled)
        };
        let first = self.closed.iter().find(settled);
        if let Some(&handle) = first.or_else(|| self.closed.first())
            && let Some(connection) = self.table.get_mut(handle)
        {
            connection.end();
            self.bury(handle);
        }
    }

    /// Forgets a connection that is dead and whose end the host has heard, or never will.
    pub(super) fn bury(&mut self, handle: Handle) {
        let is_half_open = self.half_open.contains(&handle);
        let is_heard = self.closed.contains(&handle) && self.told_closed != Some(handle);
        let is_dead = self.table.get(handle).is_some_and(Connection::is_dead);
        if !is_dead || !(is_heard || is_half_open) {
            return;
        }
        if is_half_open {
            add(&mut self.stats.half_open_lost, 1);
        }
        self.table.remove(handle);
        self.half_open.remove(&handle);
        self.closed.remove(&handle);
        self.deadlines.set(handle, None);
        self.to_transmit.remove(&handle);
        self.eventful.remove(&handle);
    }
}
