//! The task that owns the socket: datagrams in, timers, datagrams out, events.

use std::{io, pin::pin, sync::Arc, task::Waker, time::Duration};

use rudp_proto::Transmit;
use tokio::{
    task::yield_now,
    time::{Sleep, sleep_until},
};

use crate::{
    socket::{BatchSocket, Inbox, is_too_large, is_unreachable},
    state::{Deferred, Shared, State, TraceSink},
};

/// The most batches of datagrams to send before other tasks get their turn.
const BATCHES: usize = 4;

pub(crate) struct Driver {
    socket: BatchSocket,
    shared: Arc<Shared>,
    on_trace: Option<TraceSink>,
    inbox: Inbox,
    outbox: Outbox,
    deferred: Deferred,
}

/// The datagrams that are being sent.
#[derive(Default)]
struct Outbox {
    datagrams: Vec<u8>,
    waiting: Option<Transmit>, // the system's buffer was full, try again
}

impl Outbox {
    fn fill(&mut self, state: &mut State, now: Duration, most: usize) -> Option<Transmit> {
        let again = self.waiting.take();
        again.or_else(|| state.core.poll_transmit(now, most, &mut self.datagrams))
    }
}

/// What a turn left to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    MoreToSend,
    More, // once other tasks, which may have been woken, had their turn
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
            deferred: Deferred::default(),
        }
    }

    /// Runs until it is aborted.
    pub(crate) async fn run(mut self) {
        let mut timer = pin!(sleep_until(self.shared.clock.at(Duration::ZERO)));
        loop {
            let (left, deadline) = self.turns();
            if matches!(left, Left::MoreToSend | Left::More) {
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

    fn turns(&mut self) -> (Left, Option<Duration>) {
        for _ in 1..BATCHES {
            let (left, deadline) = self.turn();
            if left != Left::MoreToSend {
                return (left, deadline);
            }
        }
        self.turn()
    }

    /// Receives a batch of datagrams, does what is due, and sends a batch. Neither the system nor who
    /// is woken finds the state locked.
    fn turn(&mut self) -> (Left, Option<Duration>) {
        let now = self.shared.clock.now();
        let received = self.socket.try_recv(&mut self.inbox);
        let shared = self.shared.clone();
        let mut state = shared.lock();
        let received = self.handle_received(&mut state, now, received);
        state.core.handle_timeout(now);
        let next = self
            .outbox
            .fill(&mut state, now, self.socket.max_segments());
        shared.dispatch(&mut state, &mut self.deferred);
        let deadline = state.core.poll_timeout();
        let idle = state.is_empty() && deadline.is_none() && next.is_none();
        drop(state);

        let sent = next.map_or(Left::Nothing, |transmit| self.send(now, transmit));
        shared
            .idle
            .send_if_modified(|was| std::mem::replace(was, idle) != idle);
        self.pass_on();
        let left = if received == Left::More {
            received
        } else {
            sent
        };
        (left, deadline)
    }

    fn handle_received(&self, state: &mut State, now: Duration, received: io::Result<()>) -> Left {
        match received {
            Ok(()) => {
                for (from, ecn, datagram) in self.inbox.datagrams() {
                    state.core.handle_datagram(now, from, ecn, datagram);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Left::Nothing,
            Err(error) => self.handle_error(state, now, &error),
        }
        Left::More
    }

    fn send(&mut self, now: Duration, transmit: Transmit) -> Left {
        match self.socket.try_send(&transmit, &self.outbox.datagrams) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.outbox.waiting = Some(transmit);
                return Left::WaitForSystem;
            }
            Err(error) if is_too_large(&error) => {
                let size = transmit.segment_size;
                let mut state = self.shared.lock();
                state.core.handle_too_large(transmit.to, size); // (U5)
            }
            // The datagrams are lost, which the protocol can bear.
            Err(error) => self.handle_error(&mut self.shared.lock(), now, &error),
        }
        Left::MoreToSend
    }

    fn pass_on(&mut self) {
        let Deferred {
            woken,
            accepted,
            traces,
        } = &mut self.deferred;
        woken.drain(..).for_each(Waker::wake);
        for connection in accepted.drain(..) {
            self.shared.accept(connection);
        }
        for (handle, trace) in traces.drain(..) {
            tracing::trace!(?handle, ?trace);
            if let Some(sink) = &self.on_trace {
                sink(handle, trace);
            }
        }
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
