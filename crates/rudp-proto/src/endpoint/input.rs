//! What arrives.

use core::net::SocketAddr;
use core::time::Duration;

use super::{Endpoint, Handle};
use crate::stats::add;
use crate::wire::{Datagram, DecodeError, Header};
use crate::{Connection, Ecn};

impl Endpoint {
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
        if len > self.config.max_datagram_with(from) {
            return add(&mut self.stats.malformed, 1); // (W1)
        }
        let header = match Header::of(datagram) {
            Ok(header) => header,
            Err(error) => return self.count(error),
        };
        if !self.config.versions.contains(header.version) && !header.is_list_of_versions() {
            return self.handle_foreign(from, &header);
        }
        let local = self.table.by_local(from, header.id);
        let mut expected = 0;
        if header.is_data() {
            let connection = local.and_then(|handle| self.table.get(handle));
            match connection.filter(|it| it.version() == header.version) {
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
                self.table.by_remote(from, id)
            }
            _ => local,
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
        for handle in self.table.at(to) {
            self.update(handle, |connection| connection.handle_unreachable(now));
        }
    }

    /// The operating system refused to send a datagram of `size` bytes to `to`: the way there
    /// carries less (U5).
    pub fn handle_too_large(&mut self, to: SocketAddr, size: usize) {
        for handle in self.table.at(to) {
            if let Some(connection) = self.table.get_mut(handle) {
                connection.handle_too_large(size);
            }
        }
    }

    fn update_known(&mut self, handle: Option<Handle>, change: impl FnOnce(&mut Connection)) {
        match handle {
            Some(handle) => self.update(handle, change),
            None => add(&mut self.stats.unknown, 1),
        }
    }
}
