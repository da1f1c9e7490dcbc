//! What a session keeps of its two directions, whatever connection carries them.
//!
//! A position counts bytes from the start of the session; the end of a direction counts as one
//! more, so that one number also says whether the end has arrived.

use std::collections::VecDeque;

/// The peer named a position that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Impossible;

/// What to hand to the connection next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Bytes,
    End,
    Nothing,
}

/// What the application wrote, as long as the peer's application has not read it.
#[derive(Debug)]
pub(super) struct Outgoing {
    kept: VecDeque<u8>,
    limit: usize,
    written: u64,
    finished: bool,
    /// Handed to the present connection up to here.
    sent: u64,
    /// The peer's application has read up to here.
    read: u64,
}

impl Outgoing {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            limit,
            written: 0,
            finished: false,
            sent: 0,
            read: 0,
        }
    }

    /// Takes what there is room for, and says how much.
    pub(super) fn write(&mut self, data: &[u8]) -> usize {
        let count = data.len().min(self.limit.saturating_sub(self.kept.len()));
        self.kept.extend(&data[..count]);
        self.written += count as u64;
        count
    }

    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The last position there is.
    fn last(&self) -> u64 {
        self.written + u64::from(self.finished)
    }

    /// Whether the peer's application has read everything, and the end if there is one.
    pub(super) fn is_read(&self) -> bool {
        self.read == self.last()
    }

    /// The bytes that the peer's application may not have read.
    pub(super) fn unread(&self) -> u64 {
        self.kept.len() as u64
    }

    /// Fills `chunk` with at most `most` bytes that the present connection does not have.
    pub(super) fn next(&mut self, chunk: &mut Vec<u8>, most: usize) -> Next {
        chunk.clear();
        if self.sent < self.written {
            let start = self.kept.len() - index(self.written - self.sent);
            let end = self.kept.len().min(start + most);
            chunk.extend(self.kept.range(start..end));
            self.sent += chunk.len() as u64;
            return Next::Bytes;
        }
        if self.sent < self.last() {
            self.sent = self.last();
            return Next::End;
        }
        Next::Nothing
    }

    /// The peer's application has read up to `position`; an older word changes nothing.
    pub(super) fn handle_read(&mut self, position: u64) -> Result<(), Impossible> {
        if position > self.sent {
            return Err(Impossible);
        }
        if position > self.read {
            self.read = position;
            let left = index(self.written.saturating_sub(position));
            self.kept.drain(..self.kept.len() - left);
        }
        Ok(())
    }

    /// A new connection goes on from `received`, up to which the peer has everything. Says how
    /// many bytes were handed to the one before in vain.
    pub(super) fn resume(&mut self, received: u64) -> Result<u64, Impossible> {
        if received < self.read || received > self.sent {
            return Err(Impossible);
        }
        let bytes = |position: u64| position.min(self.written); // the end is none
        let replayed = bytes(self.sent) - bytes(received);
        self.sent = received;
        Ok(replayed)
    }
}

/// What arrived and the application has not read yet.
#[derive(Debug)]
pub(super) struct Incoming {
    ready: VecDeque<u8>,
    limit: usize,
    received: u64,
    read: u64,
    /// What the peer was told of `read` on the present connection.
    told: u64,
    /// The position after the end, once the end has arrived.
    end: Option<u64>,
    /// Nobody reads any more: what arrives counts as read.
    discards: bool,
}

impl Incoming {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            ready: VecDeque::new(),
            limit,
            received: 0,
            read: 0,
            told: 0,
            end: None,
            discards: false,
        }
    }

    /// Up to where everything has arrived.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.ready.len())
    }

    pub(super) fn handle_data(&mut self, data: &[u8]) -> Result<(), Impossible> {
        if self.end.is_some() {
            return Err(Impossible);
        }
        self.received += data.len() as u64;
        if self.discards {
            self.read = self.received;
        } else {
            self.ready.extend(data);
        }
        Ok(())
    }

    pub(super) fn handle_end(&mut self) {
        if self.end.is_none() {
            self.received += 1;
            self.end = Some(self.received);
        }
        if self.discards {
            self.read = self.received;
        }
    }

    /// Reads what is there; `Some(0)` is the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let count = buffer.len().min(self.ready.len());
        for (to, from) in buffer.iter_mut().zip(self.ready.drain(..count)) {
            *to = from;
        }
        self.read += count as u64;
        if count == 0 && !buffer.is_empty() {
            self.read = self.end?; // nothing more is there, ever
        }
        Some(count)
    }

    pub(super) fn discard(&mut self) {
        self.discards = true;
        self.ready.clear();
        self.read = self.received;
    }

    /// Whether the application has read the end.
    pub(super) fn is_read(&self) -> bool {
        self.end == Some(self.read)
    }

    /// How far the application has read, if the peer is to hear it: it waits for more, or a quarter
    /// of what may be on the way is read.
    pub(super) fn to_tell(&self) -> Option<u64> {
        let news = self.read - self.told;
        let much = news >= self.limit as u64 / 4;
        (news > 0 && (self.ready.is_empty() || much)).then_some(self.read)
    }

    pub(super) fn handle_told(&mut self, position: u64) {
        self.told = self.told.max(position);
    }

    /// Whether the peer was told that the end was read.
    pub(super) fn is_told(&self) -> bool {
        self.end == Some(self.told)
    }

    /// There is a new connection, on which nothing was told.
    pub(super) fn resume(&mut self) {
        self.told = 0;
    }
}

/// A count of bytes that are in memory.
fn index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("no more than is kept")
}

#[cfg(test)]
mod tests;
