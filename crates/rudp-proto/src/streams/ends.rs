//! How streams end, each half for itself or all together, and what that makes room for.

use super::Streams;
use super::control::Control;
use super::receiving::Unread;
use crate::StreamId;
use crate::receiver::RecvStream;
use crate::sender::SendStream;

impl Streams {
    /// Forgets the outgoing half if it is done.
    pub(super) fn settle_send(&mut self, id: StreamId) {
        if self.sends.get(&id).is_some_and(SendStream::is_done) {
            self.forget_send(id);
        }
    }

    pub(super) fn forget_send(&mut self, id: StreamId) {
        if let Some(stream) = self.sends.remove(&id) {
            self.sending.forget(id, &stream);
            self.news.forget_send(id);
            self.control.remove(&Control::Reset(id));
            self.settle(id);
        }
    }

    /// Forgets the incoming half if it is done.
    pub(super) fn settle_recv(&mut self, id: StreamId) {
        if self.recvs.get(&id).is_some_and(RecvStream::is_done) {
            self.forget_recv(id);
        }
    }

    pub(super) fn forget_recv(&mut self, id: StreamId) {
        if let Some(stream) = self.recvs.remove(&id) {
            self.unread.forget(id, &stream);
            self.news.forget_recv(id);
            self.control.remove(&Control::MaxStreamData(id));
            self.control.remove(&Control::Stop(id));
            self.settle(id);
        }
    }

    /// If both halves are gone, its opener may open another one (S3, S4).
    fn settle(&mut self, id: StreamId) {
        let kind = id.kind();
        if self.sends.contains_key(&id) || self.recvs.contains_key(&id) {
            return;
        }
        self.open = self.open.saturating_sub(1);
        if id.opener() == self.side {
            if self.own.get_mut(kind).end() {
                self.news.may_open(kind);
            }
        } else if self.peers.get_mut(kind).end() {
            self.tell(Control::MaxStreams(kind));
        }
    }

    /// The peer has closed: what it does not have, it does not want, and it is told nothing more.
    /// Who waits for it is to look (K3).
    pub(crate) fn handle_peer_closed(&mut self) {
        for (id, stream) in &mut self.sends {
            if core::mem::take(&mut stream.starved) {
                self.news.writable.set(*id, true);
            }
        }
        let streams = self.recvs.keys().filter(|id| !id.is_message());
        streams.for_each(|id| self.news.readable.set(*id, true));
        self.news.may_open |= self.own.bytes.is_awaited();
        self.news.message_room |= self.own.message.is_awaited() || self.news.message_refused;
        self.give_up_sending();
    }

    fn give_up_sending(&mut self) {
        self.is_peer_gone = true;
        self.sends.clear();
        self.open = self.recvs.len();
        self.control.clear();
        self.sending.clear();
    }

    /// Frees everything: nobody writes or reads any more.
    pub(crate) fn give_up(&mut self) {
        self.give_up_sending();
        self.recvs.clear();
        self.open = 0;
        self.unread = Unread::default();
        self.inbox.clear();
    }
}
