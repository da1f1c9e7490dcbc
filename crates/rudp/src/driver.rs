//! The task that owns the socket: datagrams in, timers, datagrams out, events.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rudp_proto::wire::LARGEST_DATAGRAM;
use tokio::{net::UdpSocket, time::sleep_until};

use crate::{
    socket,
    state::{Shared, State, TraceSink},
};

/// The most datagrams to take in, and to send, before the application gets
/// its turn with the shared state.
const BATCH: usize = 64;

pub(crate) struct Driver {
    pub(crate) socket: UdpSocket,
    pub(crate) peer: Option<SocketAddr>, // `Some`: the socket is connected to it
    pub(crate) shared: Arc<Shared>,
    pub(crate) on_trace: Option<TraceSink>,
    pub(crate) outgoing: Outgoing,
}

/// The datagram that is being sent.
#[derive(Default)]
pub(crate) struct Outgoing {
    datagram: Vec<u8>,
    to: Option<SocketAddr>, // `Some`: the system's buffer was full, try again
}

/// What a batch left to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    More,
    WaitForSystem,
}

impl Driver {
    /// Runs until it is aborted.
    pub(crate) async fn run(mut self) {
        loop {
            let (left, deadline) = self.turn();
            if left == Left::More {
                tokio::task::yield_now().await;
                continue;
            }
            let timer = async {
                match deadline {
                    Some(deadline) => sleep_until(self.shared.clock.at(deadline)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.readable() => {}
                _ = self.socket.writable(), if left == Left::WaitForSystem => {}
                () = self.shared.work.notified() => {}
                () = timer => {}
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

    /// Waits for something to receive. Only a connected socket has errors to tell.
    async fn readable(&self) -> io::Result<()> {
        match self.peer {
            Some(_) => socket::ready(&self.socket).await,
            None => self.socket.readable().await,
        }
    }

    fn receive(&self, state: &mut State, now: Duration) -> Left {
        // One byte more than allowed, so that a longer datagram shows.
        let mut datagram = [0; LARGEST_DATAGRAM + 1];
        for _ in 0..BATCH {
            let received = match self.peer {
                Some(peer) => {
                    socket::try_recv(&self.socket, &mut datagram).map(|length| (length, peer))
                }
                None => self.socket.try_recv_from(&mut datagram),
            };
            match received {
                Ok((length, from)) => {
                    state
                        .core
                        .handle_datagram(now, from, None, &datagram[..length]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Left::Nothing,
                Err(error) => self.handle_error(state, now, &error),
            }
        }
        Left::More
    }

    fn transmit(&mut self, state: &mut State, now: Duration) -> Left {
        for _ in 0..BATCH {
            let waiting = self.outgoing.to.take();
            let next = waiting.or_else(|| {
                let datagram = &mut self.outgoing.datagram;
                state
                    .core
                    .poll_transmit(now, 1, datagram)
                    .map(|sent| sent.to)
            });
            let Some(to) = next else { return Left::Nothing };
            let datagram = &self.outgoing.datagram;
            let sent = match self.peer {
                Some(_) => self.socket.try_send(datagram),
                None => self.socket.try_send_to(datagram, to),
            };
            match sent {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.outgoing.to = Some(to);
                    return Left::WaitForSystem;
                }
                // The datagram is lost, which the protocol can bear.
                Err(error) => self.handle_error(state, now, &error),
            }
        }
        Left::More
    }

    /// An error of a UDP socket is news about some earlier datagram, not the
    /// end of the socket.
    fn handle_error(&self, state: &mut State, now: Duration, error: &io::Error) {
        match self.peer {
            Some(peer) if socket::is_unreachable(error) => {
                state.core.handle_unreachable(now, peer);
            }
            _ => tracing::debug!(%error, "socket"),
        }
    }
}
