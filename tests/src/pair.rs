//! Two `rudp-proto` endpoints, a link each way, and virtual time.

mod host;
mod single;

use std::{net::SocketAddr, time::Duration};

use netsim::{Link, LinkConfig};
use rudp_proto::{
    Config, Ecn, Endpoint, Handle, Secrets,
    wire::{Frame, Packet},
};

use crate::{
    datagrams::{Decoder, encoded},
    time::{ms, s},
};
pub use host::{Host, own_end};
pub use single::{CLIENTS, SERVERS, SingleStream, first};

/// Steps at one instant after which the two are taken to spin.
const MOST_STEPS_AT_ONCE: u32 = 1_000_000;

/// Where the client of a [`Pair`] is.
#[must_use]
pub fn client_addr() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 1_000))
}

/// Where its server is.
#[must_use]
pub fn server_addr() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 2_000))
}

/// A link of 20 ms one way and nothing else.
#[must_use]
pub fn clean() -> LinkConfig {
    LinkConfig {
        delay: ms(20),
        ..LinkConfig::PERFECT
    }
}

/// An endpoint whose secrets are all `seed`.
///
/// # Panics
///
/// If the settings are refused.
#[must_use]
pub fn endpoint(config: Config, seed: u8) -> Endpoint {
    let secrets = Secrets {
        reset_key: [seed; 32],
        seed: [seed; 32],
    };
    Endpoint::new(config, secrets).expect("a valid config")
}

/// Bytes that show where they belong.
#[must_use]
pub fn pattern(len: usize) -> Vec<u8> {
    let byte = |i: usize| i.wrapping_mul(31) ^ (i >> 8);
    (0..len).map(|i| byte(i).to_le_bytes()[0]).collect()
}

pub(crate) fn to_link(ecn: Option<Ecn>) -> netsim::Ecn {
    match ecn {
        None => netsim::Ecn::NotCapable,
        Some(Ecn::Ect0) => netsim::Ecn::Capable0,
        Some(Ecn::Ect1) => netsim::Ecn::Capable1,
        Some(Ecn::Ce) => netsim::Ecn::Marked,
    }
}

pub(crate) fn from_link(ecn: netsim::Ecn) -> Option<Ecn> {
    match ecn {
        netsim::Ecn::NotCapable => None,
        netsim::Ecn::Capable0 => Some(Ecn::Ect0),
        netsim::Ecn::Capable1 => Some(Ecn::Ect1),
        netsim::Ecn::Marked => Some(Ecn::Ce),
    }
}

/// Says of a datagram whether it enters the link: when, whether the client sent it, its bytes.
pub type Filter = Box<dyn FnMut(Duration, bool, &[u8]) -> bool>;

/// A client and a server, and what lies between them.
#[expect(missing_debug_implementations, reason = "a filter shows nothing")]
pub struct Pair {
    /// The clock of both.
    pub now: Duration,
    /// Who connects.
    pub client: Host,
    /// Who listens.
    pub server: Host,
    /// From the client to the server.
    pub up: Link,
    /// From the server to the client.
    pub down: Link,
    /// At first, everything passes.
    pub lets_pass: Filter,
    /// Whether what is sent with an ECN field passes; at first, it does.
    pub lets_pass_ecn: bool,
    /// Everything sent: when, whether the client sent it, its bytes.
    pub log: Vec<(Duration, bool, Vec<u8>)>,
    steps_at_once: u32,
    timers_ran: bool,
}

impl Pair {
    /// Two endpoints of the same settings and two links of the same kind.
    #[must_use]
    pub fn new(config: Config, link: LinkConfig) -> Self {
        Self::with(config, config, link)
    }

    /// The same with settings for each endpoint.
    ///
    /// # Panics
    ///
    /// If settings are refused.
    #[must_use]
    pub fn with(client: Config, server: Config, link: LinkConfig) -> Self {
        let links = [(link.clone(), 11), (link, 12)];
        let [up, down] = links.map(|(link, seed)| Link::new(link, seed).expect("a valid link"));
        Self::of(endpoint(client, 1), endpoint(server, 2), up, down)
    }

    /// Of given parts; the server listens from now on.
    #[must_use]
    pub fn of(client: Endpoint, mut server: Endpoint, up: Link, down: Link) -> Self {
        server.listen(true);
        Self {
            now: Duration::ZERO,
            client: Host::new(client),
            server: Host::new(server),
            up,
            down,
            lets_pass: Box::new(|_, _, _| true),
            lets_pass_ecn: true,
            log: Vec::new(),
            steps_at_once: 0,
            timers_ran: false,
        }
    }

    /// Begins a connection.
    ///
    /// # Panics
    ///
    /// If the client has too many of them.
    pub fn connect(&mut self) -> Handle {
        let connected = self.client.endpoint.connect(self.now, server_addr());
        connected.expect("there is room")
    }

    /// Connects, and runs until both sides know: the pair, the client's handle, the server's.
    ///
    /// # Panics
    ///
    /// If they do not get there.
    #[must_use]
    pub fn connected(config: Config, link: LinkConfig) -> (Self, Handle, Handle) {
        let mut pair = Self::new(config, link);
        let client = pair.connect();
        for _ in 0..60 {
            pair.run_for(s(1));
            if pair.client.conn(client).is_established() {
                break;
            }
        }
        let server = pair.server.handle();
        (pair, client, server)
    }

    /// The client or the server.
    #[must_use]
    pub const fn host(&self, client: bool) -> &Host {
        if client { &self.client } else { &self.server }
    }

    /// The client or the server, to act on.
    pub const fn host_mut(&mut self, client: bool) -> &mut Host {
        if client {
            &mut self.client
        } else {
            &mut self.server
        }
    }

    /// Lets both hosts act and send until they have nothing more to do at this instant.
    ///
    /// # Panics
    ///
    /// If a wait has no length: after the timers ran, one of them is still due.
    pub fn settle(&mut self) {
        let mut datagram = Vec::new();
        for (from_client, peer) in [(true, server_addr()), (false, client_addr())] {
            let (host, link) = if from_client {
                (&mut self.client, &mut self.up)
            } else {
                (&mut self.server, &mut self.down)
            };
            host.handle_events(self.now);
            while let Some(sent) = host.endpoint.poll_transmit(self.now, 1, &mut datagram) {
                assert_eq!(sent.to, peer, "sent to a stranger");
                self.log.push((self.now, from_client, datagram.clone()));
                let ecn_passes = self.lets_pass_ecn || sent.ecn.is_none();
                if (self.lets_pass)(self.now, from_client, &datagram) && ecn_passes {
                    link.handle_ecn_packet(self.now, datagram.clone(), to_link(sent.ecn));
                }
                host.handle_events(self.now);
            }
        }
        if std::mem::take(&mut self.timers_ran) {
            let now = self.now;
            let next = self.next_timer();
            assert!(next.is_none_or(|next| next > now), "a wait of no length");
        }
    }

    /// The next instant at which a timer runs out.
    fn next_timer(&self) -> Option<Duration> {
        let timers = [&self.client, &self.server].map(|host| host.endpoint.poll_timeout());
        timers.into_iter().flatten().min()
    }

    /// The next instant at which anything happens.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        let links = [&self.up, &self.down].map(Link::poll_timeout);
        let links = links.into_iter().flatten();
        links.chain(self.next_timer()).min()
    }

    /// Moves the clock to the next instant, if it is not after `until`, and lets one datagram
    /// arrive there or, if there is none, the timers run; says whether anything was due.
    /// [`settle`](Self::settle) is to follow.
    ///
    /// # Panics
    ///
    /// If there is no end of it at one instant.
    pub fn advance(&mut self, until: Duration) -> bool {
        let Some(next) = self.next().filter(|next| *next <= until) else {
            return false;
        };
        let moves = next > self.now;
        self.steps_at_once = if moves { 0 } else { self.steps_at_once + 1 };
        assert!(
            self.steps_at_once < MOST_STEPS_AT_ONCE,
            "spins at {:?}",
            self.now
        );
        self.now = self.now.max(next);
        let now = self.now;
        if let Some((datagram, ecn)) = self.up.poll_ecn_packet(now) {
            let server = &mut self.server.endpoint;
            server.handle_datagram(now, client_addr(), from_link(ecn), &datagram);
        } else if let Some((datagram, ecn)) = self.down.poll_ecn_packet(now) {
            let client = &mut self.client.endpoint;
            client.handle_datagram(now, server_addr(), from_link(ecn), &datagram);
        } else {
            self.client.endpoint.handle_timeout(now);
            self.server.endpoint.handle_timeout(now);
            self.timers_ran = true;
        }
        true
    }

    /// Lets happen what happens until then, and moves the clock there.
    pub fn run_until(&mut self, until: Duration) {
        self.settle();
        while self.advance(until) {
            self.settle();
        }
        self.now = until;
    }

    /// The same for a time from now.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Every datagram that a side sent, decoded, with its time.
    ///
    /// # Panics
    ///
    /// If one cannot be decoded.
    #[must_use]
    pub fn sent(&self, from_client: bool) -> Vec<(Duration, Packet<'_>)> {
        let own = (self.log.iter()).filter(|(_, client, _)| *client == from_client);
        let mut decoder = Decoder::default();
        own.map(|(at, _, bytes)| (*at, decoder.decode(bytes).expect("well formed")))
            .collect()
    }

    /// Every frame that a side sent, with its time and packet number.
    #[must_use]
    pub fn frames(&self, from_client: bool) -> Vec<(Duration, u64, Frame<'_>)> {
        let mut all = Vec::new();
        for (at, packet) in self.sent(from_client) {
            if let Packet::Data { number, frames, .. } = packet {
                all.extend(frames.into_iter().map(|frame| (at, number, frame)));
            }
        }
        all
    }

    /// The id by which one side is addressed: the newest the other side used.
    ///
    /// # Panics
    ///
    /// If the other side sent no Data packet.
    #[must_use]
    pub fn id_of(&self, server: bool) -> u64 {
        let to = |(_, packet): &(_, Packet<'_>)| match packet {
            Packet::Data { to, .. } => Some(*to),
            _ => None,
        };
        let sent = self.sent(server);
        let newest = sent.iter().rev().find_map(to);
        newest.expect("a Data packet was sent")
    }

    /// Hands one side a Data packet that its peer never made.
    pub fn inject(&mut self, to_server: bool, number: u64, frames: Vec<Frame<'_>>) {
        let to = self.id_of(to_server);
        self.deliver(to_server, &Packet::Data { to, number, frames });
    }

    /// Hands one side any packet, as if its peer had made it.
    pub fn deliver(&mut self, to_server: bool, packet: &Packet<'_>) {
        let from = if to_server {
            client_addr()
        } else {
            server_addr()
        };
        let now = self.now;
        let endpoint = &mut self.host_mut(!to_server).endpoint;
        endpoint.handle_datagram(now, from, None, &encoded(packet));
        self.settle();
    }
}
