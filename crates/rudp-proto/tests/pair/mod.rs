//! Two endpoints, a link each way, and virtual time.
#![allow(dead_code, reason = "each test program uses its part")]

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use netsim::{Link, LinkConfig};
use rudp_proto::wire::{Frame, Packet};
use rudp_proto::{CloseReason, Config, Connection, Endpoint, Event, Handle, Secrets, Trace};

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) fn client_addr() -> SocketAddr {
    "10.0.0.1:1000".parse().expect("an address")
}

pub(crate) fn server_addr() -> SocketAddr {
    "10.0.0.2:2000".parse().expect("an address")
}

/// A link of 20 ms one way and nothing else.
pub(crate) fn clean() -> LinkConfig {
    LinkConfig {
        delay: ms(20),
        ..LinkConfig::PERFECT
    }
}

pub(crate) fn endpoint(config: Config, seed: u8) -> Endpoint {
    let secrets = Secrets {
        reset_key: [seed; 32],
        seed: [seed; 32],
    };
    Endpoint::new(config, secrets).expect("a valid config")
}

/// One host: it reads what it can, and writes what it was given.
pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    /// Every event, with the time at which it was fetched; `Readable` and
    /// `Writable` are acted on instead, if `reads`.
    pub(crate) events: Vec<(Duration, Handle, Event)>,
    pub(crate) traces: Vec<Trace>,
    pub(crate) received: BTreeMap<Handle, Vec<u8>>,
    pub(crate) ended: Vec<Handle>,
    pub(crate) reads: bool,
    /// How often there was room again.
    pub(crate) writable: u32,
    to_write: Vec<u8>,
    written: usize,
}

impl Host {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            events: Vec::new(),
            traces: Vec::new(),
            received: BTreeMap::new(),
            ended: Vec::new(),
            reads: true,
            writable: 0,
            to_write: Vec::new(),
            written: 0,
        }
    }

    pub(crate) fn conn(&mut self, handle: Handle) -> &mut Connection {
        self.endpoint
            .connection_mut(handle)
            .expect("the connection lives")
    }

    /// The newest connection that an event told of.
    pub(crate) fn handle(&self) -> Handle {
        self.events.last().expect("something happened").1
    }

    pub(crate) fn bytes(&self, handle: Handle) -> &[u8] {
        self.received.get(&handle).map_or(&[], Vec::as_slice)
    }

    /// Writes `data` as room allows, then finishes the stream.
    pub(crate) fn send_all(&mut self, handle: Handle, data: &[u8]) {
        self.to_write = data.to_vec();
        self.written = 0;
        self.push(handle);
    }

    fn push(&mut self, handle: Handle) {
        if self.to_write.is_empty() {
            return;
        }
        let data = std::mem::take(&mut self.to_write);
        let rest = &data[self.written..];
        let Ok(written) = self.conn(handle).write(rest) else {
            return; // the peer closed
        };
        self.written += written;
        if self.written == data.len() {
            self.conn(handle).finish().expect("the stream is open");
        } else {
            self.to_write = data;
        }
    }

    pub(crate) fn read_all(&mut self, handle: Handle) {
        let mut buf = [0; 4096];
        while let Some(connection) = self.endpoint.connection_mut(handle) {
            match connection.read(&mut buf) {
                Ok(Some(0)) => {
                    self.ended.push(handle);
                    break;
                }
                Ok(Some(n)) => {
                    self.received
                        .entry(handle)
                        .or_default()
                        .extend_from_slice(&buf[..n]);
                }
                Ok(None) | Err(_) => break,
            }
        }
    }

    fn drain_events(&mut self, now: Duration) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                Event::Readable if self.reads => self.read_all(handle),
                Event::Writable => {
                    self.writable += 1;
                    self.push(handle);
                }
                Event::Trace(trace) => self.traces.push(trace),
                event => self.events.push((now, handle, event)),
            }
        }
    }

    pub(crate) fn closed(&self) -> Vec<&CloseReason> {
        let events = self.events.iter();
        events
            .filter_map(|(_, _, event)| match event {
                Event::Closed(reason) => Some(reason),
                _ => None,
            })
            .collect()
    }
}

/// A datagram that a host sent: when, by whom, and its fate under the test's eye.
pub(crate) type Filter = Box<dyn FnMut(Duration, bool, &[u8]) -> bool>;

pub(crate) struct Pair {
    pub(crate) now: Duration,
    pub(crate) client: Host,
    pub(crate) server: Host,
    pub(crate) up: Link,
    pub(crate) down: Link,
    /// Decides which datagrams enter the link: (when, from the client, bytes).
    pub(crate) lets_pass: Filter,
    /// Everything sent: (when, from the client, bytes).
    pub(crate) log: Vec<(Duration, bool, Vec<u8>)>,
}

impl Pair {
    pub(crate) fn new(config: Config, link: LinkConfig) -> Self {
        Self::with(config, config, link)
    }

    pub(crate) fn with(client: Config, server: Config, link: LinkConfig) -> Self {
        let mut server = endpoint(server, 2);
        server.listen(true);
        Self {
            now: Duration::ZERO,
            client: Host::new(endpoint(client, 1)),
            server: Host::new(server),
            up: Link::new(link.clone(), 11).expect("a valid link"),
            down: Link::new(link, 12).expect("a valid link"),
            lets_pass: Box::new(|_, _, _| true),
            log: Vec::new(),
        }
    }

    pub(crate) fn connect(&mut self) -> Handle {
        let connected = self.client.endpoint.connect(self.now, server_addr());
        connected.expect("there is room")
    }

    /// Connects, and runs until both sides know.
    pub(crate) fn connected(config: Config, link: LinkConfig) -> (Self, Handle, Handle) {
        let mut pair = Self::new(config, link);
        let client = pair.connect();
        for _ in 0..60 {
            pair.run_for(secs(1));
            if pair.client.conn(client).is_established() {
                break;
            }
        }
        let server = pair.server.handle();
        (pair, client, server)
    }

    /// Moves datagrams and events until nothing more happens at this instant.
    pub(crate) fn settle(&mut self) {
        let mut datagram = Vec::new();
        for (host, from_client) in [(&mut self.client, true), (&mut self.server, false)] {
            let link = if from_client {
                &mut self.up
            } else {
                &mut self.down
            };
            loop {
                host.drain_events(self.now);
                let Some(to) = host.endpoint.poll_transmit(self.now, &mut datagram) else {
                    break;
                };
                let expected = if from_client {
                    server_addr()
                } else {
                    client_addr()
                };
                self.log.push((self.now, from_client, datagram.clone()));
                if to == expected && (self.lets_pass)(self.now, from_client, &datagram) {
                    link.handle_packet(self.now, datagram.clone());
                }
            }
            host.drain_events(self.now);
        }
    }

    /// The next instant at which anything happens.
    pub(crate) fn next(&self) -> Option<Duration> {
        let endpoints = [&self.client, &self.server].map(|host| host.endpoint.poll_timeout());
        let links = [&self.up, &self.down].map(Link::poll_timeout);
        endpoints.into_iter().chain(links).flatten().min()
    }

    pub(crate) fn run_until(&mut self, until: Duration) {
        self.settle();
        while let Some(next) = self.next().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            while let Some(datagram) = self.up.poll_packet(self.now) {
                self.server
                    .endpoint
                    .handle_datagram(self.now, client_addr(), &datagram);
                self.settle();
            }
            while let Some(datagram) = self.down.poll_packet(self.now) {
                self.client
                    .endpoint
                    .handle_datagram(self.now, server_addr(), &datagram);
                self.settle();
            }
            self.client.endpoint.handle_timeout(self.now);
            self.server.endpoint.handle_timeout(self.now);
            self.settle();
            for host in [&self.client, &self.server] {
                let next = host.endpoint.poll_timeout();
                assert!(
                    next.is_none_or(|next| next > self.now),
                    "a wait of no length"
                );
            }
        }
        self.now = until;
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Every datagram that a side sent, decoded, with its time.
    pub(crate) fn sent(&self, from_client: bool) -> Vec<(Duration, Packet<'_>)> {
        let own = (self.log.iter()).filter(|(_, client, _)| *client == from_client);
        own.map(|(at, _, bytes)| (*at, Packet::decode(bytes).expect("well formed")))
            .collect()
    }

    /// Every frame that a side sent, with its time and packet number.
    pub(crate) fn frames(&self, from_client: bool) -> Vec<(Duration, u64, Frame<'_>)> {
        let mut all = Vec::new();
        for (at, packet) in self.sent(from_client) {
            if let Packet::Data { number, frames, .. } = packet {
                all.extend(frames.into_iter().map(|frame| (at, number, frame)));
            }
        }
        all
    }

    /// The id by which one side is addressed: the newest the other side used.
    pub(crate) fn id_of(&self, server: bool) -> u64 {
        let to = |(_, packet): &(_, Packet<'_>)| match packet {
            Packet::Data { to, .. } => Some(*to),
            _ => None,
        };
        let sent = self.sent(server);
        sent.iter()
            .rev()
            .find_map(to)
            .expect("a Data packet was sent")
    }

    /// Hands one side a packet that its peer never made.
    pub(crate) fn inject(&mut self, to_server: bool, number: u64, frames: Vec<Frame<'_>>) {
        let to = self.id_of(to_server);
        self.deliver(to_server, &Packet::Data { to, number, frames });
    }

    pub(crate) fn deliver(&mut self, to_server: bool, packet: &Packet<'_>) {
        let mut datagram = Vec::new();
        packet.encode(&mut datagram);
        let (host, from) = if to_server {
            (&mut self.server, client_addr())
        } else {
            (&mut self.client, server_addr())
        };
        host.endpoint.handle_datagram(self.now, from, &datagram);
        self.settle();
    }
}

/// Bytes that show where they belong.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (i.wrapping_mul(31) ^ (i >> 8)) as u8)
        .collect()
}
