//! A server of limited capacity comes back, and its clients are its first trouble.

use std::time::Duration;

use backoff_policy::nanos;

use crate::{
    engine::Queue,
    fleet::{Behaviour, Fleet},
    server::{Capacity, Server, Service, Ticket},
    stats::{Histogram, reached},
};

/// All clients lose the server at 0 and dial at once. While it is away it refuses them for nothing;
/// then each attempt costs it work, whether the client still waits for the answer or not.
///
/// Where the queue takes longer than the clients have patience, all its work is for clients that
/// have gone, who come again: it is busy for ever and serves nobody (a metastable failure).
/// Whether it gets out is the clients' doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collapse {
    /// How many clients there are.
    pub clients: u32,
    /// How long the server is away.
    pub outage: Duration,
    /// How long after that the simulation goes on at most.
    pub limit: Duration,
    /// The way to the server and back.
    pub round_trip: Duration,
    /// How long an attempt may take for clients that have no connect deadline of their own; gRPC's
    /// have.
    pub timeout: Duration,
    /// What the server can do.
    pub server: Capacity,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How many clients there were.
    pub clients: u32,
    /// Attempts in all, those during the outage included.
    pub attempts: u64,
    /// Clients that gave up.
    pub gave_up: u32,
    /// Attempts that a full queue turned away.
    pub refused: u64,
    /// How long after the end of the outage each client was back, in order, in ns.
    pub recovery: Vec<u64>,
    /// What the server did after the outage.
    pub work: Work,
    /// Attempts over time from the start of the outage, in bins of 100 ms.
    pub arrivals: Histogram,
}

/// What a server spent its time on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Accepting clients that were still there.
    pub useful: Duration,
    /// Accepting clients that had gone.
    pub abandoned: Duration,
    /// Dealing with attempts as they arrive, refused ones too.
    pub arrivals: Duration,
}

impl Work {
    /// The share that brought no client back; 0 of no work.
    #[must_use]
    pub fn wasted(&self) -> f64 {
        let lost = (self.abandoned + self.arrivals).as_secs_f64();
        let all = lost + self.useful.as_secs_f64();
        if all == 0.0 { 0.0 } else { lost / all }
    }
}

impl Outcome {
    /// The time after the outage by which this share of all clients was back, if it was.
    #[must_use]
    pub fn recovered(&self, share: f64) -> Option<Duration> {
        reached(&self.recovery, self.clients, share)
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A client's attempt arrives at the server.
    Arrive(u32),
    /// A client's connect deadline.
    GiveUp(u32),
    /// The server is done with one, unless it was interrupted.
    Look,
}

impl Collapse {
    /// 2,000 clients, an outage of 30 s, and a server that needs 10 s for all of them.
    pub const EXAMPLE: Self = Self {
        clients: 2_000,
        outage: Duration::from_secs(30),
        limit: Duration::from_secs(600),
        round_trip: Duration::from_millis(20),
        timeout: Duration::from_secs(5),
        server: Capacity {
            rate: 200,
            queue: 1_024,
            slowdown: 2,
            arrival: Duration::from_micros(20),
        },
    };

    /// Runs it.
    #[must_use]
    pub fn run(&self, behaviour: &Behaviour, seed: u64) -> Outcome {
        let fleet = Fleet::new(behaviour, self.clients, seed).with_timeout(self.timeout);
        let mut run = Run::new(self, fleet);
        let end = nanos(self.outage).saturating_add(nanos(self.limit));
        while run.is_open()
            && let Some((now, event)) = run.queue.pop()
            && now <= end
        {
            match event {
                Event::Arrive(client) => run.arrive(now, client),
                Event::GiveUp(client) => run.give_up(now, client),
                Event::Look => run.look(now),
            }
        }
        run.outcome.gave_up = run.fleet.gave_up();
        run.outcome.work.arrivals = Duration::from_nanos(run.server.interrupted);
        run.outcome
    }
}

/// A simulation under way.
#[derive(Debug)]
struct Run {
    back: u64,
    half: u64, // one way
    fleet: Fleet,
    server: Server,
    queue: Queue<Event>,
    /// For each client when it gives up what the server has of it; 0: it has nothing.
    pending: Vec<u64>,
    outcome: Outcome,
}

impl Run {
    fn new(plan: &Collapse, fleet: Fleet) -> Self {
        let half = (nanos(plan.round_trip) / 2).max(1); // so that time passes
        let mut queue = Queue::new();
        (0..plan.clients).for_each(|client| queue.push(half, Event::Arrive(client)));
        Self {
            back: nanos(plan.outage),
            half,
            fleet,
            server: Server::new(&plan.server),
            queue,
            pending: vec![0; plan.clients as usize],
            outcome: Outcome {
                clients: plan.clients,
                attempts: 0,
                gave_up: 0,
                refused: 0,
                recovery: Vec::new(),
                work: Work::default(),
                arrivals: Histogram::new(Duration::from_millis(100)),
            },
        }
    }

    /// Whether any client is still to come back.
    fn is_open(&self) -> bool {
        let back = self.outcome.recovery.len() as u32;
        back + self.fleet.gave_up() < self.outcome.clients
    }

    fn arrive(&mut self, now: u64, client: u32) {
        self.outcome.attempts += 1;
        self.outcome.arrivals.add(now);
        let deadline = self.fleet.start(client, now - self.half);
        if now < self.back {
            self.fail(now.saturating_add(self.half).min(deadline), client);
            return;
        }
        let arrival = self.server.arrive(now, Ticket { client, deadline });
        if let Some(at) = arrival.look {
            self.queue.push(at, Event::Look);
        }
        if arrival.accepted {
            self.pending[client as usize] = deadline;
            self.queue.push(deadline, Event::GiveUp(client));
        } else {
            self.outcome.refused += 1;
            let told = arrival.dealt_with.saturating_add(self.half);
            self.fail(told.min(deadline), client);
        }
    }

    fn give_up(&mut self, now: u64, client: u32) {
        if self.pending[client as usize] == now {
            self.fail(now, client);
        }
    }

    fn fail(&mut self, now: u64, client: u32) {
        self.pending[client as usize] = 0;
        if let Some(next) = self.fleet.fail(client, now) {
            let arrives = next.saturating_add(self.half);
            self.queue.push(arrives, Event::Arrive(client));
        }
    }

    fn look(&mut self, now: u64) {
        let again = match self.server.look(now) {
            None => return,
            Some(Service::Until(at)) => Some(at),
            Some(Service::Done(ticket, cost, next)) => {
                self.served(
                    now.saturating_add(self.half),
                    ticket,
                    Duration::from_nanos(cost),
                );
                next
            }
        };
        if let Some(at) = again {
            self.queue.push(at, Event::Look);
        }
    }

    /// The server's answer arrives at the client, if that still waits for it.
    fn served(&mut self, now: u64, ticket: Ticket, cost: Duration) {
        let pending = &mut self.pending[ticket.client as usize];
        if *pending == ticket.deadline && now <= ticket.deadline {
            *pending = 0;
            self.outcome.work.useful += cost;
            self.outcome.recovery.push(now - self.back);
        } else {
            self.outcome.work.abandoned += cost;
        }
    }
}
