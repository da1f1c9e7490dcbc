use std::time::Duration;

use storm::{
    occ::{Occ, Outcome},
    stats::mean,
};

use super::{
    flags::{Clients, Named, Seeds, Usual, span},
    output::Output,
    report::{Cell, Chart, Line, Logarithmic, Report, Table},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    who: Clients,
    /// How many clients there are; several numbers to compare
    #[arg(long, value_delimiter = ',', default_value = "10,50,100,190", value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
    /// How long a message is under way on average
    #[arg(long, default_value = "10ms", value_parser = span)]
    delay: Duration,
    /// Its standard deviation
    #[arg(long, default_value = "2ms", value_parser = span)]
    deviation: Duration,
    /// Which ceiling of the schedule is the first, counted from 0
    #[arg(long, default_value_t = 1)]
    first_ceiling: u32,
    #[command(flatten)]
    seeds: Seeds,
    #[command(flatten)]
    pub(crate) output: Output,
}

const USUAL: Usual = Usual {
    base: "5ms",
    cap: "2s",
    multiplier: "2",
    kinds: &["at-once", "none", "full", "equal", "decorrelated"],
};

impl Args {
    pub(crate) fn report(&self) -> anyhow::Result<Report> {
        let kinds = self.who.named(&USUAL)?;
        let mut outcomes = Vec::new(); // by number of clients, then by kind
        for &clients in &self.clients {
            let plan = Occ {
                clients,
                delay: self.delay,
                deviation: self.deviation,
            };
            outcomes.push(self.seeds.run(&kinds, |behaviour, seed| {
                plan.run(&behaviour.clone().from_ceiling(self.first_ceiling), seed)
            })?);
        }
        Ok(Report {
            simulation: "occ",
            title: format!(
                "Clients write one row, each if nobody wrote since it read. Runs: {}.",
                self.seeds.seeds
            ),
            given: vec![
                ("delay_ms", Cell::span(self.delay)),
                ("deviation_ms", Cell::span(self.deviation)),
                ("first_ceiling", Cell::count(self.first_ceiling)),
                ("seed", Cell::count(self.seeds.seed)),
                ("seeds", Cell::count(self.seeds.seeds)),
            ],
            events: outcomes
                .iter()
                .flatten()
                .flatten()
                .map(|outcome| outcome.writes)
                .sum(),
            table: self.table(&kinds, &outcomes),
            notes: self.exponents(&kinds, &outcomes),
            charts: vec![
                self.chart(
                    "Writes until everybody has written",
                    "writes",
                    &kinds,
                    &outcomes,
                    writes,
                ),
                self.chart("Time until then", "ms", &kinds, &outcomes, ms),
            ],
        })
    }

    fn table(&self, kinds: &[Named], outcomes: &[Vec<Vec<Outcome>>]) -> Table {
        let mut rows = Vec::new();
        for (&clients, outcomes) in self.clients.iter().zip(outcomes) {
            for (kind, runs) in kinds.iter().zip(outcomes) {
                rows.push(vec![
                    Cell::Text(kind.name.clone()),
                    Cell::count(clients),
                    Cell::Number(writes(runs)),
                    Cell::Ms(Some(ms(runs))),
                    Cell::mean(runs.iter().map(|run| f64::from(run.gave_up))),
                ]);
            }
        }
        Table {
            columns: vec![
                ("policy", "policy"),
                ("clients", "clients"),
                ("writes", "writes"),
                ("completed_ms", "done after"),
                ("gave_up", "gave up"),
            ],
            rows,
        }
    }

    /// How the work grows from the first number of clients to the last.
    fn exponents(&self, kinds: &[Named], outcomes: &[Vec<Vec<Outcome>>]) -> Vec<String> {
        let [from, .., to] = *self.clients.as_slice() else {
            return Vec::new();
        };
        let last = outcomes.len() - 1;
        let exponent = |kind: usize| {
            let growth = writes(&outcomes[last][kind]) / writes(&outcomes[0][kind]);
            growth.ln() / (f64::from(to) / f64::from(from)).ln()
        };
        let exponents = kinds.iter().enumerate();
        let exponents =
            exponents.map(|(index, kind)| format!("{} {:.2}", kind.name, exponent(index)));
        vec![format!(
            "From {from} to {to} clients the writes grow with their number to the power of: {}.",
            exponents.collect::<Vec<_>>().join(", ")
        )]
    }

    fn chart(
        &self,
        title: &str,
        y: &'static str,
        kinds: &[Named],
        outcomes: &[Vec<Vec<Outcome>>],
        value: fn(&[Outcome]) -> f64,
    ) -> Chart {
        let line = |(index, kind): (usize, &Named)| Line {
            name: kind.name.clone(),
            points: (self.clients.iter().zip(outcomes))
                .map(|(&clients, outcomes)| (f64::from(clients), value(&outcomes[index])))
                .collect(),
        };
        Chart {
            title: title.into(),
            x: "clients",
            y,
            logarithmic: Logarithmic::Both,
            lines: kinds.iter().enumerate().map(line).collect(),
        }
    }
}

fn writes(runs: &[Outcome]) -> f64 {
    mean(runs.iter().map(|run| run.writes as f64))
}

fn ms(runs: &[Outcome]) -> f64 {
    mean(runs.iter().map(|run| run.completed.as_secs_f64() * 1e3))
}
