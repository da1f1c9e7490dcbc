//! The connections, and how to find one: by its handle, an id, or where its peer is.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::Handle;
use crate::Connection;

#[derive(Debug, Default)]
pub(super) struct Table {
    connections: BTreeMap<Handle, Connection>,
    next: u64,
    /// By the id we gave ourselves.
    by_local: BTreeMap<u64, Handle>,
    /// By the peer's address and the id it gave itself, where that is known.
    by_remote: BTreeMap<(SocketAddr, u64), Handle>,
    /// By the peer's address alone.
    by_address: BTreeSet<(SocketAddr, Handle)>,
}

impl Table {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    /// Of the map and each index.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 4] {
        [
            self.connections.len(),
            self.by_local.len(),
            self.by_remote.len(),
            self.by_address.len(),
        ]
    }

    pub(super) fn get(&self, handle: Handle) -> Option<&Connection> {
        self.connections.get(&handle)
    }

    pub(super) fn get_mut(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.connections.get_mut(&handle)
    }

    /// Whether the id is in use, from whatever address.
    pub(super) fn has_local(&self, id: u64) -> bool {
        self.by_local.contains_key(&id)
    }

    /// The connection of this id, if the datagram comes from its peer (H10).
    pub(super) fn by_local(&self, from: SocketAddr, id: u64) -> Option<Handle> {
        let handle = *self.by_local.get(&id)?;
        let connection = self.get(handle)?;
        (connection.peer_addr() == from).then_some(handle)
    }

    /// The connection with the peer there that calls itself so.
    pub(super) fn by_remote(&self, from: SocketAddr, id: u64) -> Option<Handle> {
        self.by_remote.get(&(from, id)).copied()
    }

    /// All connections with that address.
    pub(super) fn at(&self, address: SocketAddr) -> Vec<Handle> {
        let range = (address, Handle(0))..=(address, Handle(u64::MAX));
        let there = self.by_address.range(range);
        there.map(|(_, handle)| *handle).collect()
    }

    pub(super) fn insert(&mut self, connection: Connection) -> Handle {
        let handle = Handle(self.next);
        self.next = self.next.saturating_add(1);
        self.by_local.insert(connection.local_id(), handle);
        self.by_address.insert((connection.peer_addr(), handle));
        self.connections.insert(handle, connection);
        self.index_remote(handle);
        handle
    }

    /// The peer's id may be known now.
    pub(super) fn index_remote(&mut self, handle: Handle) {
        if let Some(connection) = self.connections.get(&handle)
            && let Some(id) = connection.remote_id()
        {
            let key = (connection.peer_addr(), id);
            self.by_remote.entry(key).or_insert(handle);
        }
    }

    pub(super) fn remove(&mut self, handle: Handle) {
        let Some(connection) = self.connections.remove(&handle) else {
            return;
        };
        let peer = connection.peer_addr();
        self.by_local.remove(&connection.local_id());
        self.by_address.remove(&(peer, handle));
        if let Some(id) = connection.remote_id()
            && self.by_remote(peer, id) == Some(handle)
        {
            self.by_remote.remove(&(peer, id));
        }
    }
}
