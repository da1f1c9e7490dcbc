use std::time::Duration;

use storm::{
    Capacity,
    collapse::{Collapse, Outcome},
};

use super::{
    flags::{Clients, Seeds, Usual, clients, count, positive_span, span, takes_hyphens},
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
    #[arg(long, default_value_t = 2_000, value_parser = clients())]
    clients: u32,
    /// How long the server is away
    #[arg(long, default_value = "30s", value_parser = span)]
    outage: Duration,
    /// How long after that to go on at most
    #[arg(long, default_value = "5m", value_parser = span)]
    limit: Duration,
    /// The way to the server and back
    #[arg(long, default_value = "20ms", value_parser = positive_span)]
    round_trip: Duration,
    /// How long an attempt may take: 5 s unless it says otherwise, and 20 s for `grpc`
    #[arg(long, value_parser = positive_span)]
    timeout: Option<Duration>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    seeds: Seeds,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
struct Server {
    /// Connections that it accepts per second while nobody waits; most of the work is TLS
    #[arg(long, default_value_t = 200, value_parser = count::<u32>(1..=1_000_000))]
    rate: u32,
    /// How many may wait
    #[arg(long, default_value_t = 1_024, value_parser = count::<u32>(1..=u32::MAX.into()))]
    queue: u32,
    /// How many times as long each takes when the queue is full
    #[arg(long, default_value_t = 2, value_parser = count::<u32>(1..=1_000))]
    slowdown: u32,
    /// What an attempt takes from it by arriving, even if it is refused
    #[arg(long, default_value = "20us", value_parser = span)]
    arrival: Duration,
}

const USUAL: Usual = Usual {
    base: "1s",
    cap: "120s",
    multiplier: "8/5",
    kinds: &[
        "at-once",
        "constant",
        "none",
        "full",
        "equal",
        "decorrelated",
        "grpc",
    ],
};

impl Args {
    pub(crate) fn report(&self) -> anyhow::Result<Report> {
        let timeout = self.timeout.unwrap_or(Collapse::EXAMPLE.timeout);
        let mut kinds = self.who.named(&USUAL)?;
        if let Some(timeout) = self.timeout {
            for kind in &mut kinds {
                kind.behaviour = kind.behaviour.clone().with_connect_timeout(timeout)?;
            }
        }
        let plan = Collapse {
            clients: self.clients,
            outage: self.outage,
            limit: self.limit,
            round_trip: self.round_trip,
            timeout,
            server: Capacity {
                rate: self.server.rate,
                queue: self.server.queue,
                slowdown: self.server.slowdown,
                arrival: self.server.arrival,
            },
        };
        let runs = self
            .seeds
            .run(&kinds, |behaviour, seed| plan.run(behaviour, seed))?;
        Ok(Report {
            simulation: "collapse",
            title: format!(
                "{} clients lose their server, which is back after {} and accepts {} a second. At most {:?}; runs: {}.",
                thousands(self.clients.into()),
                words(self.outage),
                self.server.rate,
                self.limit,
                self.seeds.seeds
            ),
            given: vec![
                ("clients", Cell::count(self.clients)),
                ("outage_ms", Cell::span(self.outage)),
                ("limit_ms", Cell::span(self.limit)),
                ("round_trip_ms", Cell::span(self.round_trip)),
                ("timeout_ms", Cell::span(timeout)),
                ("rate", Cell::count(self.server.rate)),
                ("queue", Cell::count(self.server.queue)),
                ("slowdown", Cell::count(self.server.slowdown)),
                ("arrival_ms", Cell::span(self.server.arrival)),
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
        // Who never recovers shows that as well by somewhat more than the time of the others.
        let last = runs
            .firsts()
            .filter_map(|(_, run)| run.recovery.last())
            .max();
        let end = last.map_or(0.0, |&last| last as f64 / 1e9) * 1.1;
        let back = runs
            .firsts()
            .map(|(name, run)| arrivals(name, &run.recovery, end));
        let until = end + self.outage.as_secs_f64();
        let dialled = runs.firsts().map(|(name, run)| {
            let mut line = bins(name, &run.arrivals);
            line.points.retain(|&(at, _)| at <= until);
            line
        });
        vec![
            Chart {
                title: "Clients that are back".into(),
                x: "seconds since the server came back",
                y: "clients",
                logarithmic: Logarithmic::Neither,
                lines: back.collect(),
            },
            Chart {
                title: "Attempts within 100 ms".into(),
                x: "seconds since the server went",
                y: "attempts",
                logarithmic: Logarithmic::Y,
                lines: dialled.collect(),
            },
        ]
    }
}

fn table(runs: &Runs<'_, Outcome>) -> Table {
    let row = |runs: &[Outcome]| {
        let back = |share| Cell::mean_span(runs.iter().map(|run| run.recovered(share)));
        let mean = |value: fn(&Outcome) -> f64| Cell::mean(runs.iter().map(value));
        let wasted = runs.iter().map(|run| run.work.wasted() * 100.0);
        vec![
            mean(|run| run.recovery.len() as f64),
            back(0.5),
            back(0.99),
            back(1.0),
            mean(|run| run.attempts as f64),
            mean(|run| run.refused as f64),
            mean(|run| f64::from(run.gave_up)),
            Cell::Percent(storm::stats::mean(wasted)),
        ]
    };
    Table {
        columns: vec![
            ("policy", "policy"),
            ("back", "back"),
            ("back_p50_ms", "half are back"),
            ("back_p99_ms", "99 %"),
            ("back_all_ms", "all"),
            ("attempts", "attempts"),
            ("refused", "refused"),
            ("gave_up", "gave up"),
            ("wasted_percent", "work wasted"),
        ],
        rows: runs.rows(row),
    }
}
