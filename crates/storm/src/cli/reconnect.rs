use std::time::Duration;

use storm::reconnect::{Outcome, Reconnect};

use super::{
    flags::{Clients, Seeds, Usual, clients, positive_span, span, takes_hyphens},
    output::Output,
    plot::{arrivals, bins},
    report::{Cell, Chart, Logarithmic, Report, Table, thousands, words},
    runs::Runs,
};

#[derive(Debug, clap::Args)]
#[command(mut_args(takes_hyphens))]
pub(crate) struct Args {
    #[command(flatten)]
    who: Clients,
    /// How many clients there are
    #[arg(long, default_value_t = 10_000, value_parser = clients())]
    clients: u32,
    /// How long the server is away
    #[arg(long, default_value = "60s", value_parser = span)]
    outage: Duration,
    /// How long an attempt takes to fail
    #[arg(long, default_value = "0s", value_parser = span)]
    round_trip: Duration,
    /// The width of the bins in which attempts are counted
    #[arg(long, default_value = "100ms", value_parser = positive_span)]
    bin: Duration,
    #[command(flatten)]
    seeds: Seeds,
    #[command(flatten)]
    pub(crate) output: Output,
}

const USUAL: Usual = Usual {
    base: "1s",
    cap: "120s",
    multiplier: "8/5",
    kinds: &["grpc"],
};

impl Args {
    pub(crate) fn report(&self) -> anyhow::Result<Report> {
        let kinds = self.who.named(&USUAL)?;
        let plan = Reconnect {
            clients: self.clients,
            outage: self.outage,
            round_trip: self.round_trip,
            bin: self.bin,
        };
        let runs = self
            .seeds
            .run(&kinds, |behaviour, seed| plan.run(behaviour, seed))?;
        Ok(Report {
            simulation: "reconnect",
            title: format!(
                "A server of {} clients is away for {}, and each dials until it is back. Runs: {}.",
                thousands(self.clients.into()),
                words(self.outage),
                self.seeds.seeds
            ),
            given: vec![
                ("clients", Cell::count(self.clients)),
                ("outage_ms", Cell::span(self.outage)),
                ("round_trip_ms", Cell::span(self.round_trip)),
                ("bin_ms", Cell::span(self.bin)),
                ("seed", Cell::count(self.seeds.seed)),
                ("seeds", Cell::count(self.seeds.seeds)),
            ],
            events: runs.sum(|run| run.attempts),
            table: table(&runs),
            notes: Vec::new(),
            charts: self.charts(&runs),
        })
    }

    /// Of the first run of each.
    fn charts(&self, runs: &Runs<'_, Outcome>) -> Vec<Chart> {
        let last = runs
            .firsts()
            .filter_map(|(_, run)| run.recovery.last())
            .max();
        let end = last.map_or(0.0, |&last| last as f64 / 1e9);
        let dialled = runs.firsts().map(|(name, run)| bins(name, &run.arrivals));
        let back = runs
            .firsts()
            .map(|(name, run)| arrivals(name, &run.recovery, end));
        vec![
            Chart {
                title: format!("Attempts within {:?}", self.bin),
                x: "seconds since the server went",
                y: "attempts",
                logarithmic: Logarithmic::Y,
                lines: dialled.collect(),
            },
            Chart {
                title: "Clients that are back".into(),
                x: "seconds since the server came back",
                y: "clients",
                logarithmic: Logarithmic::Neither,
                lines: back.collect(),
            },
        ]
    }
}

fn table(runs: &Runs<'_, Outcome>) -> Table {
    let row = |runs: &[Outcome]| {
        let back = |share| Cell::mean_span(runs.iter().map(|run| run.recovered(share)));
        vec![
            Cell::mean(runs.iter().map(|run| run.attempts as f64)),
            Cell::mean(runs.iter().map(|run| run.peak() as f64)),
            back(0.5),
            back(0.99),
            back(1.0),
            Cell::mean(runs.iter().map(|run| f64::from(run.gave_up))),
        ]
    };
    Table {
        columns: vec![
            ("policy", "policy"),
            ("attempts", "attempts"),
            ("peak", "most in a bin"),
            ("back_p50_ms", "half are back"),
            ("back_p99_ms", "99 %"),
            ("back_all_ms", "all"),
            ("gave_up", "gave up"),
        ],
        rows: runs.rows(row),
    }
}
