//! A server of limited capacity: one worker, a queue before it, and work lost on clients gone.

use std::{collections::VecDeque, time::Duration};

use backoff_policy::nanos;

/// What a server can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Connections that it accepts per second while nobody waits; what one takes is mostly TLS.
    pub rate: u32,
    /// How many may wait; who comes then is refused.
    pub queue: u32,
    /// How many times as long a connection takes when the queue is full: 1 is no longer. In between
    /// it grows with the queue's length.
    pub slowdown: u32,
    /// What each attempt takes from the worker when it arrives, a refused one too.
    pub arrival: Duration,
}

/// One attempt at the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) client: u32,
    /// When the client gives it up. The server does not know: it has the client's first bytes, and
    /// finds out when it writes.
    pub(crate) deadline: u64,
}

/// The server's side of it. Instants are in ns.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    rate: u64,
    limit: u64,
    slowdown: u64,
    arrival: u64,
    waiting: VecDeque<Ticket>,
    /// The one being served, what its service takes, and when it is over.
    serving: Option<(Ticket, u64, u64)>,
    /// When the attempts that have arrived are dealt with, one after another, before all else.
    dealt_with: u64,
    /// What arrivals have taken from the one being served since its end was set.
    taken: u64,
    /// What arrivals have taken in all.
    pub(crate) interrupted: u64,
}

/// What becomes of an attempt that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Whether it may wait, or is served.
    pub(crate) accepted: bool,
    /// When the server has said so.
    pub(crate) dealt_with: u64,
    /// When to look at the worker, if it was free.
    pub(crate) look: Option<u64>,
}

/// What a look at the worker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Arrivals have delayed it: look again then.
    Until(u64),
    /// This one is done, and took so much; if there is a next one, look again then.
    Done(Ticket, u64, Option<u64>),
}

impl Server {
    pub(crate) fn new(capacity: &Capacity) -> Self {
        Self {
            rate: u64::from(capacity.rate.max(1)),
            limit: u64::from(capacity.queue),
            slowdown: u64::from(capacity.slowdown.max(1)),
            arrival: nanos(capacity.arrival),
            waiting: VecDeque::new(),
            serving: None,
            dealt_with: 0,
            taken: 0,
            interrupted: 0,
        }
    }

    /// An attempt arrives.
    pub(crate) fn arrive(&mut self, now: u64, ticket: Ticket) -> Arrival {
        self.interrupted = self.interrupted.saturating_add(self.arrival);
        self.dealt_with = self.dealt_with.max(now).saturating_add(self.arrival);
        let free = self.serving.is_none();
        let accepted = free || (self.waiting.len() as u64) < self.limit;
        if accepted {
            self.waiting.push_back(ticket);
        }
        let look = if free {
            self.begin(self.dealt_with)
        } else {
            self.taken = self.taken.saturating_add(self.arrival);
            None
        };
        Arrival {
            accepted,
            dealt_with: self.dealt_with,
            look,
        }
    }

    /// Looks at the worker at the instant that it was to be done.
    pub(crate) fn look(&mut self, now: u64) -> Option<Service> {
        let (ticket, cost, until) = self.serving.as_mut()?;
        if self.taken > 0 {
            *until = now.saturating_add(std::mem::take(&mut self.taken));
            return Some(Service::Until(*until));
        }
        let (ticket, cost) = (*ticket, *cost);
        Some(Service::Done(ticket, cost, self.begin(now)))
    }

    fn begin(&mut self, now: u64) -> Option<u64> {
        // Read before the next one leaves the queue: it is full exactly when others are refused.
        let waiting = self.waiting.len() as u64;
        self.serving = self.waiting.pop_front().map(|ticket| {
            let usual = 1_000_000_000 / self.rate;
            let full = u128::from(usual * (self.slowdown - 1)); // below 2^62
            let more = full * u128::from(waiting) / u128::from(self.limit.max(1));
            let cost = u64::try_from(u128::from(usual) + more).unwrap_or(u64::MAX);
            (ticket, cost, now.saturating_add(cost))
        });
        self.serving.map(|(_, _, until)| until)
    }
}
