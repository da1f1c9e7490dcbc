//! What comes from addresses without a connection: Hellos, and what nobody knows. Answers keep no
//! state, and are shorter than what they answer (H3).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use super::Endpoint;
use crate::Connection;
use crate::stats::add;
use crate::wire::{Cookie, Header, Packet, Params, RESET_LEN};

/// Answers that wait to be sent; more are dropped (K9).
const MAX_ANSWERS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Answers {
    /// To whom, in which version, and what.
    waiting: VecDeque<(SocketAddr, u8, Packet<'static>)>,
}

impl Answers {
    pub(super) fn poll(&mut self, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let (to, version, packet) = self.waiting.pop_front()?;
        packet.encode_as(version, out);
        Some(to)
    }
}

impl Endpoint {
    /// A datagram of a version that is not spoken here: a Hello is answered by those that are (N2).
    pub(super) fn handle_foreign(&mut self, from: SocketAddr, header: &Header<'_>) {
        if !header.is_intact() {
            return add(&mut self.stats.corrupted, 1);
        }
        add(&mut self.stats.unknown_versions, 1);
        let (client_id, versions) = (header.id, self.config.versions);
        let list = Packet::Versions {
            client_id,
            versions,
        };
        if self.listening && header.is_foreign_hello() && self.answer(from, 0, list) {
            add(&mut self.stats.versions_sent, 1);
        }
    }

    /// A Hello: accepted with a valid cookie (H6), or else while few are half open (H11);
    /// challenged otherwise (H4), and refused where there is no room (H9).
    pub(super) fn handle_hello(
        &mut self,
        now: Duration,
        from: SocketAddr,
        version: u8,
        client_id: u64,
        params: Params,
        cookie: Option<Cookie>,
    ) {
        if !self.listening {
            return add(&mut self.stats.not_listening, 1);
        }
        if params.versions.common(&self.config.versions) != Some(version) {
            return add(&mut self.stats.malformed, 1); // negotiation does not lead there (N4)
        }
        let good = |cookie: &Cookie| {
            self.keys.accepts(now, from, client_id, cookie)
                && self.proved.allow(from, client_id, cookie)
        };
        let proved = cookie.as_ref().is_some_and(good);
        let known = self.table.by_remote(from, client_id);
        if known.is_none() {
            if cookie.is_some() && !proved {
                add(&mut self.stats.bad_cookies, 1);
            }
            if !proved && self.is_crowded() {
                let cookie = self.keys.mint_cookie(now, from, client_id);
                if self.answer(from, version, Packet::Challenge { client_id, cookie }) {
                    add(&mut self.stats.challenges_sent, 1);
                }
                return;
            }
            if !self.make_room() {
                if self.answer(from, version, Packet::Refuse { client_id }) {
                    add(&mut self.stats.refusals_sent, 1);
                }
                return;
            }
        }
        if let Some(handle) = known {
            self.update(handle, |it| it.handle_hello(now, proved));
        } else {
            self.insert(now, from, |birth| {
                Connection::accept(birth, version, client_id, params, proved)
            });
        }
    }

    /// A Data packet of `len` bytes for an id that is not in use: a stateless
    /// reset, if it is shorter, so that two endpoints never answer each other
    /// for ever (K5). An id in use from elsewhere gets no answer (H10).
    pub(super) fn handle_unknown(&mut self, from: SocketAddr, header: &Header<'_>, len: usize) {
        let id = header.id;
        add(&mut self.stats.unknown, 1);
        if len <= RESET_LEN || self.table.has_local(id) {
            return;
        }
        let token = self.keys.reset_token(id);
        if self.answer(from, header.version, Packet::Reset { id, token }) {
            add(&mut self.stats.resets_sent, 1);
        }
    }

    fn answer(&mut self, to: SocketAddr, version: u8, packet: Packet<'static>) -> bool {
        let room = self.answers.waiting.len() < MAX_ANSWERS;
        if room {
            self.answers.waiting.push_back((to, version, packet));
        } else {
            add(&mut self.stats.answers_dropped, 1);
        }
        room
    }
}
