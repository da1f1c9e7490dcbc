//! A session: what the application's handle and the task that carries it share.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use tokio::sync::Notify;

use super::{
    ResumeError,
    event::{Resuming, Teller},
    positions::{Impossible, Incoming, Next, Outgoing},
};

/// The name of a session: 128 random bits that the client draws.
pub(super) type SessionId = [u8; 16];

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) teller: Teller,
    state: Mutex<State>,
    pub(super) to_send: Notify,    // the application wrote, or finished
    pub(super) to_receive: Notify, // there is room for what arrives
    pub(super) to_tell: Notify,    // the application read
    changed: Notify,               // something that others wait for
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Why it ended before its time.
    error: Option<ResumeError>,
    /// The application dropped its handle.
    dropped: bool,
    connections: u64,
}

impl Session {
    pub(super) fn new(id: SessionId, buffer: usize, teller: Teller) -> Self {
        let buffer = buffer.max(1); // with room for nothing, nothing would ever move
        let state = State {
            outgoing: Outgoing::new(buffer),
            incoming: Incoming::new(buffer),
            reader: None,
            writer: None,
            error: None,
            dropped: false,
            connections: 0,
        };
        Self {
            id,
            teller,
            state: Mutex::new(state),
            to_send: Notify::new(),
            to_receive: Notify::new(),
            to_tell: Notify::new(),
            changed: Notify::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` finds something.
    pub(super) async fn until<T>(&self, mut found: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable(); // before looking, so that no change is missed
            if let Some(found) = found(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    // What the application does.

    pub(super) fn poll_read(
        &self,
        cx: &Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize, ResumeError>> {
        let mut state = self.lock();
        if let Some(count) = state.incoming.read(buffer) {
            drop(state);
            self.to_receive.notify_one();
            self.to_tell.notify_one();
            self.changed.notify_waiters();
            return Poll::Ready(Ok(count));
        }
        match &state.error {
            Some(error) => Poll::Ready(Err(error.clone())),
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    pub(super) fn poll_write(
        &self,
        cx: &Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, ResumeError>> {
        let mut state = self.lock();
        if let Some(error) = &state.error {
            return Poll::Ready(Err(error.clone()));
        }
        if state.outgoing.is_finished() {
            return Poll::Ready(Err(ResumeError::Finished));
        }
        match state.outgoing.write(data) {
            0 if !data.is_empty() => {
                state.writer = Some(cx.waker().clone());
                Poll::Pending
            }
            count => {
                drop(state);
                self.to_send.notify_one();
                Poll::Ready(Ok(count))
            }
        }
    }

    pub(super) fn finish(&self) {
        self.lock().outgoing.finish();
        self.to_send.notify_one();
    }

    /// The application's handle is gone.
    pub(super) fn handle_drop(&self) {
        let mut state = self.lock();
        state.dropped = true;
        state.incoming.discard();
        drop(state);
        self.to_receive.notify_one();
        self.to_tell.notify_one();
        self.changed.notify_waiters();
    }

    // What the carrying task does.

    /// A new connection goes on where the peer is.
    pub(super) fn resume(&self, received: u64) -> Result<Resuming, Impossible> {
        let mut state = self.lock();
        let replayed = state.outgoing.resume(received)?;
        state.incoming.resume();
        state.connections += 1;
        Ok(Resuming::Carried {
            connections: state.connections,
            replayed,
        })
    }

    pub(super) fn next(&self, chunk: &mut Vec<u8>, most: usize) -> Next {
        self.lock().outgoing.next(chunk, most)
    }

    /// Data of the peer, or without any its end.
    pub(super) fn handle_data(&self, data: &[u8]) -> Result<(), Impossible> {
        let mut state = self.lock();
        match data {
            [] => state.incoming.handle_end(),
            data => state.incoming.handle_data(data)?,
        }
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        self.to_tell.notify_one(); // if it is discarded
        Ok(())
    }

    /// The peer's application has read so far.
    pub(super) fn handle_read(&self, position: u64) -> Result<(), Impossible> {
        let mut state = self.lock();
        state.outgoing.handle_read(position)?;
        let writer = state.writer.take();
        drop(state);
        writer.into_iter().for_each(Waker::wake);
        self.changed.notify_waiters();
        Ok(())
    }

    pub(super) fn handle_told(&self, position: u64) {
        self.lock().incoming.handle_told(position);
        self.changed.notify_waiters();
    }

    /// It ends here; the first reason counts.
    pub(super) fn fail(&self, error: ResumeError) {
        let mut state = self.lock();
        state.error.get_or_insert(error);
        let waiting = [state.reader.take(), state.writer.take()];
        drop(state);
        waiting.into_iter().flatten().for_each(Waker::wake);
        self.changed.notify_waiters();
    }
}

impl State {
    /// Whether both applications have read everything, as far as this side knows.
    pub(super) fn is_over(&self) -> bool {
        self.outgoing.is_finished() && self.outgoing.is_read() && self.incoming.is_read()
    }

    /// Whether the peer knows that, too.
    pub(super) fn is_complete(&self) -> bool {
        self.is_over() && self.incoming.is_told()
    }

    /// Whether the application is gone and nothing that it finished is left to be read, though the
    /// peer may go on.
    pub(super) fn is_abandoned(&self) -> bool {
        let nothing_left = !self.outgoing.is_finished() || self.outgoing.is_read();
        self.dropped && nothing_left && !self.is_over()
    }

    pub(super) fn error(&self) -> Option<&ResumeError> {
        self.error.as_ref()
    }

    pub(super) fn connections(&self) -> u64 {
        self.connections
    }
}
