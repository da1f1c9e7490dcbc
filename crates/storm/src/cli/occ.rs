use std::time::Duration;

use storm::{
    occ::{Occ, Outcome},
    stats::mean,
};

use super::{
    flags::{Clients, Seeds, Usual, clients, count, span, takes_hyphens},
    output::Output,
    report::{Cell, Chart, Line, Logarithmic, Report, Table},
    runs::Runs,
};

#[derive(Debug, clap::Args)]
#[command(mut_args(takes_hyphens))]
pub(crate) struct Args {
    #[command(flatten)]
    who: Clients,
    /// How many clients there are; several numbers to compare
    #[arg(long, value_delimiter = ',', default_value = "10,50,100,190", value_parser = clients())]
    clients: Vec<u32>,
    /// How long a message is under way on average
    #[arg(long, default_value = "10ms", value_parser = span)]
    delay: Duration,
    /// Its standard deviation
    #[arg(long, default_value = "2ms", value_parser = span)]
    deviation: Duration,
    /// Which ceiling of the schedule is the first, counted from 0
    #[arg(long, default_value_t = 1, value_parser = count::<u32>(0..=u32::MAX.into()))]
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
        let mut by_clients = Vec::new();
        for &clients in &self.clients {
            let plan = Occ {
                clients,
                delay: self.delay,
                deviation: self.deviation,
            };
            by_clients.push(self.seeds.run(&kinds, |behaviour, seed| {
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
            events: by_clients
                .iter()
                .map(|runs| runs.sum(|run| run.writes))
                .sum(),
            table: self.table(&by_clients),
            notes: self.exponents(&by_clients),
            charts: vec![
                self.chart(
                    "Writes until everybody has written",
                    "writes",
                    &by_clients,
                    writes,
                ),
                self.chart("Time until then", "ms", &by_clients, ms),
            ],
        })
    }

    fn table(&self, by_clients: &[Runs<'_, Outcome>]) -> Table {
        let rows = self.clients.iter().zip(by_clients).map(|(&clients, runs)| {
            runs.rows(|runs| {
                vec![
                    Cell::count(clients),
                    Cell::Number(writes(runs)),
                    Cell::Ms(Some(ms(runs))),
                    Cell::mean(runs.iter().map(|run| f64::from(run.gave_up))),
                ]
            })
        });
        Table {
            columns: vec![
                ("policy", "policy"),
                ("clients", "clients"),
                ("writes", "writes"),
                ("completed_ms", "done after"),
                ("gave_up", "gave up"),
            ],
            rows: rows.flatten().collect(),
        }
    }

    /// How the work grows from the first number of clients to the last.
    fn exponents(&self, by_clients: &[Runs<'_, Outcome>]) -> Vec<String> {
        let ([from, .., to], [few, .., many]) = (&self.clients[..], by_clients) else {
            return Vec::new();
        };
        let exponents = few.each().zip(many.each()).map(|((name, few), (_, many))| {
            let growth = writes(many) / writes(few);
            let exponent = growth.ln() / (f64::from(*to) / f64::from(*from)).ln();
            format!("{name} {exponent:.2}")
        });
        vec![format!(
            "From {from} to {to} clients the writes grow with their number to the power of: {}.",
            exponents.collect::<Vec<_>>().join(", ")
        )]
    }

    fn chart(
        &self,
        title: &str,
        y: &'static str,
        by_clients: &[Runs<'_, Outcome>],
        value: fn(&[Outcome]) -> f64,
    ) -> Chart {
        let names = by_clients.first().into_iter().flat_map(Runs::each);
        let lines = names.enumerate().map(|(kind, (name, _))| Line {
            name: name.to_owned(),
            points: (self.clients.iter().zip(by_clients))
                .map(|(&clients, runs)| (f64::from(clients), value(runs.of(kind))))
                .collect(),
        });
        Chart {
            title: title.into(),
            x: "clients",
            y,
            logarithmic: Logarithmic::Both,
            lines: lines.collect(),
        }
    }
}

fn writes(runs: &[Outcome]) -> f64 {
    mean(runs.iter().map(|run| run.writes as f64))
}

fn ms(runs: &[Outcome]) -> f64 {
    mean(runs.iter().map(|run| run.completed.as_secs_f64() * 1e3))
}
