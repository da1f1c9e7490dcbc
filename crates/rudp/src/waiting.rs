//! Who waits for what on a connection.

use std::{
    collections::HashMap,
    task::{Context, Waker},
};

use rudp_proto::StreamId;
use tokio::sync::{Notify, oneshot};

/// What concerns a connection as a whole. Any number of tasks may wait for it; each looks again.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    pub(crate) opened: Notify,           // the peer opened streams
    pub(crate) may_open: Notify,         // it lets this side open more
    pub(crate) message: Notify,          // messages arrived
    pub(crate) room_for_message: Notify, // one may be sent again
    pub(crate) answers: Notify,          // R1 was reached, or something acknowledged after it
}

impl Signals {
    pub(crate) fn all(&self) {
        self.opened.notify_waiters();
        self.may_open.notify_waiters();
        self.message.notify_waiters();
        self.room_for_message.notify_waiters();
        self.answers.notify_waiters();
    }
}

/// What became of what was sent on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Acknowledged,
    Stopped(u64),
    Expired,
}

/// Tasks that wait for a stream or a message: no more than there are handles of them.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) readers: OnePerStream,
    pub(crate) writers: OnePerStream,
    settled: HashMap<StreamId, Vec<oneshot::Sender<Settled>>>,
}

impl Waiting {
    /// Tells what becomes of the stream or message; gives up when the connection ends.
    pub(crate) fn settled(&mut self, id: StreamId) -> oneshot::Receiver<Settled> {
        let (tell, told) = oneshot::channel();
        let waiting = self.settled.entry(id).or_default();
        waiting.retain(|tell| !tell.is_closed());
        waiting.push(tell);
        told
    }

    pub(crate) fn settle(&mut self, id: StreamId, how: Settled) {
        for tell in self.settled.remove(&id).unwrap_or_default() {
            _ = tell.send(how); // an error: nobody waits any more
        }
    }

    /// The outgoing half was reset: nothing becomes of it.
    pub(crate) fn forget(&mut self, id: StreamId) {
        self.writers.forget(id);
        self.settled.remove(&id);
    }

    /// The handle of a finished half is gone: only who waits for acknowledgements stays.
    pub(crate) fn prune(&mut self, id: StreamId) {
        self.writers.forget(id);
        if let Some(waiting) = self.settled.get_mut(&id) {
            waiting.retain(|tell| !tell.is_closed());
            if waiting.is_empty() {
                self.settled.remove(&id);
            }
        }
    }
}

/// One task for each stream, the last that asked.
#[derive(Debug, Default)]
pub(crate) struct OnePerStream(HashMap<StreamId, Waker>);

impl OnePerStream {
    pub(crate) fn add(&mut self, id: StreamId, cx: &Context<'_>) {
        let waker = self.0.entry(id).or_insert_with(|| cx.waker().clone());
        waker.clone_from(cx.waker()); // does nothing if it wakes the same task
    }

    pub(crate) fn take(&mut self, id: StreamId) -> Option<Waker> {
        self.0.remove(&id)
    }

    pub(crate) fn wake_all(&mut self) {
        self.0.drain().for_each(|(_, waker)| waker.wake());
    }

    pub(crate) fn forget(&mut self, id: StreamId) {
        self.0.remove(&id);
    }
}
