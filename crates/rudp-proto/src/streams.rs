//! All streams and messages of a connection: their names, their two halves, and what the
//! application may ask of them.
//!
//! [`sending`] decides what leaves next, [`receiving`] takes what arrives, [`control`] tells the
//! peer of limits and ends, [`messages`] is about streams that are one message, and [`news`] is
//! what the application has to hear.

mod control;
mod ids;
mod messages;
mod news;
mod receiving;
mod sending;
mod window;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::time::Duration;

use crate::receiver::{Found, RecvStream};
use crate::sender::SendStream;
use crate::wire::Params;
use crate::{Config, OpenError, ReadError, Side, StreamId, StreamKind, WriteError};
use control::Control;
pub(crate) use control::Told;
use ids::{OwnIds, PeerIds, PerKind};
pub use messages::MAX_MESSAGE;
use news::News;
use sending::Sending;
pub(crate) use window::Window;

/// How large windows are at first, of a stream and of a connection; they grow (F7).
const STREAM_WINDOW: u64 = 512 << 10;
const CONNECTION_WINDOW: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Streams {
    side: Side,
    sends: BTreeMap<StreamId, SendStream>,
    recvs: BTreeMap<StreamId, RecvStream>,
    own: PerKind<OwnIds>,
    peers: PerKind<PeerIds>,
    sending: Sending,
    /// Of all streams together (F1).
    window: Window,
    /// How far the peer used it.
    received: u64,
    most_stream_window: u64,
    /// Separate pieces of all streams (F5).
    pieces: usize,
    /// The one stream that may keep memory for much while it has nothing to read (F5).
    roomy: Option<StreamId>,
    /// Messages that are whole, in the order in which they became so.
    inbox: VecDeque<StreamId>,
    control: BTreeSet<Control>,
    /// The peer has closed: it is told nothing more.
    is_peer_gone: bool,
    /// The application has closed: it says nothing on streams that the peer opens from now on.
    is_ending: bool,
    news: News,
}

impl Streams {
    pub(crate) fn new(now: Duration, side: Side, config: &Config) -> Self {
        let most = config.receive_window as u64;
        Self {
            side,
            sends: BTreeMap::new(),
            recvs: BTreeMap::new(),
            own: PerKind::default(),
            peers: PerKind {
                bytes: PeerIds::new(config.max_streams),
                message: PeerIds::new(config.max_messages),
            },
            sending: Sending::new(config.send_buffer),
            window: Window::new(now, CONNECTION_WINDOW, most),
            received: 0,
            most_stream_window: most.min(config.stream_window as u64),
            pieces: 0,
            roomy: None,
            inbox: VecDeque::new(),
            control: BTreeSet::new(),
            is_peer_gone: false,
            is_ending: false,
            news: News::default(),
        }
    }

    /// The limits that the peer is told first: of all streams, of each, of their numbers.
    pub(crate) fn first_limits(&self) -> (u64, u64, u64, u64) {
        let stream = self.stream_window(Duration::ZERO).limit();
        let [streams, messages] = [&self.peers.bytes, &self.peers.message].map(PeerIds::limit);
        (self.window.limit(), stream, streams, messages)
    }

    fn stream_window(&self, now: Duration) -> Window {
        Window::new(now, STREAM_WINDOW, self.most_stream_window)
    }

    /// The peer is known, and its first limits.
    pub(crate) fn handle_params(&mut self, params: &Params) {
        self.handle_max_streams(StreamKind::Bytes, params.streams);
        self.handle_max_streams(StreamKind::Message, params.messages);
        self.sending.handle_params(params);
        for (id, stream) in &mut self.sends {
            if !id.is_message() {
                stream.handle_limit(params.stream_window);
            }
            self.sending.line_up(*id, stream);
        }
    }

    /// How many streams and messages are not over.
    pub(crate) fn len(&self) -> usize {
        let one_way = |id: &&StreamId| !self.sends.contains_key(id);
        let received = self.recvs.keys().filter(one_way).count();
        self.sends.len().saturating_add(received)
    }

    pub(crate) fn open(&mut self, now: Duration) -> Result<StreamId, OpenError> {
        let Some(index) = self.own.bytes.open() else {
            return Err(OpenError::TooMany);
        };
        let id = StreamId::new(self.side, StreamKind::Bytes, index);
        self.begin(now, id);
        Ok(id)
    }

    /// Both halves of a stream.
    fn begin(&mut self, now: Duration, id: StreamId) {
        if !self.is_ending {
            let limit = self.sending.stream_limit();
            self.sends.insert(id, SendStream::new(id, limit));
        }
        let window = self.stream_window(now);
        self.recvs.insert(id, RecvStream::new(window));
    }

    /// The next stream that the peer opened and the application does not know yet.
    pub(crate) fn accept(&mut self) -> Option<StreamId> {
        let index = self.peers.bytes.accept()?;
        Some(StreamId::new(self.side.other(), StreamKind::Bytes, index))
    }

    /// Whether the stream was ever opened.
    fn has_begun(&self, id: StreamId) -> bool {
        if id.opener() == self.side {
            id.index() < self.own.get(id.kind()).opened()
        } else {
            id.index() < self.peers.get(id.kind()).opened()
        }
    }

    fn writable(&mut self, id: StreamId) -> Result<&mut SendStream, WriteError> {
        if id.is_message() || !self.has_begun(id) {
            return Err(WriteError::NoStream);
        }
        let stream = self.sends.get_mut(&id).ok_or(WriteError::Finished)?;
        match stream.stopped() {
            Some(code) => Err(WriteError::Stopped(code)),
            None if stream.is_finished() => Err(WriteError::Finished),
            None => Ok(stream),
        }
    }

    pub(crate) fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        let free = self.sending.free();
        let stream = self.writable(id)?;
        // As much as is left to the others (F6).
        let room = free.saturating_sub(stream.buffered()) / 2;
        let taken = stream.write(data, room);
        self.sending.handle_written(taken);
        self.handle_change(id);
        Ok(taken)
    }

    pub(crate) fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        let finished = match self.writable(id) {
            Ok(stream) => {
                stream.finish();
                Ok(())
            }
            Err(WriteError::Stopped(code)) => {
                self.sends
                    .get_mut(&id)
                    .into_iter()
                    .for_each(SendStream::finish);
                Err(WriteError::Stopped(code))
            }
            Err(error) => Err(error),
        };
        self.handle_change(id);
        self.settle_send(id);
        finished
    }

    /// Every outgoing half ends after what was written; where the peer opened the stream and
    /// nothing was, the CLOSE says enough (K3).
    pub(crate) fn finish_all(&mut self) {
        self.is_ending = true;
        let side = self.side;
        self.sends
            .retain(|id, stream| id.opener() == side || !stream.is_untouched());
        for (id, stream) in &mut self.sends {
            stream.finish();
            self.sending.line_up(*id, stream);
            self.sending.note_starved(*id, stream);
        }
        let done = self.sends.iter().filter(|(_, stream)| stream.is_done());
        let done: VecDeque<StreamId> = done.map(|(id, _)| *id).collect();
        done.into_iter().for_each(|id| self.settle_send(id));
    }

    /// Whether the peer has all that was written and not given up.
    pub(crate) fn is_delivered(&self) -> bool {
        self.sends.is_empty()
    }

    pub(crate) fn is_acknowledged(&mut self, id: StreamId) -> Result<bool, WriteError> {
        let own = id.opener() == self.side || !id.is_message();
        if !own || !self.has_begun(id) {
            return Err(WriteError::NoStream);
        }
        match self.sends.get_mut(&id) {
            Some(stream) => stream.is_acknowledged(),
            None => Ok(true), // it is over
        }
    }

    pub(crate) fn reset(&mut self, id: StreamId, code: u64, stopped: bool) {
        let Some(stream) = self.sends.get_mut(&id) else {
            return;
        };
        self.sending.forget_bytes(id, stream);
        stream.reset(code, stopped);
        self.sending.note_starved(id, stream);
        if stream.reset_to_tell().is_some() {
            self.tell(Control::Reset(id));
        }
        self.settle_send(id);
    }

    pub(crate) fn read(
        &mut self,
        id: StreamId,
        buf: &mut [u8],
    ) -> Result<Option<usize>, ReadError> {
        if id.is_message() || !self.has_begun(id) {
            return Err(ReadError::NoStream);
        }
        let Some(stream) = self.recvs.get_mut(&id) else {
            return Ok(Some(0)); // it was read to its end, or stopped
        };
        match stream.read(buf) {
            Found::Bytes(count) => {
                let due = stream.window.consume(count as u64) && stream.needs_window();
                if stream.is_roomy() && self.roomy != Some(id) {
                    let before = self.roomy.replace(id);
                    let before = before.and_then(|id| self.recvs.get_mut(&id));
                    before.into_iter().for_each(RecvStream::tighten);
                }
                if due {
                    self.tell(Control::MaxStreamData(id));
                }
                self.consume(count as u64);
                Ok(Some(count))
            }
            Found::Nothing => Ok(None),
            Found::End => {
                self.settle_recv(id);
                Ok(Some(0))
            }
            Found::Reset(code) => {
                self.settle_recv(id);
                Err(ReadError::Reset(code))
            }
        }
    }

    pub(crate) fn stop(&mut self, id: StreamId, code: u64) {
        let Some(stream) = self.recvs.get_mut(&id).filter(|_| !id.is_message()) else {
            return;
        };
        self.pieces = self.pieces.saturating_sub(stream.pieces());
        let unread = stream.stop(code);
        self.control.remove(&Control::MaxStreamData(id));
        if stream.stop_to_tell().is_some() {
            self.tell(Control::Stop(id));
        }
        self.consume(unread);
        self.settle_recv(id);
    }

    /// The window of a stream is so large: that of the connection is half as large again (F7).
    fn follow(&mut self, size: u64) {
        let grows = self.window.grow(size.saturating_add(size / 2));
        if grows {
            self.tell(Control::MaxData);
        }
    }

    /// So many more bytes are read, or nobody will read them: the peer may send as many more.
    fn consume(&mut self, bytes: u64) {
        if self.window.consume(bytes) || self.window.is_tight(self.received) {
            self.tell(Control::MaxData);
        }
    }

    /// Whether the application has read all that can still be read.
    pub(crate) fn is_drained(&self) -> bool {
        let mut recvs = self.recvs.iter();
        self.inbox.is_empty() && !recvs.any(|(id, it)| !id.is_message() && it.is_readable())
    }

    /// Forgets the outgoing half if it is done.
    fn settle_send(&mut self, id: StreamId) {
        if self.sends.get(&id).is_some_and(SendStream::is_done)
            && let Some(stream) = self.sends.remove(&id)
        {
            self.sending.forget(id, &stream);
            self.news.forget_send(id, &stream);
            self.control.remove(&Control::Reset(id));
            self.settle(id);
        }
    }

    /// Forgets the incoming half if it is done.
    fn settle_recv(&mut self, id: StreamId) {
        if self.recvs.get(&id).is_some_and(RecvStream::is_done) {
            self.forget_recv(id);
        }
    }

    fn forget_recv(&mut self, id: StreamId) {
        if let Some(stream) = self.recvs.remove(&id) {
            self.pieces = self.pieces.saturating_sub(stream.pieces());
            self.news.forget_recv(id, &stream);
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
                self.news.writable(*id, stream);
            }
        }
        for (id, stream) in &mut self.recvs {
            if !id.is_message() {
                self.news.readable(*id, stream);
            }
        }
        self.news.may_open |= self.own.bytes.is_awaited();
        self.news.message_room |= self.own.message.is_awaited() || self.news.message_refused;
        self.give_up_sending();
    }

    fn give_up_sending(&mut self) {
        self.is_peer_gone = true;
        self.sends.clear();
        self.control.clear();
        self.sending.clear();
    }

    /// Frees everything: nobody writes or reads any more.
    pub(crate) fn give_up(&mut self) {
        self.give_up_sending();
        self.recvs.clear();
        self.inbox.clear();
    }
}
