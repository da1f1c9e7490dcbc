//! What the peer has to hear about streams beside their bytes: limits and early ends.

use alloc::vec::Vec;
use core::time::Duration;

use super::Streams;
use crate::wire::Frame;
use crate::{StreamId, StreamKind};

/// Something to tell; with which value, is seen when it leaves.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Control {
    MaxData,
    MaxStreams(StreamKind),
    Reset(StreamId),
    Stop(StreamId),
    MaxStreamData(StreamId),
}

/// What a packet told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    what: Control,
    /// The limit; of no meaning otherwise.
    limit: u64,
}

impl Streams {
    pub(super) fn tell(&mut self, control: Control) {
        if !self.is_peer_gone {
            self.control.insert(control);
        }
    }

    pub(crate) fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Appends the next control frame.
    pub(crate) fn poll_control(
        &mut self,
        now: Duration,
        rtt: Option<Duration>,
        out: &mut Vec<u8>,
    ) -> Option<Told> {
        while let Some(what) = self.control.pop_first() {
            let Some(frame) = self.frame(what, now, rtt) else {
                continue;
            };
            frame.encode(out);
            let limit = match frame {
                Frame::MaxData(limit) | Frame::MaxStreamData { limit, .. } => limit,
                Frame::MaxStreams { count, .. } => count,
                _ => 0,
            };
            return Some(Told { what, limit });
        }
        None
    }

    fn frame(
        &mut self,
        what: Control,
        now: Duration,
        rtt: Option<Duration>,
    ) -> Option<Frame<'static>> {
        Some(match what {
            Control::MaxData => Frame::MaxData(self.window.renew(now, rtt)),
            Control::MaxStreams(kind) => Frame::MaxStreams {
                kind,
                count: self.peers.get_mut(kind).renew(),
            },
            Control::Reset(id) => {
                let (code, size) = self.sends.get(&id)?.reset_to_tell()?;
                Frame::ResetStream { id, code, size }
            }
            Control::Stop(id) => {
                let code = self.recvs.get(&id)?.stop_to_tell()?;
                Frame::StopSending { id, code }
            }
            Control::MaxStreamData(id) => {
                let stream = self.recvs.get_mut(&id)?;
                let limit = stream.window.renew(now, rtt);
                let size = stream.window.size();
                self.follow(size);
                Frame::MaxStreamData { id, limit }
            }
        })
    }

    pub(crate) fn handle_told(&mut self, Told { what, limit }: Told) {
        match what {
            Control::MaxData => self.window.handle_acked(limit),
            Control::MaxStreams(kind) => self.peers.get_mut(kind).handle_acked(limit),
            Control::Reset(id) => {
                if let Some(stream) = self.sends.get_mut(&id) {
                    stream.handle_reset_acked();
                    self.settle_send(id);
                }
            }
            Control::Stop(_) => {}
            Control::MaxStreamData(id) => {
                if let Some(stream) = self.recvs.get_mut(&id) {
                    stream.window.handle_acked(limit);
                }
            }
        }
    }

    /// The packet that told it is lost: it goes out again, with today's value (F3).
    pub(crate) fn handle_told_lost(&mut self, told: Told) {
        if self.needs_telling(told) {
            self.tell(told.what);
        }
    }

    /// Whether the peer may still not know, and nothing newer makes up for it.
    pub(crate) fn needs_telling(&self, Told { what, limit }: Told) -> bool {
        match what {
            Control::MaxData => self.window.needs(limit),
            Control::MaxStreams(kind) => self.peers.get(kind).needs(limit),
            Control::Reset(id) => {
                let stream = self.sends.get(&id);
                stream.is_some_and(|stream| stream.reset_to_tell().is_some())
            }
            Control::Stop(id) => {
                let stream = self.recvs.get(&id);
                stream.is_some_and(|stream| stream.stop_to_tell().is_some())
            }
            Control::MaxStreamData(id) => {
                let stream = self.recvs.get(&id);
                stream.is_some_and(|it| it.needs_window() && it.window.needs(limit))
            }
        }
    }
}
