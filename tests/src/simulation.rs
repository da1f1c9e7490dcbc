//! One whole connection in virtual time, held at every step to what must be true of it.
//!
//! Both sides send known streams over links that do whatever a [`Plan`] says, and whatever they
//! do:
//!
//! - every byte arrives once, in order, intact; every message once and whole, unless its deadline
//!   passed;
//! - what a sender hears of a message or a stream that somebody gave up is what the receiver saw;
//! - a range sent again on a timeout was last sent at least one RTO ago (5-1);
//! - no wait has zero length: a deadline that was served moves on ([`Pair::settle`] sees to it);
//! - buffers stay within their limits.

mod app;
mod extras;
mod watch;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use netsim::{Link, LinkConfig};
use rudp_proto::{CloseReason, Config, Endpoint, Lost, Secrets, Side, Stats};

use crate::{pair::Pair, time::s};
use app::App;
use extras::Told;

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
    /// Over how many streams each side sends them, in turn; at least one.
    pub streams: usize,
    /// How many messages and short streams each side that sends has beside them, at random times;
    /// of a half of the messages a deadline passes, perhaps, and half of the streams are given up,
    /// by the one or the other side.
    pub extras: usize,
    /// How long a side waits between two reads, and how much it reads then; `None` reads at once.
    pub slow_reader: Option<(Duration, usize)>,
    /// Whether the client, the server closes as soon as it has written and read everything, which
    /// must lose nothing. Without either, the client closes once everything has settled.
    pub close_early: [bool; 2],
}

impl Plan {
    /// Whether a side sends anything: who closes early, alone, gets nothing from its peer.
    #[must_use]
    pub const fn sends(&self, side: Side) -> bool {
        let [client_closes, server_closes] = self.close_early;
        match side {
            Side::Client => client_closes || !server_closes,
            Side::Server => server_closes || !client_closes,
        }
    }
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
    /// Of messages and short streams, how many were acknowledged, expired, were reset by their
    /// sender, and stopped by their reader.
    pub fates: [u64; 4],
    /// A hash over every datagram and its time.
    pub transcript: u64,
}

/// Virtual time after which a run is taken to be stuck.
const MOST_TIME: Duration = s(24 * 3_600);

struct Simulation<'a> {
    plan: &'a Plan,
    pair: Pair,
    /// The client, the server.
    sides: [App; 2],
    transcript: DefaultHasher,
}

/// Runs the plan to its end.
///
/// # Panics
///
/// If anything that must hold does not; the seed is printed then, to run it again.
#[must_use]
pub fn run(plan: &Plan) -> Outcome {
    let _named = Named(plan.seed);
    Simulation::new(plan).run()
}

/// Prints the seed of a run that panics.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("to replay: SEED={}", self.0);
        }
    }
}

impl<'a> Simulation<'a> {
    fn new(plan: &'a Plan) -> Self {
        let config = Config {
            trace: true,
            ..plan.config
        };
        let endpoint = |seed| Endpoint::new(config, secrets(seed)).expect("the config is valid");
        let link = |config: &LinkConfig, seed| {
            Link::new(config.clone(), seed).expect("the plan's link is valid")
        };
        let down = link(&plan.down, plan.seed.wrapping_mul(2));
        let up = link(&plan.up, plan.seed.wrapping_mul(2).wrapping_add(1));
        let mut pair = Pair::of(endpoint(plan.seed ^ 1), endpoint(plan.seed ^ 2), up, down);
        (pair.client.reads, pair.server.reads) = (false, false); // the sides do
        Self {
            plan,
            pair,
            sides: [Side::Client, Side::Server].map(|side| App::new(plan, side)),
            transcript: DefaultHasher::new(),
        }
    }

    fn run(mut self) -> Outcome {
        self.sides[0].handle = Some(self.pair.connect());
        self.drive("both streams through", |it| {
            it.sides.iter().all(App::is_through)
        });
        let transferred_at = self.pair.now;
        if self.plan.close_early == [false, false] {
            self.wait_for_quiet();
            self.sides[0].closes = true;
        }
        self.drive("closed on both sides", |it| {
            it.sides.iter().all(|side| side.closed.is_some())
        });
        self.check_ends(transferred_at);
        let [client, server] = [0, 1].map(|side: usize| self.sides[side].stats);
        // Lingering ends, and then nothing is left that could want to run.
        self.drive("no deadline left", |it| {
            let hosts = [&it.pair.client, &it.pair.server];
            let mut timers = hosts.iter().map(|host| host.endpoint.poll_timeout());
            timers.all(|timer| timer.is_none())
        });

        Outcome {
            transferred_at,
            ended_at: self.pair.now,
            client,
            server,
            timer_retransmissions: self
                .sides
                .iter()
                .map(|side| side.watch.timer_retransmissions)
                .sum(),
            fates: [
                Told::Acknowledged,
                Told::Expired,
                Told::Reset,
                Told::Stopped,
            ]
            .map(|told| self.sides.iter().map(|side| side.extras.count(told)).sum()),
            transcript: self.transcript.finish(),
        }
    }

    /// Runs until all is acknowledged; from then on only the keepalive may want to run.
    fn wait_for_quiet(&mut self) {
        self.drive("everything acknowledged", |it| {
            let links = [&it.pair.up, &it.pair.down];
            let quiet = links.iter().all(|link| link.poll_timeout().is_none());
            quiet && it.sides.iter().all(|side| side.is_acknowledged(&it.pair))
        });
        let max_ack_delay = self.plan.config.max_ack_delay;
        let acks_due = self.pair.now + max_ack_delay;
        self.drive("the last delayed ACK", |it| {
            let idle_until = it.pair.now + max_ack_delay;
            let idle = it.pair.next().is_none_or(|next| next > idle_until);
            it.pair.now >= acks_due || idle
        });
        let Some(keepalive) = self.plan.config.keepalive else {
            return;
        };
        for side in &self.sides {
            let deadline = side.host(&self.pair).endpoint.poll_timeout();
            let deadline = deadline.expect("the keepalive has a deadline");
            assert!(
                deadline >= acks_due && deadline <= self.pair.now + keepalive,
                "{side}: idle, and wants to run at {deadline:?}"
            );
        }
    }

    /// Who closed hears of its own close, the other of its peer's; everything was acknowledged.
    fn check_ends(&self, transferred_at: Duration) {
        let both = self.sides.iter().all(|side| side.closes);
        for side in &self.sides {
            let end = side.closed.as_ref().expect("it has ended");
            let by_peer = matches!(end, CloseReason::Peer { code: 0, reason } if reason.is_empty());
            // Four answers to its CLOSE lost in 1 + 2 + 4 + 8 s or more, then a Reset: all had
            // arrived, but it cannot know (K5, K7).
            let waited = self.pair.now.saturating_sub(transferred_at);
            let unanswered = *end == CloseReason::Lost(Lost::Reset) && waited >= s(15);
            let own = matches!(end, CloseReason::Local { .. }) || unanswered;
            let expected = (side.closes && own) || (by_peer && (both || !side.closes));
            assert!(expected, "{side}: {end}");
            side.check_totals();
        }
        let [client, server] = &self.sides;
        client.extras.check(&server.extras);
        server.extras.check(&client.extras);
    }

    /// Lets time pass until, at the end of an instant, `done`.
    fn drive(&mut self, goal: &str, done: impl Fn(&Self) -> bool) {
        loop {
            if self.settle() {
                continue;
            }
            let now = self.pair.now;
            let instant_is_over = self.pair.next().is_none_or(|next| next > now);
            if instant_is_over && done(self) {
                return;
            }
            assert!(now < MOST_TIME, "{}: no end before {goal}", self.sides[0]);
            let wakes = self.sides.iter().filter_map(|side| side.wakes_at(now));
            let wake = wakes.min();
            if !self.pair.advance(wake.unwrap_or(Duration::MAX)) {
                self.pair.now = wake.unwrap_or_else(|| {
                    let [client, server] = &self.sides;
                    panic!("stuck before {goal}: {client:#?} {server:#?}")
                });
            }
        }
    }

    /// Lets applications act and hosts send, and holds what they say to the rules; says whether
    /// there is more to do.
    fn settle(&mut self) -> bool {
        let mut moved = false;
        let may_close = self.sides.iter().all(|side| side.extras.is_done());
        for side in &mut self.sides {
            side.handle_events(&mut self.pair);
            moved |= side.act(&mut self.pair, self.plan.slow_reader, may_close);
        }
        self.pair.settle();
        self.pair.log.hash(&mut self.transcript);
        for side in &mut self.sides {
            side.watch.handle_sent(&self.pair.log);
            side.check_limits(&self.pair, &self.plan.config);
            let host = side.host(&self.pair);
            moved |= !(host.events.is_empty() && host.traces.is_empty());
        }
        self.pair.log.clear();
        moved
    }
}

fn secrets(seed: u64) -> Secrets {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_be_bytes());
    Secrets {
        reset_key: key,
        seed: key,
    }
}
