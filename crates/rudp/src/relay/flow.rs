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
use rudp_proto::{Ecn, wire};

use super::{BATCH, RelayConfig, RelayCounters, SOCKET_BUFFER, with_headers};
use crate::socket::{BatchSocket, Inbox, is_unreachable};

/// A client's way to the target and back.
pub(super) struct Flow {
    upstream: Arc<BatchSocket>,
    to: SocketAddr,
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
            Link::new(with_headers(config, to), seed)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
        };
        let upstream = Arc::new(BatchSocket::connect(to, SOCKET_BUFFER, false)?);
        Ok(Self {
            readable: readable(upstream.clone()),
            upstream,
            to,
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
    pub(super) fn handle_client(&mut self, now: Duration, ecn: Option<Ecn>, datagram: &[u8]) {
        self.active_at = now;
        self.there
            .handle_ecn_packet(now, datagram.to_vec(), field(ecn));
    }

    /// Takes what the target sent, and the kernel's reports that it is not there.
    pub(super) fn receive(&mut self, now: Duration, inbox: &mut Inbox) {
        for _ in 0..BATCH {
            match self.upstream.try_recv(inbox) {
                Ok(()) => {
                    self.active_at = now;
                    for (_, ecn, datagram) in inbox.datagrams() {
                        self.back
                            .handle_ecn_packet(now, datagram.to_vec(), field(ecn));
                    }
                }
                Err(error) if is_unreachable(&error) => self.handle_unreachable(now),
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
        while let Some((datagram, ecn)) = self.there.poll_ecn_packet(now) {
            let mut sent = self.upstream.send_now(self.to, mark(ecn), &datagram);
            if sent.as_ref().is_err_and(is_unreachable) {
                // The report is about an earlier datagram; this one has not been sent yet.
                self.handle_unreachable(now);
                sent = self.upstream.send_now(self.to, mark(ecn), &datagram);
            }
            self.not_sent += u64::from(sent.is_err());
            self.latest = datagram;
        }
    }

    /// Sends the client what is due.
    pub(super) fn deliver_back(&mut self, now: Duration, listening: &BatchSocket, to: SocketAddr) {
        while let Some((datagram, ecn)) = self.back.poll_ecn_packet(now) {
            let sent = listening.send_now(to, mark(ecn), &datagram);
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

fn readable(socket: Arc<BatchSocket>) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
    Box::pin(async move { socket.readable().await })
}

/// What a link takes for the ECN field of a datagram.
fn field(ecn: Option<Ecn>) -> netsim::Ecn {
    match ecn {
        None => netsim::Ecn::NotCapable,
        Some(Ecn::Ect0) => netsim::Ecn::Capable0,
        Some(Ecn::Ect1) => netsim::Ecn::Capable1,
        Some(Ecn::Ce) => netsim::Ecn::Marked,
    }
}

fn mark(field: netsim::Ecn) -> Option<Ecn> {
    match field {
        netsim::Ecn::NotCapable => None,
        netsim::Ecn::Capable0 => Some(Ecn::Ect0),
        netsim::Ecn::Capable1 => Some(Ecn::Ect1),
        netsim::Ecn::Marked => Some(Ecn::Ce),
    }
}
