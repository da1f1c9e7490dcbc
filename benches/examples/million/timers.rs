//! The retransmission timers of many connections over one [`DelayQueue`], re-armed lazily.

use std::{
    future::poll_fn,
    task::{Context, Poll, ready},
    time::Duration,
};

use rto::{RetransmitTimer, Timeout};
use slab::Slab;
use tokio::time::Instant;
use tokio_util::time::{DelayQueue, delay_queue::Key};

/// No entry is put farther ahead: the queue has an end, and firing early is harmless.
const AHEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// Tells which connection's timer has expired.
///
/// Nearly every ACK moves a deadline, and nearly always to later. So the queue is not told: the
/// entry of a running timer may fire too early, finds the deadline where it is by then, and goes
/// back in for that. A connection costs the queue one visit per RTO, however many ACKs arrive.
///
/// Only where a deadline comes nearer, as when a back-off ends, is an entry moved at once. That
/// keeps the one rule all depends on: a running timer has an entry, and it fires no later than the
/// deadline.
#[derive(Debug)]
pub(crate) struct Timers {
    /// The moment from which the timers count.
    epoch: Instant,
    connections: Slab<Connection>,
    queue: DelayQueue<usize>,
    queue_operations: u64,
}

#[derive(Debug)]
struct Connection {
    timer: RetransmitTimer,
    /// Its entry in the queue, left there when the timer stops.
    entry: Option<Entry>,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    fires_at: Duration,
}

impl Timers {
    /// For about so many connections, whose timers count from `epoch`.
    pub(crate) fn with_capacity(connections: usize, epoch: Instant) -> Self {
        Self {
            epoch,
            connections: Slab::with_capacity(connections),
            queue: DelayQueue::with_capacity(connections),
            queue_operations: 0,
        }
    }

    /// The time that the timers go by.
    pub(crate) fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// A connection opens; its id may be that of one removed before.
    pub(crate) fn insert(&mut self, timer: RetransmitTimer) -> usize {
        let id = self.connections.insert(Connection { timer, entry: None });
        self.arm(id);
        id
    }

    /// A connection is over.
    pub(crate) fn remove(&mut self, id: usize) -> RetransmitTimer {
        let connection = self.connections.remove(id);
        if let Some(entry) = connection.entry {
            self.queue.remove(&entry.key);
            self.queue_operations += 1;
        }
        connection.timer
    }

    /// Something happened on a connection, sent or acknowledged: tell its timer here.
    pub(crate) fn update<T>(
        &mut self,
        id: usize,
        event: impl FnOnce(&mut RetransmitTimer) -> T,
    ) -> T {
        let told = event(&mut self.connections[id].timer);
        self.arm(id);
        told
    }

    /// Waits until any timer expires. Loses nothing when dropped, so it may wait in a `select!`.
    pub(crate) async fn expired(&mut self) -> (usize, Timeout) {
        poll_fn(|context| self.poll_expired(context)).await
    }

    pub(crate) fn poll_expired(&mut self, context: &mut Context<'_>) -> Poll<(usize, Timeout)> {
        while let Some(fired) = ready!(self.queue.poll_expired(context)) {
            self.queue_operations += 1;
            let (id, now) = (fired.into_inner(), self.now());
            let connection = &mut self.connections[id];
            connection.entry = None;
            // Does nothing if the deadline has moved on or the timer was stopped.
            let timeout = connection.timer.handle_timeout(now);
            self.arm(id);
            if let Some(timeout) = timeout {
                return Poll::Ready((id, timeout));
            }
        }
        Poll::Pending // an empty queue wakes this task when an entry comes
    }

    /// Sees to it that a running timer has an entry that fires no later than its deadline.
    fn arm(&mut self, id: usize) {
        let Connection { timer, entry } = &mut self.connections[id];
        let Some(deadline) = timer.poll_timeout() else {
            return;
        };
        if entry
            .as_ref()
            .is_some_and(|entry| entry.fires_at <= deadline)
        {
            return; // the way of nearly every ACK
        }
        self.queue_operations += 1;
        let fires_at = deadline.min(self.epoch.elapsed() + AHEAD);
        match entry {
            Some(entry) => {
                self.queue.reset_at(&entry.key, self.epoch + fires_at);
                entry.fires_at = fires_at;
            }
            None => {
                let key = self.queue.insert_at(id, self.epoch + fires_at);
                *entry = Some(Entry { key, fires_at });
            }
        }
    }

    /// Entries put in, moved, taken out and fired so far.
    pub(crate) fn queue_operations(&self) -> u64 {
        self.queue_operations
    }

    /// Bytes that each connection takes beside its share of the queue.
    pub(crate) const BYTES: usize = size_of::<Connection>();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand_chacha::{
        ChaCha8Rng,
        rand_core::{Rng, SeedableRng},
    };
    use rto::{Config, Estimator, Limits, Progress, Sample, Threshold};
    use tokio::{task::coop::unconstrained, time::advance};

    use super::*;

    const TICK: Duration = Duration::from_millis(1);

    fn timer() -> RetransmitTimer {
        let config = Config {
            initial_rto: Duration::from_millis(30),
            min_rto: Duration::from_millis(20),
            max_rto: Duration::from_millis(500),
            ..Config::RFC6298
        };
        let limits = Limits {
            r2: Threshold::Retransmissions(1),
            ..Limits::NONE
        };
        RetransmitTimer::new(Estimator::new(config).expect("legal")).with_limits(limits)
    }

    #[expect(clippy::disallowed_methods, reason = "tokio's clock, paused")]
    fn timers() -> Timers {
        Timers::with_capacity(0, Instant::now())
    }

    /// All that have expired by now, in the order of their ids.
    async fn drain(timers: &mut Timers) -> Vec<(usize, Timeout)> {
        let mut expired = Vec::new();
        unconstrained(poll_fn(|context| {
            while let Poll::Ready(timeout) = timers.poll_expired(context) {
                expired.push(timeout);
            }
            Poll::Ready(())
        }))
        .await;
        expired.sort_unstable_by_key(|(id, _)| *id);
        expired
    }

    /// One of the things that happen to a connection.
    fn happen(timer: &mut RetransmitTimer, now: Duration, draw: u64) {
        let sample = Sample::measured(Duration::from_micros(1_000 + draw % 9_973));
        match draw >> 32 & 7 {
            0 => timer.handle_sent(now),
            1 => drop(timer.handle_acked(now, Progress::All, None)),
            2 => drop(timer.handle_acked(now, Progress::Some, None)),
            _ => drop(timer.handle_acked(now, Progress::Some, Some(sample))),
        }
    }

    /// The model looks at every timer in every millisecond: the same timers expire in the same
    /// millisecond, so none before its deadline and none is lost.
    #[tokio::test(start_paused = true)]
    async fn the_same_timers_expire_when_every_one_is_looked_at() {
        for seed in 0..20 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (mut timers, mut model) = (timers(), BTreeMap::new());
            let (mut expiries, mut given_up, mut nearer) = (0, 0, 0);
            for tick in 0..3_000_u32 {
                let now = timers.now();
                let expected: Vec<(usize, Timeout)> = model
                    .iter_mut()
                    .filter_map(|(id, timer): (&usize, &mut RetransmitTimer)| {
                        timer.handle_timeout(now).map(|timeout| (*id, timeout))
                    })
                    .collect();
                let expired = drain(&mut timers).await;
                assert_eq!(expired, expected, "seed {seed}, tick {tick}");
                expiries += expected.len();
                let gave_up = |(_, timeout): &&_| matches!(timeout, Timeout::GiveUp(_));
                given_up += expected.iter().filter(gave_up).count();

                if model.len() < 40 {
                    assert!(model.insert(timers.insert(timer()), timer()).is_none());
                } else if rng.next_u32() % 64 == 0 {
                    let id = rng.next_u32() as usize % 40;
                    assert_eq!(Some(timers.remove(id)), model.remove(&id), "seed {seed}");
                }
                for (id, timer) in &mut model {
                    if rng.next_u32() % 32 == 0 {
                        let (draw, before) = (rng.next_u64(), timer.poll_timeout());
                        happen(timer, now, draw);
                        timers.update(*id, |timer| happen(timer, now, draw));
                        let after = timer.poll_timeout();
                        nearer += usize::from(after.is_some() && after < before);
                    }
                }
                advance(TICK).await;
            }
            let seen = [expiries, given_up, nearer];
            assert!(
                seen.iter().all(|count| *count > 50),
                "seed {seed}: {seen:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_connection_costs_the_queue_two_operations_per_rto() {
        let mut timers = timers();
        let id = timers.insert(timer());
        timers.update(id, |timer| timer.handle_sent(Duration::ZERO));
        for _ in 0..10_000 {
            advance(TICK).await;
            let (now, sample) = (timers.now(), Some(Sample::measured(TICK)));
            timers.update(id, |timer| timer.handle_acked(now, Progress::Some, sample));
            assert_eq!(drain(&mut timers).await, []);
        }
        // 10 s with an RTO of 20 ms: fired and put back every 20 ms at most, and put in once.
        assert!(timers.queue_operations() <= 2 * 10_000 / 20 + 1);
        assert!(timers.queue_operations() >= 2 * 10_000 / 20 - 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stopped_timer_leaves_its_entry_to_fire_unseen() {
        let mut timers = timers();
        let id = timers.insert(timer());
        timers.update(id, |timer| timer.handle_sent(Duration::ZERO));
        timers.update(id, |timer| timer.stop(Duration::ZERO));
        assert_eq!(timers.queue.len(), 1);
        advance(Duration::from_secs(1)).await;
        assert_eq!(drain(&mut timers).await, []);
        assert_eq!(timers.queue.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_in_years_is_beyond_no_queue() {
        let year = Duration::from_secs(365 * 24 * 60 * 60);
        let config = Config {
            initial_rto: 100 * year,
            max_rto: Duration::MAX,
            ..Config::RFC6298
        };
        let mut timers = timers();
        let id = timers.insert(RetransmitTimer::new(Estimator::new(config).expect("legal")));
        timers.update(id, |timer| timer.handle_sent(Duration::ZERO));
        advance(year).await;
        assert_eq!(drain(&mut timers).await, []);
        assert_eq!(timers.queue.len(), 1);
    }
}
