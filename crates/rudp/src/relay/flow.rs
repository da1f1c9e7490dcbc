//! One client of the relay.

use std::{
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use netsim::Link;
use rudp_proto::wire;
use socket2::SockRef;
use tokio::net::UdpSocket;

use super::{BATCH, RelayConfig, RelayCounters, SOCKET_BUFFER};
use crate::socket;

/// A client's way to the target and back.
pub(super) struct Flow {
    upstream: Arc<UdpSocket>,
    /// Completes when the socket has something to receive; made anew after that.
    readable: Pin<Box<dyn Future<Output = io::Result<()>> + Send>>,
    pub(super) there: Link,
    pub(super) back: Link,
    /// The last datagram sent to the target: a port-unreachable report is about it.
    latest: Vec<u8>,
    active_at: Duration,
    unreachable: u64,
    not_sent: u64,
}

impl Flow {
    /// Opens the flow's own socket, connected to the target.
    pub(super) fn connect(
        to: SocketAddr,
        config: &RelayConfig,
        seed: u64,
        now: Duration,
    ) -> io::Result<Self> {
        let link = |config: &netsim::LinkConfig, seed| {
            Link::new(config.clone(), seed)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
        };
        let upstream = Arc::new(socket::connect(to, SOCKET_BUFFER)?);
        Ok(Self {
            readable: readable(upstream.clone()),
            upstream,
            there: link(&config.there, seed)?,
            back: link(&config.back, seed.wrapping_add(1))?,
            latest: Vec::new(),
            active_at: now,
            unreachable: 0,
            not_sent: 0,
        })
    }

    /// Ready when the target has sent something, or the kernel reports that it is not there.
    pub(super) fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let ready = self.readable.as_mut().poll(cx).map(drop);
        if ready.is_ready() {
            self.readable = readable(self.upstream.clone());
        }
        ready
    }

    pub(super) fn black_out(&mut self, now: Duration, until: Duration) {
        self.there.black_out(now, until);
        self.back.black_out(now, until);
    }

    /// The client sent something.
    pub(super) fn handle_client(&mut self, now: Duration, datagram: Vec<u8>) {
        self.active_at = now;
        self.there.handle_packet(now, datagram);
    }

    /// Takes what the target sent, and the kernel's reports that it is not there.
    pub(super) fn receive(&mut self, now: Duration, buffer: &mut [u8]) {
        for _ in 0..BATCH {
            match socket::try_recv(&self.upstream, buffer) {
                Ok(length) => {
                    self.active_at = now;
                    self.back.handle_packet(now, buffer[..length].to_vec());
                }
                Err(error) if socket::is_unreachable(&error) => self.handle_unreachable(now),
                Err(_) => break, // nothing there, or a fault that only this client sees
            }
        }
    }

    /// The target's port is closed: tells the client, over the same bad link as everything else.
    fn handle_unreachable(&mut self, now: Duration) {
        if let Some(notice) = wire::unreachable_notice(&self.latest) {
            self.unreachable += 1;
            self.back.handle_packet(now, notice);
        }
    }

    /// Sends the target what is due.
    pub(super) fn deliver_there(&mut self, now: Duration) {
        while let Some(datagram) = self.there.poll_packet(now) {
            let mut sent = send(&self.upstream, &datagram);
            if sent.as_ref().is_err_and(socket::is_unreachable) {
                // The report is about an earlier datagram; this one has not been sent yet.
                self.handle_unreachable(now);
                sent = send(&self.upstream, &datagram);
            }
            self.not_sent += u64::from(sent.is_err());
            self.latest = datagram;
        }
    }

    /// Sends the client what is due.
    pub(super) fn deliver_back(&mut self, now: Duration, listening: &UdpSocket, to: SocketAddr) {
        while let Some(datagram) = self.back.poll_packet(now) {
            let sent = SockRef::from(listening).send_to(&datagram, &to.into());
            self.not_sent += u64::from(sent.is_err());
        }
    }

    /// When the flow has been idle for too long.
    pub(super) fn idle_at(&self, idle_timeout: Duration) -> Duration {
        self.active_at.saturating_add(idle_timeout)
    }

    /// When the flow wants to be looked at next.
    pub(super) fn deadline(&self, idle_timeout: Duration) -> Duration {
        let links = [self.there.poll_timeout(), self.back.poll_timeout()];
        let next = links.into_iter().flatten().min();
        let idle_at = self.idle_at(idle_timeout);
        next.map_or(idle_at, |next| next.min(idle_at))
    }

    /// Adds what happened in this flow to a relay's counters.
    pub(super) fn add_to(&self, total: &mut RelayCounters) {
        total.there += self.there.counters();
        total.back += self.back.counters();
        total.unreachable += self.unreachable;
        total.not_sent += self.not_sent;
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("upstream", &self.upstream)
            .field("there", &self.there)
            .field("back", &self.back)
            .finish_non_exhaustive()
    }
}

fn readable(socket: Arc<UdpSocket>) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
    Box::pin(async move { socket::ready(&socket).await })
}

/// Sends at once or not at all. Past tokio's own notion of readiness, which is "no" for a new socket.
fn send(socket: &UdpSocket, datagram: &[u8]) -> io::Result<usize> {
    SockRef::from(socket).send(datagram)
}
