//! The worker: takes what is due, delivers it, and writes down what came of it.

use crate::alarm::Alarm;
use crate::queue::{Queue, Webhook};
use crate::{Anything, client, clock};
use backoff_policy::{Class, Counters, Failure, JobState, Policy};
use std::net::SocketAddr;
use tokio::task::JoinSet;

/// Deliveries at once.
const ROOM: usize = 8;

pub(crate) async fn run(queue: &Queue, server: SocketAddr) -> Anything<()> {
    let mut worker = Worker {
        queue,
        policy: "webhooks,base=20ms,cap=7200ms,hint=capped:50ms".parse()?,
        counters: Counters::default(),
        alarm: Alarm::default(),
    };
    let interrupted = queue.interrupted()?;
    println!("   a worker starts; {} were interrupted", interrupted.len());
    for webhook in interrupted {
        worker.failed(webhook, Class::Timeout.into())?; // it may have been done
    }
    let mut running = JoinSet::new();
    loop {
        worker.look_at_the_clock()?;
        for webhook in worker.start(ROOM - running.len())? {
            running.spawn(async move {
                let outcome = client::deliver(server, &webhook).await;
                (webhook, outcome)
            });
        }
        let next_due = queue.next_due()?.filter(|_| running.len() < ROOM);
        if running.is_empty() && next_due.is_none() {
            println!("   the worker is done: {}", worker.counters);
            return Ok(());
        }
        let rest = next_due.map(|at| at.saturating_sub(clock::since_epoch()));
        tokio::select! {
            Some(ended) = running.join_next() => {
                let (webhook, outcome) = ended?;
                worker.ended(webhook, outcome)?;
            }
            () = tokio::time::sleep(rest.unwrap_or_default()), if rest.is_some() => {}
        }
    }
}

struct Worker<'a> {
    queue: &'a Queue,
    policy: Policy,
    counters: Counters,
    alarm: Alarm,
}

impl Worker<'_> {
    /// What is due is written down as running before anything is sent: that is what makes a kill
    /// harmless.
    fn start(&self, room: usize) -> Anything<Vec<Webhook>> {
        let now = clock::since_epoch();
        let mut started = Vec::new();
        for mut webhook in self.queue.due(now, room)? {
            let state = webhook.job.start(&self.policy, now);
            self.queue.store(webhook.id, &webhook.job)?;
            match state {
                JobState::Running => {
                    self.counters.handle_started(webhook.job.last_failure());
                    started.push(webhook);
                }
                JobState::Dead(end) => self.counters.handle_gave_up(&end),
                JobState::Waiting { .. } => {}
            }
        }
        Ok(started)
    }

    fn ended(&mut self, webhook: Webhook, outcome: Result<(), Failure>) -> Anything<()> {
        match outcome {
            Ok(()) => {
                self.queue.delivered(webhook.id)?;
                self.counters.handle_succeeded();
            }
            Err(failure) => self.failed(webhook, failure)?,
        }
        self.alarm.look(&self.counters);
        Ok(())
    }

    fn failed(&self, mut webhook: Webhook, failure: Failure) -> Anything<()> {
        let (now, draw) = (clock::since_epoch(), rand::random());
        let state = (webhook.job).handle_failed(&self.policy, failure, now, draw);
        if let JobState::Dead(end) = state {
            self.counters.handle_gave_up(&end);
        }
        self.queue.store(webhook.id, &webhook.job)
    }

    /// Had it been set back, some would wait for hours.
    fn look_at_the_clock(&self) -> Anything<()> {
        let now = clock::since_epoch();
        for mut webhook in self.queue.set_back(now)? {
            if webhook.job.handle_clock(now) {
                self.queue.store(webhook.id, &webhook.job)?;
            }
        }
        Ok(())
    }
}
