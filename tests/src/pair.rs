//! Two `rudp-proto` endpoints and the links between them, in virtual time.
//!
//! A [`Pair`] carries one connection on which both sides send a known stream, and checks, at every
//! step and from the wire, what must hold whatever the links do:
//!
//! - every byte arrives once, in order, intact;
//! - a range sent again on a timeout was last sent at least one RTO ago (5-1);
//! - no wait has zero length: a deadline that was served moves on;
//! - buffers stay within their limits.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use netsim::{Link, LinkConfig};
use rudp_proto::{
    CloseReason, Config, Endpoint, Event, Handle, Lost, Secrets, Stats, Trace,
    wire::{Frame, Packet},
};

/// What to simulate; the same plan gives the same run to the byte.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seeds the links and the endpoints.
    pub seed: u64,
    /// From the client to the server.
    pub up: LinkConfig,
    /// From the server to the client.
    pub down: LinkConfig,
    /// Settings of both endpoints; traces are always on.
    pub config: Config,
    /// Bytes that the client sends.
    pub client_bytes: usize,
    /// Bytes that the server sends.
    pub server_bytes: usize,
    /// How long a side waits between two reads, and how much it reads then; `None` reads at once.
    pub slow_reader: Option<(Duration, usize)>,
    /// Whether the client, the server closes as soon as it has written and read everything, which
    /// must lose nothing. Without either, the client closes once everything has settled.
    pub close_early: [bool; 2],
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// From the first Hello to the last byte read on either side.
    pub transferred_at: Duration,
    /// Until nothing was left of the connection on either side.
    pub ended_at: Duration,
    /// The client's counters when the data was through.
    pub client: Stats,
    /// The server's.
    pub server: Stats,
    /// Data ranges sent again on a timeout and checked against (5-1).
    pub timer_retransmissions: u64,
    /// A hash over every datagram and its time.
    pub transcript: u64,
}

/// Steps at one instant after which the simulation is taken to spin.
const MOST_STEPS_AT_ONCE: u32 = 1_000_000;
/// Virtual time after which a run is taken to be stuck.
const MOST_TIME: Duration = Duration::from_secs(24 * 3600);

/// One connection under simulation.
#[derive(Debug)]
pub struct Pair {
    plan: Plan,
    now: Duration,
    sides: [Side; 2],
    /// Towards the client, towards the server: indexed by the receiving side.
    links: [Link; 2],
    transcript: DefaultHasher,
}

/// An endpoint with its application and the observer of its wire.
#[derive(Debug)]
struct Side {
    name: &'static str,
    address: SocketAddr,
    endpoint: Endpoint,
    handle: Option<Handle>,
    to_send: usize,
    written: usize,
    finished: bool,
    to_receive: usize,
    received: usize,
    at_end: bool,
    next_read: Duration,
    close_early: bool,
    closed: Option<CloseReason>,
    /// The counters when there was last something to count.
    stats: Stats,
    /// When each byte of the stream was last sent.
    last_sent: Vec<Duration>,
    /// The RTO that ran out at this instant, until its retransmission is seen.
    expired: Option<Duration>,
    timer_retransmissions: u64,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Runs the plan to its end.
///
/// # Panics
///
/// If anything that must hold does not; the message names the seed.
#[must_use]
pub fn run(plan: &Plan) -> Outcome {
    Pair::new(plan).run()
}

impl Pair {
    /// Both endpoints made, nothing sent.
    ///
    /// # Panics
    ///
    /// If the plan's settings are refused.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let side = |name, port: u16, to_send, to_receive| Side {
            name,
            close_early: plan.close_early[usize::from(port) - 1],
            stats: Stats::default(),
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            endpoint: Endpoint::new(
                Config {
                    trace: true,
                    ..plan.config
                },
                secrets(plan.seed ^ u64::from(port)),
            )
            .expect("the plan's config is valid"),
            handle: None,
            to_send,
            written: 0,
            finished: false,
            to_receive,
            received: 0,
            at_end: false,
            next_read: Duration::ZERO,
            closed: None,
            last_sent: Vec::new(),
            expired: None,
            timer_retransmissions: 0,
        };
        let link = |config: &LinkConfig, seed| {
            Link::new(config.clone(), seed).expect("the plan's link is valid")
        };
        let mut server = side("server", 2, plan.server_bytes, plan.client_bytes);
        server.endpoint.listen(true);
        Self {
            now: Duration::ZERO,
            sides: [
                side("client", 1, plan.client_bytes, plan.server_bytes),
                server,
            ],
            links: [
                link(&plan.down, plan.seed.wrapping_mul(2)),
                link(&plan.up, plan.seed.wrapping_mul(2).wrapping_add(1)),
            ],
            transcript: DefaultHasher::new(),
            plan: plan.clone(),
        }
    }

    fn run(mut self) -> Outcome {
        let server = self.sides[SERVER].address;
        let connected = self.sides[CLIENT].endpoint.connect(self.now, server);
        self.sides[CLIENT].handle = Some(connected.expect("the first connection fits"));

        self.drive("both streams through", |pair| {
            pair.sides.iter().all(Side::is_through)
        });
        let transferred_at = self.now;
        if self.plan.close_early == [false, false] {
            self.settle();
            self.sides[CLIENT].connection().close(0, "");
            self.sides[CLIENT].close_early = true;
        }
        self.drive("closed on both sides", |pair| {
            pair.sides.iter().all(|s| s.closed.is_some())
        });
        self.check_ends(transferred_at);
        let [client, server] = [CLIENT, SERVER].map(|side| self.sides[side].stats);
        // Lingering ends, and then nothing is left that could want to run.
        self.drive("no deadline left", |pair| {
            pair.sides
                .iter()
                .all(|side| side.endpoint.poll_timeout().is_none())
        });

        Outcome {
            transferred_at,
            ended_at: self.now,
            client,
            server,
            timer_retransmissions: self.sides.iter().map(|s| s.timer_retransmissions).sum(),
            transcript: self.transcript.finish(),
        }
    }

    /// Runs until all is acknowledged; from then on only the keepalive may want to run.
    fn settle(&mut self) {
        self.drive("everything acknowledged", |pair| {
            let quiet = pair.links.iter().all(|link| link.poll_timeout().is_none());
            quiet
                && pair.sides.iter().all(|side| {
                    side.connection_ref().unacknowledged() == 0 && side.stats().bytes_in_flight == 0
                })
        });
        let acks_due = self.now + self.plan.config.max_ack_delay;
        self.drive("the last delayed ACK", |pair| {
            pair.now >= acks_due || pair.is_idle()
        });
        let Some(keepalive) = self.plan.config.keepalive else {
            return;
        };
        for side in &self.sides {
            let deadline = side
                .endpoint
                .poll_timeout()
                .expect("the keepalive has a deadline");
            assert!(
                deadline >= acks_due && deadline <= self.now + keepalive,
                "{}: the idle {} wants to run at {deadline:?}",
                self.seed(),
                side.name
            );
        }
    }

    fn is_idle(&self) -> bool {
        let next = self.next_deadline();
        next.is_none_or(|next| next > self.now + self.plan.config.max_ack_delay)
    }

    /// Who closed hears of its own close, the other of its peer's; everything was acknowledged.
    fn check_ends(&self, transferred_at: Duration) {
        for side in &self.sides {
            let who = format!("{}: {}", self.seed(), side.name);
            let end = side.closed.as_ref().expect("it has ended");
            let by_peer = matches!(end, CloseReason::Peer { code: 0, reason } if reason.is_empty());
            // Four answers to its CLOSE lost in 1 + 2 + 4 + 8 s or more, then a Reset: all had
            // arrived, but it cannot know (K5, K7).
            let waited = self.now.saturating_sub(transferred_at);
            let unanswered =
                *end == CloseReason::Lost(Lost::Reset) && waited >= Duration::from_secs(15);
            let own = *end == CloseReason::Local || unanswered;
            let both = self.sides.iter().all(|side| side.close_early);
            let expected = (side.close_early && own) || (by_peer && (both || !side.close_early));
            assert!(expected, "{who}: {end}");
            let (sent, received) = (side.to_send as u64, side.to_receive as u64);
            assert_eq!(side.stats.stream_bytes_acked, sent, "{who}");
            assert_eq!(side.stats.stream_bytes_received, received, "{who}");
            assert!(side.stats.stream_bytes_sent >= sent, "{who}");
        }
    }

    /// Moves packets, events and time until `done`.
    fn drive(&mut self, goal: &str, done: impl Fn(&Self) -> bool) {
        let mut steps = 0;
        loop {
            while self.step() {
                steps += 1;
                assert!(
                    steps < MOST_STEPS_AT_ONCE,
                    "{}: spins before {goal}",
                    self.seed()
                );
            }
            if done(self) {
                return;
            }
            let next = self.next_deadline();
            let next =
                next.unwrap_or_else(|| panic!("{}: stuck before {goal}: {self:#?}", self.seed()));
            assert!(
                next > self.now,
                "{}: a wait of zero length at {:?} before {goal}",
                self.seed(),
                self.now
            );
            assert!(next < MOST_TIME, "{}: no end before {goal}", self.seed());
            self.now = next;
            steps = 0;
        }
    }

    fn next_deadline(&self) -> Option<Duration> {
        let ends = self
            .sides
            .iter()
            .filter_map(|side| side.next_deadline(self.now));
        ends.chain(self.links.iter().filter_map(Link::poll_timeout))
            .min()
    }

    /// Does what is due now; says whether anything was.
    fn step(&mut self) -> bool {
        let mut moved = false;
        for to in [CLIENT, SERVER] {
            while let Some(datagram) = self.links[to].poll_packet(self.now) {
                let from = self.sides[1 - to].address;
                self.sides[to]
                    .endpoint
                    .handle_datagram(self.now, from, &datagram);
                moved = true;
            }
            let side = &mut self.sides[to];
            if side
                .endpoint
                .poll_timeout()
                .is_some_and(|deadline| deadline <= self.now)
            {
                side.endpoint.handle_timeout(self.now);
                moved = true;
            }
            moved |= side.handle_events(self.now, self.plan.seed);
            moved |= side.run_application(self.now, &self.plan);
            side.check_limits(&self.plan);
            moved |= self.transmit(to);
        }
        moved
    }

    fn transmit(&mut self, from: usize) -> bool {
        let mut datagram = Vec::new();
        let mut moved = false;
        while let Some(address) = self.sides[from]
            .endpoint
            .poll_transmit(self.now, &mut datagram)
        {
            let to = 1 - from;
            assert_eq!(address, self.sides[to].address, "{}", self.seed());
            self.sides[from].observe(self.now, &datagram, self.plan.seed);
            (self.now, from, &datagram).hash(&mut self.transcript);
            self.links[to].handle_packet(self.now, datagram.clone());
            moved = true;
        }
        self.sides[from].expired = None;
        moved
    }

    fn seed(&self) -> String {
        format!("seed {}", self.plan.seed)
    }
}

impl Side {
    fn connection(&mut self) -> &mut rudp_proto::Connection {
        let handle = self.handle.expect("a connection exists");
        self.endpoint
            .connection_mut(handle)
            .expect("the connection lives")
    }

    fn connection_ref(&self) -> &rudp_proto::Connection {
        let handle = self.handle.expect("a connection exists");
        self.endpoint
            .connection(handle)
            .expect("the connection lives")
    }

    fn stats(&self) -> &Stats {
        self.connection_ref().stats()
    }

    /// Everything written and finished, everything read.
    fn is_through(&self) -> bool {
        let ended = self.at_end || (self.to_receive == 0 && self.closed.is_some());
        self.finished && ended
    }

    fn next_deadline(&self, now: Duration) -> Option<Duration> {
        let read = (!self.at_end && self.next_read > now).then_some(self.next_read);
        self.endpoint.poll_timeout().into_iter().chain(read).min()
    }

    fn handle_events(&mut self, now: Duration, seed: u64) -> bool {
        let mut moved = false;
        let connection = self
            .handle
            .and_then(|handle| self.endpoint.connection(handle));
        self.stats = connection.map_or(self.stats, |connection| *connection.stats());
        while let Some((handle, event)) = self.endpoint.poll_event() {
            moved = true;
            match event {
                Event::Connected => {
                    assert!(
                        self.handle.is_none_or(|known| known == handle),
                        "seed {seed}: two"
                    );
                    self.handle = Some(handle);
                }
                Event::Trace(Trace::Expired {
                    at,
                    rto,
                    estimator,
                    last_sent_at,
                }) => {
                    assert_eq!(at, now, "seed {seed}");
                    let next_rto = estimator.rto();
                    assert!(
                        next_rto >= rto,
                        "seed {seed}: {next_rto:?} after {rto:?} (5.5-1)"
                    );
                    assert!(
                        now - last_sent_at >= rto,
                        "seed {seed}: {} sends early (5-1)",
                        self.name
                    );
                    self.expired = Some(rto);
                }
                Event::Closed(reason) => {
                    assert!(self.closed.is_none(), "seed {seed}: closed twice");
                    let early = self.to_receive > self.received || self.to_send > self.written;
                    assert!(
                        !early,
                        "seed {seed}: {} lost at {now:?}: {reason}",
                        self.name
                    );
                    self.closed = Some(reason);
                }
                Event::Readable | Event::Writable | Event::Trace(_) => {}
            }
        }
        moved
    }

    /// Writes what fits, reads what is there and checks it.
    fn run_application(&mut self, now: Duration, plan: &Plan) -> bool {
        let Some(handle) = self.handle else {
            return false;
        };
        let (is_client, seed) = (self.name == "client", plan.seed);
        let Some(connection) = self.endpoint.connection_mut(handle) else {
            return false;
        };
        if !connection.is_established() && !self.finished {
            return false;
        }
        let mut moved = false;
        while self.written < self.to_send {
            let end = self.to_send.min(self.written + 4_096);
            let chunk: Vec<u8> = (self.written..end)
                .map(|i| byte(is_client, seed, i))
                .collect();
            let taken = connection
                .write(&chunk)
                .expect("an open stream takes bytes");
            self.written += taken;
            moved |= taken > 0;
            if taken < chunk.len() {
                break;
            }
        }
        if self.written == self.to_send && !self.finished {
            connection.finish().expect("an open stream ends");
            self.finished = true;
            moved = true;
        }
        let (pause, most) = plan.slow_reader.unwrap_or((Duration::ZERO, usize::MAX));
        let mut buffer = [0; 2_048];
        let mut room = if self.next_read <= now { most } else { 0 };
        while !self.at_end && room > 0 {
            let space = room.min(buffer.len());
            match connection.read(&mut buffer[..space]) {
                Ok(Some(0)) => self.at_end = true,
                Ok(Some(count)) => {
                    for byte_read in &buffer[..count] {
                        let expected = byte(!is_client, seed, self.received);
                        assert_eq!(*byte_read, expected, "seed {seed}: byte {}", self.received);
                        self.received += 1;
                    }
                    room -= count;
                    self.next_read = now + pause;
                }
                Ok(None) => break,
                Err(error) => panic!("seed {seed}: {} reads: {error}", self.name),
            }
            moved = true;
        }
        if self.finished && self.close_early && (self.at_end || self.to_receive == 0) {
            connection.close(0, ""); // the first time; later it does nothing
        }
        if self.at_end {
            assert_eq!(
                self.received, self.to_receive,
                "seed {seed}: {} at its end",
                self.name
            );
        }
        moved
    }

    fn check_limits(&self, plan: &Plan) {
        let Some(connection) = self
            .handle
            .and_then(|handle| self.endpoint.connection(handle))
        else {
            return;
        };
        let (config, stats) = (&plan.config, connection.stats());
        assert!(
            connection.unacknowledged() <= config.send_buffer as u64,
            "seed {}",
            plan.seed
        );
        let ahead = stats.stream_bytes_received - self.received as u64;
        assert!(
            ahead <= config.receive_window as u64,
            "seed {}: {ahead} unread",
            plan.seed
        );
        assert_eq!(stats.traces_dropped, 0, "seed {}", plan.seed);
    }

    /// Notes when each byte leaves, and checks what leaves again on a timeout (5-1).
    fn observe(&mut self, now: Duration, datagram: &[u8], seed: u64) {
        let packet = Packet::decode(datagram).expect("what is sent can be decoded");
        let Packet::Data { frames, .. } = packet else {
            return;
        };
        for frame in frames {
            let Frame::Stream { offset, data, .. } = frame else {
                continue;
            };
            let start = usize::try_from(offset).expect("a small stream");
            let end = start + data.len();
            let known = self.last_sent.len().min(end);
            let latest = self
                .last_sent
                .get(start..known)
                .and_then(|sent| sent.iter().max());
            if let (Some(rto), Some(latest)) = (self.expired, latest) {
                let waited = now - *latest;
                assert!(
                    waited >= rto,
                    "seed {seed}: {start}..{end} after {waited:?} (5-1)"
                );
                self.timer_retransmissions += 1;
                self.expired = None; // one timeout sends one packet again
            }
            if self.last_sent.len() < end {
                self.last_sent.resize(end, now);
            }
            self.last_sent[start..end].fill(now);
        }
    }
}

/// The byte at `index` of a side's stream.
fn byte(of_client: bool, seed: u64, index: usize) -> u8 {
    let mixed = (index as u64 ^ seed.rotate_left(17) ^ u64::from(of_client))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_be_bytes()[0]
}

fn secrets(seed: u64) -> Secrets {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_be_bytes());
    Secrets {
        reset_key: key,
        seed: key,
    }
}
