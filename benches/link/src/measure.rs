//! Runs what the plan asks for.
//!
//! Bulk transfers and flows run one at a time: they need the machine. Small messages and handshakes
//! leave it idle, so all protocols run side by side, each in a lab of its own.

mod bulk;
mod fairness;
mod messages;

use std::{path::Path, thread};

use crate::{
    lab::Lab,
    plan::Plan,
    protocol::Protocol,
    results::Results,
    system::{self, Machine},
};

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    Bulk,
    Messages,
    Outage,
    Fairness,
    Integrity,
    Handshakes,
    Loopback,
}

impl Subject {
    /// All of them, or those of a quick run.
    pub fn of(plan: &Plan) -> Vec<Self> {
        let mut subjects = vec![Self::Bulk, Self::Messages, Self::Outage];
        if !plan.quick {
            subjects.extend([
                Self::Fairness,
                Self::Integrity,
                Self::Handshakes,
                Self::Loopback,
            ]);
        }
        subjects
    }

    /// Whether it says anything of a protocol.
    fn takes(self, protocol: Protocol) -> bool {
        !protocol.is_for_messages() || self == Self::Messages
    }
}

/// A session: what runs, who runs, and what came of it so far.
pub struct Session<'a> {
    plan: &'a Plan,
    /// Those of the subject at hand.
    protocols: Vec<Protocol>,
    keys: &'a Path,
    /// One for each protocol that may run beside others.
    labs: Vec<Lab>,
    results: Results,
}

/// Measures these subjects for these protocols.
pub fn run(
    plan: &Plan,
    subjects: &[Subject],
    protocols: &[Protocol],
    keys: &Path,
) -> anyhow::Result<Results> {
    let begun = system::monotonic();
    let results = Results {
        machine: Machine::here(),
        quick: plan.quick,
        seeds: plan.seeds.clone(),
        load_before: system::load(),
        ..Results::default()
    };
    let labs = (0..protocols.len()).map(|number| Lab::open(number, keys, true));
    let mut session = Session {
        plan,
        protocols: Vec::new(),
        keys,
        labs: labs.collect::<anyhow::Result<_>>()?,
        results,
    };
    for subject in subjects {
        let takes = |it: &Protocol| subject.takes(*it);
        session.protocols = protocols.iter().copied().filter(takes).collect();
        match subject {
            Subject::Bulk => session.bulk(),
            Subject::Messages => session.messages(),
            Subject::Outage => session.outages(),
            Subject::Fairness => session.fairness(),
            Subject::Integrity => session.integrity()?,
            Subject::Handshakes => session.handshakes(),
            Subject::Loopback => session.loopback(),
        }
    }
    session.results.minutes = (system::monotonic() - begun).as_secs_f64() / 60.0;
    Ok(session.results)
}

impl Session<'_> {
    /// The lab in which one run at a time takes place.
    fn lab(&self) -> &Lab {
        &self.labs[0]
    }

    /// Runs all protocols side by side, each in its own lab.
    fn side_by_side<T: Send>(
        &mut self,
        what: &str,
        run: impl Fn(&Lab, Protocol) -> anyhow::Result<T> + Sync,
    ) -> Vec<T> {
        let all = self.protocols.iter().zip(&self.labs);
        let outcomes: Vec<_> = thread::scope(|scope| {
            let run = &run;
            let running: Vec<_> = all
                .map(|(&protocol, lab)| (protocol, scope.spawn(move || run(lab, protocol))))
                .collect();
            let joined = running.into_iter().map(|(protocol, running)| {
                let outcome = running.join();
                (
                    protocol,
                    outcome.unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked"))),
                )
            });
            joined.collect()
        });
        let mut kept = Vec::new();
        for (protocol, outcome) in outcomes {
            kept.extend(self.keep(&format!("{what}, {protocol}"), outcome));
        }
        kept
    }

    /// Notes a failure, so that a session goes on without that run.
    fn keep<T>(&mut self, what: &str, outcome: anyhow::Result<T>) -> Option<T> {
        let failed = |error: &anyhow::Error| {
            let failure = format!("{what}: {error:#}");
            eprintln!("failed: {failure}");
            self.results.failures.push(failure);
        };
        outcome.inspect_err(failed).ok()
    }
}
