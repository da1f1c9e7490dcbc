//! The task that owns the socket: datagrams in, timers, datagrams out, events.

use std::{io, pin::pin, sync::Arc, time::Duration};

use rudp_proto::Transmit;
use tokio::{
    task::yield_now,
    time::{Sleep, sleep_until},
};

use crate::{
    socket::{BatchSocket, Inbox, is_too_large, is_unreachable},
    state::{Shared, State, TraceSink},
};

/// The most batches of datagrams to send before the application gets its turn with the shared
/// state. What one system call receives is as much.
const BATCHES: usize = 4;

pub(crate) struct Driver {
    socket: BatchSocket,
    shared: Arc<Shared>,
    on_trace: Option<TraceSink>,
    inbox: Inbox,
    outbox: Outbox,
}

/// The datagrams that are being sent.
#[derive(Default)]
struct Outbox {
    datagrams: Vec<u8>,
    waiting: Option<Transmit>, // the system's buffer was full, try again
}

/// What a turn left to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    More,
    WaitForSystem,
}

impl Driver {
    pub(crate) fn new(
        socket: BatchSocket,
        shared: Arc<Shared>,
        on_trace: Option<TraceSink>,
    ) -> Self {
        Self {
            socket,
            shared,
            on_trace,
            inbox: Inbox::new(),
            outbox: Outbox::default(),
        }
    }

    /// Runs until it is aborted.
    pub(crate) async fn run(mut self) {
        let mut timer = pin!(sleep_until(self.shared.clock.at(Duration::ZERO)));
        loop {
            let (left, deadline) = self.turn();
            if left == Left::More {
                yield_now().await;
                continue;
            }
            if let Some(deadline) = deadline {
                let at = self.shared.clock.at(deadline);
                if timer.deadline() != at {
                    Sleep::reset(timer.as_mut(), at);
                }
            }
            let waits = left == Left::WaitForSystem;
            tokio::select! {
                _ = self.socket.readable() => {}
                _ = self.socket.writable(), if waits => {}
                () = self.shared.work.notified() => {}
                // What is due cannot leave while the system's buffer is full.
                () = &mut timer, if deadline.is_some() && !waits => {}
            }
        }
    }

    fn turn(&mut self) -> (Left, Option<Duration>) {
        let now = self.shared.clock.now();
        let shared = self.shared.clone();
        let mut state = shared.lock();
        let received = self.receive(&mut state, now);
        state.core.handle_timeout(now);
        let sent = self.transmit(&mut state, now);
        let deferred = shared.dispatch(&mut state);
        let deadline = state.core.poll_timeout();
        let idle = state.is_empty() && deadline.is_none() && sent == Left::Nothing;
        drop(state);

        shared
            .idle
            .send_if_modified(|was| std::mem::replace(was, idle) != idle);
        deferred
            .accepted
            .into_iter()
            .for_each(|connection| shared.accept(connection));
        for (handle, trace) in deferred.traces {
            tracing::trace!(?handle, ?trace);
            if let Some(sink) = &self.on_trace {
                sink(handle, trace);
            }
        }
        let left = if received == Left::More {
            received
        } else {
            sent
        };
        (left, deadline)
    }

    fn receive(&mut self, state: &mut State, now: Duration) -> Left {
        match self.socket.try_recv(&mut self.inbox) {
            Ok(()) => {
                for (from, ecn, datagram) in self.inbox.datagrams() {
                    state.core.handle_datagram(now, from, ecn, datagram);
                }
                Left::More
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Left::Nothing,
            Err(error) => {
                self.handle_error(state, now, &error);
                Left::More
            }
        }
    }

    fn transmit(&mut self, state: &mut State, now: Duration) -> Left {
        for _ in 0..BATCHES {
            let Outbox { datagrams, waiting } = &mut self.outbox;
            let most = self.socket.max_segments();
            let next = waiting
                .take()
                .or_else(|| state.core.poll_transmit(now, most, datagrams));
            let Some(transmit) = next else {
                return Left::Nothing;
            };
            match self.socket.try_send(&transmit, datagrams) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    *waiting = next;
                    return Left::WaitForSystem;
                }
                Err(error) if is_too_large(&error) => {
                    let size = transmit.segment_size;
                    state.core.handle_too_large(transmit.to, size); // (U5)
                }
                // The datagrams are lost, which the protocol can bear.
                Err(error) => self.handle_error(state, now, &error),
            }
        }
        Left::More
    }

    /// An error of a UDP socket is news about some earlier datagram, not the
    /// end of the socket.
    fn handle_error(&self, state: &mut State, now: Duration, error: &io::Error) {
        match self.socket.peer() {
            Some(peer) if is_unreachable(error) => {
                state.core.handle_unreachable(now, peer);
            }
            _ => tracing::debug!(%error, "socket"),
        }
    }
}

/// The runtime has ended, or a trace sink has panicked: whoever waits for something hears of it.
impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.end();
    }
}
