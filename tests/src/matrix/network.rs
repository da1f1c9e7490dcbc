//! Flows of the transport over one path in virtual time.
//!
//! A flow is a client, a server and what their applications do. All flows share a link each way,
//! so they compete for its bottleneck; each has hosts of its own.

use std::{net::SocketAddr, time::Duration};

use netsim::{Counters, Link, LinkConfig};
use rudp_proto::{Config, Connection, Ecn, Endpoint, Event, Handle, Secrets};

use super::late::Late;
use crate::{
    draws::splitmix64,
    pair::{from_link, to_link},
};

/// Bytes of IPv4 and UDP headers, which take their share of the bottleneck. Here each of them is
/// the number of the flow.
const HEADERS: usize = 20 + 8;

/// What the applications of a flow do at its two ends.
pub(super) trait Application {
    /// Acts after anything happened at the client's end; the connection is established.
    fn act_as_client(&mut self, now: Duration, connection: &mut Connection);
    /// The same at the server's end.
    fn act_as_server(&mut self, now: Duration, connection: &mut Connection);
    /// When the client wants to act next, whatever happens.
    fn wakes_at(&self) -> Option<Duration>;
    /// What the client's endpoint tells, but for beginning and end; most need not know.
    fn hear(&mut self, _event: Event) {}
}

/// One end of a flow.
struct Host {
    addr: SocketAddr,
    endpoint: Endpoint,
    handle: Option<Handle>,
    late: Option<Late>,
}

impl Host {
    fn new(addr: SocketAddr, config: Config, seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_be_bytes());
        let secrets = Secrets {
            reset_key: key,
            seed: key,
        };
        Self {
            addr,
            endpoint: Endpoint::new(config, secrets).expect("a valid config"),
            handle: None,
            late: None,
        }
    }

    /// When it wakes next, for its own timers or for `application`.
    fn wakes_at(&self, application: Option<Duration>) -> Option<Duration> {
        let decided = self.late.as_ref().and_then(|late| late.wakes_at);
        let timers = [self.endpoint.poll_timeout(), application];
        decided.or_else(|| timers.into_iter().flatten().min())
    }

    fn handle_time(&mut self, now: Duration, application: Option<Duration>) {
        let is_due = self.wakes_at(application).is_some_and(|at| at <= now);
        let Some(late) = &mut self.late else {
            self.endpoint.handle_timeout(now);
            return;
        };
        if is_due {
            late.rouse(now);
        }
        late.wake(now, &mut self.endpoint);
    }

    fn handle_datagram(
        &mut self,
        now: Duration,
        from: SocketAddr,
        ecn: Option<Ecn>,
        datagram: &[u8],
    ) {
        match &mut self.late {
            None => self.endpoint.handle_datagram(now, from, ecn, datagram),
            Some(late) => late.receive(now, from, ecn, datagram),
        }
    }

    fn is_awake(&self) -> bool {
        self.late.as_ref().is_none_or(|late| late.is_awake)
    }

    fn fall_asleep(&mut self) {
        if let Some(late) = &mut self.late {
            late.is_awake = false;
        }
    }

    fn handle_events(&mut self, mut hear: impl FnMut(Event)) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                Event::Connected => self.handle = Some(handle),
                Event::Closed(reason) => panic!("{}: {reason}", self.addr),
                other => hear(other),
            }
        }
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        self.endpoint.connection_mut(self.handle?)
    }
}

/// A client, a server and their applications.
pub(super) struct Flow<A> {
    client: Host,
    server: Host,
    pub(super) application: A,
}

impl<A: Application> Flow<A> {
    fn act(&mut self, now: Duration) {
        if self.client.is_awake() {
            self.client
                .handle_events(|event| self.application.hear(event));
            if let Some(connection) = self.client.connection() {
                self.application.act_as_client(now, connection);
            }
        }
        if self.server.is_awake() {
            self.server.handle_events(|_| {});
            if let Some(connection) = self.server.connection() {
                self.application.act_as_server(now, connection);
            }
        }
    }

    fn wakes_at(&self) -> Option<Duration> {
        let client = self.client.wakes_at(self.application.wakes_at());
        [client, self.server.wakes_at(None)]
            .into_iter()
            .flatten()
            .min()
    }

    fn handle_time(&mut self, now: Duration) {
        self.client.handle_time(now, self.application.wakes_at());
        self.server.handle_time(now, None);
    }

    /// The counters of the client's connection.
    pub(super) fn stats(&mut self) -> rudp_proto::Stats {
        let connection = self.client.connection();
        connection.expect("the connection lives").stats()
    }

    /// Datagrams that both endpoints dropped because something was wrong with them.
    pub(super) fn noticed(&self) -> u64 {
        let hosts = [&self.client, &self.server];
        let stats = hosts.map(|host| host.endpoint.stats());
        let noticed =
            stats.map(|it| it.corrupted + it.malformed + it.unknown_versions + it.unknown);
        noticed.iter().sum()
    }
}

/// The flows, and the links between them.
pub(super) struct Network<A> {
    now: Duration,
    /// From the clients to the servers.
    pub(super) up: Link,
    down: Link,
    pub(super) flows: Vec<Flow<A>>,
    datagram: Vec<u8>,
    /// Packets whose IP or UDP header arrived damaged.
    bad_headers: u64,
    /// Where hosts that wake late take their seeds from.
    late: Option<u64>,
}

impl<A: Application> Network<A> {
    /// A path of two such links; `seed` decides the fate of every packet.
    pub(super) fn new(link: &LinkConfig, seed: u64) -> Self {
        let link = |seed| Link::new(link.clone(), seed).expect("a valid link");
        Self {
            now: Duration::ZERO,
            up: link(2 * seed),
            down: link(2 * seed + 1),
            flows: Vec::new(),
            datagram: Vec::new(),
            bad_headers: 0,
            late: None,
        }
    }

    /// Hosts of flows that begin from now on wake late; the seed decides how late.
    pub(super) fn wake_late(&mut self, seed: u64) {
        self.late = Some(seed);
    }

    /// Begins a flow now.
    pub(super) fn connect(&mut self, config: Config, application: A) {
        let index = u8::try_from(self.flows.len()).expect("few flows");
        let addr = |network| SocketAddr::from(([10, 0, network, index], 4_000));
        let seed = u64::from(index);
        let mut client = Host::new(addr(1), config, seed);
        let mut server = Host::new(addr(2), config, !seed);
        if let Some(late) = &mut self.late {
            client.late = Some(Late::new(splitmix64(late)));
            server.late = Some(Late::new(splitmix64(late)));
        }
        server.endpoint.listen(true);
        let handle = client.endpoint.connect(self.now, server.addr);
        handle.expect("there is room");
        self.flows.push(Flow {
            client,
            server,
            application,
        });
        self.settle(usize::from(index));
    }

    /// Lets happen what happens until `done` or, at the latest, that time; answers when.
    pub(super) fn run_until(&mut self, until: Duration, done: impl Fn(&Self) -> bool) -> Duration {
        while !done(self) {
            let links = [self.up.poll_timeout(), self.down.poll_timeout()];
            let timers = self.flows.iter().map(Flow::wakes_at);
            let next = links.into_iter().chain(timers).flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.now = until;
                break;
            };
            self.now = self.now.max(next);
            self.step();
        }
        self.now
    }

    /// What happened to the packets of both directions.
    pub(super) fn counters(&self) -> Counters {
        let mut both = self.up.counters();
        both += self.down.counters();
        both
    }

    /// Datagrams that reached an endpoint with a bit flipped, of what has left and arrives until
    /// that time.
    pub(super) fn damaged(&mut self, until: Duration) -> u64 {
        let _ = self.run_until(until, |_| false);
        self.counters().corrupted - self.bad_headers
    }

    /// Lets one datagram arrive or, if there is none, the timers run.
    fn step(&mut self) {
        let now = self.now;
        let arrived = (self.up.poll_ecn_packet(now).map(|packet| (true, packet)))
            .or_else(|| self.down.poll_ecn_packet(now).map(|packet| (false, packet)));
        let Some((up, (packet, ecn))) = arrived else {
            for index in 0..self.flows.len() {
                self.flows[index].handle_time(now);
                self.settle(index);
            }
            return;
        };
        let (headers, datagram) = packet.split_at(HEADERS);
        let index = usize::from(headers[0]);
        if headers.iter().any(|byte| *byte != headers[0]) {
            self.bad_headers += 1; // their own checksums tell
            return;
        }
        let Flow { client, server, .. } = &mut self.flows[index];
        let (to, from) = if up {
            (server, client.addr)
        } else {
            (client, server.addr)
        };
        let ecn = from_link(ecn);
        to.handle_datagram(now, from, ecn, datagram);
        self.settle(index);
    }

    /// Lets the applications of a flow act and its hosts send.
    fn settle(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.act(self.now);
        for (host, link) in [
            (&mut flow.client, &mut self.up),
            (&mut flow.server, &mut self.down),
        ] {
            if !host.is_awake() {
                continue;
            }
            let datagram = &mut self.datagram;
            while let Some(sent) = host.endpoint.poll_transmit(self.now, 1, datagram) {
                let mut packet = Vec::with_capacity(HEADERS + datagram.len());
                packet.resize(HEADERS, u8::try_from(index).expect("few flows"));
                packet.extend_from_slice(datagram);
                link.handle_ecn_packet(self.now, packet, to_link(sent.ecn));
            }
            host.fall_asleep();
        }
    }
}
