use std::time::Duration;

use anyhow::Context;
use backoff_policy::{FirstDelay, Policy, Total};
use grpc_backoff::Config;
use storm::{fleet::Behaviour, herd::Herd, over_seeds};

use super::{
    flags::{count, takes_hyphens},
    herd::means,
    output::Output,
    report::{Cell, Chart, Line, Logarithmic, Report, Table},
};

#[derive(Debug, clap::Args)]
#[command(mut_args(takes_hyphens))]
pub(crate) struct Args {
    /// The policy: a preset, such as `calls`; fields, such as `base=1s,cap=60s,jitter=full`; or
    /// `grpc`, its connections
    policy: String,
    /// How many clients fail together, to see how close together they come back
    #[arg(long, default_value_t = 500, value_parser = count::<u32>(1..=100_000))]
    clients: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Without a limit so many waits are shown.
const SHOWN: u32 = 12;
const SEEDS: u64 = 20;

impl Args {
    pub(crate) fn report(&self) -> anyhow::Result<Report> {
        let (policy, behaviour) = self.read()?;
        let fields = Policy { name: "", ..policy }.to_string(); // all of them, not the preset's name
        let waits = policy.waits().map_or(SHOWN, |waits| waits.min(SHOWN));
        let window = Duration::from_millis(100);
        let plan = Herd {
            clients: self.clients,
            waves: waits,
            window,
        };
        let peaks = over_seeds(0..SEEDS, |seed| plan.run(&behaviour, seed));
        let peaks = means(&peaks);
        let ends: Vec<_> = (0..waits).map(|n| ends(&policy, n)).collect();
        let rows = (0..waits).zip(&ends).zip(&peaks);
        let rows = rows.map(|((n, ends), &peak)| {
            let [ceiling, least, most] = ends.map(Cell::span);
            vec![Cell::count(n + 1), ceiling, least, most, Cell::Number(peak)]
        });
        let line = |name: &str, end: usize| Line {
            name: name.to_owned(),
            points: (1..)
                .map(f64::from)
                .zip(ends.iter().map(|ends| ends[end].as_secs_f64()))
                .collect(),
        };
        let total = policy.total();
        let all = |of: fn(Total) -> Duration| Cell::mean_span([total.map(of)]);
        let risks = self.risks(&policy);
        Ok(Report {
            simulation: "explain",
            title: format!("{}: {fields}", self.policy),
            given: vec![
                ("policy", Cell::Text(fields)),
                ("clients", Cell::count(self.clients)),
                ("total_least_ms", all(|total| total.least)),
                ("total_mean_ms", all(|total| total.mean)),
                ("total_most_ms", all(|total| total.most)),
                ("risks", Cell::Text(risks.join("; "))),
            ],
            events: 0,
            table: Table {
                columns: vec![
                    ("wait", "wait"),
                    ("ceiling_ms", "ceiling"),
                    ("least_ms", "least"),
                    ("most_ms", "most"),
                    ("peak", "most clients in 100 ms"),
                ],
                rows: rows.collect(),
            },
            notes: self.notes(&policy, &risks),
            charts: vec![Chart {
                title: "The least and the greatest wait".into(),
                x: "wait",
                y: "s",
                logarithmic: Logarithmic::Neither,
                lines: vec![line("most", 2), line("least", 1)],
            }],
        })
    }

    /// The policy, and those who follow it.
    fn read(&self) -> anyhow::Result<(Policy, Behaviour)> {
        let behaviour: Behaviour = self.policy.parse().with_context(|| self.policy.clone())?;
        match behaviour {
            Behaviour::Policy(policy) => Ok((policy, behaviour)),
            Behaviour::Grpc(_) => Ok((Policy::GRPC_CONNECT, behaviour)),
            Behaviour::AtOnce => {
                anyhow::bail!("at-once: there is nothing to explain, it never waits")
            }
        }
    }

    fn notes(&self, policy: &Policy, risks: &[String]) -> Vec<String> {
        let mut notes = vec![format!(
            "The last column: of {} clients that fail together, each time at once, the mean of {SEEDS} runs.",
            self.clients
        )];
        notes.push(match policy.total() {
            Some(total) => format!(
                "All waits together: {:?} at least, {:?} on average, {:?} at most.",
                total.least, total.mean, total.most
            ),
            None => "The number of attempts is not limited.".to_owned(),
        });
        if let Some(deadline) = policy.deadline {
            notes.push(format!("It ends after {deadline:?} in any case."));
        }
        match risks.is_empty() {
            true => notes.push("Nothing in it is known to be risky.".to_owned()),
            false => notes.extend(risks.iter().map(|risk| format!("risky: {risk}"))),
        }
        notes
    }

    /// What is legal but risky, by the lints of the machine that it is for.
    fn risks(&self, policy: &Policy) -> Vec<String> {
        match self.policy.as_str() {
            "grpc" => Config::GRPC.lint().map(|lint| lint.to_string()).collect(),
            _ => policy.lint().map(|lint| lint.to_string()).collect(),
        }
    }
}

/// A wait: its ceiling, the least and the greatest that it can be.
type Ends = [Duration; 3];

/// The `n`-th wait, counted from 0, the first delay's manner included.
fn ends(policy: &Policy, n: u32) -> Ends {
    let schedule = &policy.schedule;
    let ends = |n| {
        let bounds = schedule.bounds(n);
        [schedule.ceiling(n), *bounds.start(), *bounds.end()]
    };
    match (policy.first_delay, n) {
        (FirstDelay::Immediate, 0) => [Duration::ZERO; 3],
        (FirstDelay::Immediate, n) => ends(n - 1),
        (FirstDelay::Exact, 0) => [schedule.base(); 3],
        _ => ends(n),
    }
}
