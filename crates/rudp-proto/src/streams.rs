//! All streams and messages of a connection: their names, their two halves, and what the
//! application may ask of them.
//!
//! [`writing`] and [`reading`] are what the application does, [`sending`] decides what leaves next,
//! [`receiving`] takes what arrives, [`control`] tells the peer of limits and ends, [`messages`] is
//! about streams that are one message, [`ends`] forgets what is over, and [`news`] is what the
//! application has to hear.

mod control;
mod ends;
mod ids;
mod messages;
mod news;
mod reading;
mod receiving;
mod sending;
#[cfg(test)]
mod tests;
mod window;
mod writing;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::time::Duration;

use crate::receiver::RecvStream;
use crate::sender::SendStream;
use crate::wire::Params;
use crate::{Config, OpenError, Side, StreamId, StreamKind};
use control::Control;
pub(crate) use control::Told;
use ids::{OwnIds, PeerIds, PerKind};
pub use messages::MAX_MESSAGE;
use news::News;
use receiving::Unread;
use sending::Sending;
pub(crate) use window::Window;

/// How large windows are at first, of a stream and of a connection; they grow (F7).
const STREAM_WINDOW: u64 = 2 << 20;
const CONNECTION_WINDOW: u64 = 3 << 20;

#[derive(Debug)]
pub(crate) struct Streams {
    side: Side,
    sends: BTreeMap<StreamId, SendStream>,
    recvs: BTreeMap<StreamId, RecvStream>,
    /// How many streams and messages have a half that is not over.
    open: usize,
    own: PerKind<OwnIds>,
    peers: PerKind<PeerIds>,
    sending: Sending,
    /// Of all streams together (F1).
    window: Window,
    /// How far the peer used it.
    received: u64,
    most_stream_window: u64,
    /// Of all streams together.
    unread: Unread,
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
            open: 0,
            own: PerKind::default(),
            peers: PerKind {
                bytes: PeerIds::new(config.max_streams),
                message: PeerIds::new(config.max_messages),
            },
            sending: Sending::new(config.send_buffer),
            window: Window::new(now, CONNECTION_WINDOW, most),
            received: 0,
            most_stream_window: most.min(config.stream_window as u64),
            unread: Unread::default(),
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
        self.open
    }

    pub(crate) fn open(&mut self, now: Duration) -> Result<StreamId, OpenError> {
        let Some(index) = self.own.bytes.open() else {
            return Err(OpenError::TooMany);
        };
        let id = StreamId::new(self.side, StreamKind::Bytes, index);
        self.begin(now, id);
        Ok(id)
    }

    /// Both halves of a stream, or the one that a message has here (M1).
    fn begin(&mut self, now: Duration, id: StreamId) {
        let is_own = id.opener() == self.side;
        let (sends, limit, receives, window) = match id.kind() {
            StreamKind::Bytes => {
                let (limit, window) = (self.sending.stream_limit(), self.stream_window(now));
                (!self.is_ending, limit, true, window)
            }
            StreamKind::Message => {
                let most = MAX_MESSAGE as u64; // (M2)
                (is_own, most, !is_own, Window::new(now, most, most))
            }
        };
        if sends {
            self.sends.insert(id, SendStream::new(id, limit));
        }
        if receives {
            self.recvs.insert(id, RecvStream::new(window));
        }
        self.open = self.open.saturating_add(1);
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
}
