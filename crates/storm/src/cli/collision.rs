use std::time::Duration;

use storm::collision::{Collision, Outcome};

use super::{
    flags::{Clients, Seeds, Usual, clients, count, span, takes_hyphens},
    output::Output,
    plot::{arrivals, steps},
    report::{Cell, Chart, Logarithmic, Report, Table, thousands},
    runs::Runs,
};

#[derive(Debug, clap::Args)]
#[command(mut_args(takes_hyphens))]
pub(crate) struct Args {
    #[command(flatten)]
    who: Clients,
    /// How many clients there are
    #[arg(long, default_value_t = 100, value_parser = clients())]
    clients: u32,
    /// How long it goes on
    #[arg(long, default_value = "200s", value_parser = span)]
    window: Duration,
    /// Which ceiling of the schedule is the first, counted from 0
    #[arg(long, default_value_t = 1, value_parser = count::<u32>(0..=u32::MAX.into()))]
    first_ceiling: u32,
    #[command(flatten)]
    seeds: Seeds,
    #[command(flatten)]
    pub(crate) output: Output,
}

const USUAL: Usual = Usual {
    base: "10ms",
    cap: "1s",
    multiplier: "2",
    kinds: &["none", "full", "equal", "decorrelated", "proportional:1/5"],
};

impl Args {
    pub(crate) fn report(&self) -> anyhow::Result<Report> {
        let kinds = self.who.named(&USUAL)?;
        let plan = Collision {
            clients: self.clients,
            window: self.window,
        };
        let runs = self.seeds.run(&kinds, |behaviour, seed| {
            plan.run(&behaviour.clone().from_ceiling(self.first_ceiling), seed)
        })?;
        Ok(Report {
            simulation: "collision",
            title: format!(
                "{} clients fire at once into slots of 1 ms; two in a slot destroy each other. {:?}, runs: {}.",
                thousands(self.clients.into()),
                self.window,
                self.seeds.seeds
            ),
            given: vec![
                ("clients", Cell::count(self.clients)),
                ("window_ms", Cell::span(self.window)),
                ("first_ceiling", Cell::count(self.first_ceiling)),
                ("seed", Cell::count(self.seeds.seed)),
                ("seeds", Cell::count(self.seeds.seeds)),
            ],
            events: runs.sum(|run| run.attempts),
            table: self.table(&runs),
            notes: Vec::new(),
            charts: charts(&runs),
        })
    }

    fn table(&self, runs: &Runs<'_, Outcome>) -> Table {
        // A run in which somebody is left has no end.
        let ends = |outcomes: &[Outcome]| -> Vec<Option<Duration>> {
            let end = |outcome: &Outcome| outcome.drained.get(self.clients as usize - 1).copied();
            outcomes.iter().map(end).collect()
        };
        let row = |outcomes: &[Outcome]| {
            let ends = ends(outcomes);
            let latest = ends.iter().copied().collect::<Option<Vec<_>>>();
            let of = |value: fn(&Outcome) -> f64| Cell::mean(outcomes.iter().map(value));
            vec![
                of(|outcome| outcome.attempts as f64),
                of(|outcome| outcome.drained.len() as f64),
                of(|outcome| f64::from(outcome.gave_up)),
                Cell::mean_span(ends),
                Cell::mean_span([latest.and_then(|ends| ends.into_iter().max())]),
            ]
        };
        Table {
            columns: vec![
                ("policy", "policy"),
                ("attempts", "attempts"),
                ("drained", "got through"),
                ("gave_up", "gave up"),
                ("drain_ms", "the last after"),
                ("drain_most_ms", "at most"),
            ],
            rows: runs.rows(row),
        }
    }
}

/// Of the first run of each.
fn charts(runs: &Runs<'_, Outcome>) -> Vec<Chart> {
    // Beyond the last success nothing moves any more.
    let last = runs
        .firsts()
        .filter_map(|(_, run)| run.drained.last())
        .max();
    let end = last.map_or(10.0, |last| last.as_secs_f64() * 1.1);
    let drained = runs.firsts().map(|(name, run)| {
        let instants: Vec<_> = run.drained.iter().map(|at| at.as_nanos() as u64).collect();
        arrivals(name, &instants, end)
    });
    let attempts = runs.firsts().map(|(name, run)| {
        let mut sum = 0;
        let sums = run.arrivals.iter().map(|&(at, count)| {
            sum += count;
            (at.as_secs_f64(), f64::from(sum))
        });
        steps(name, sums.take_while(|&(at, _)| at <= end))
    });
    vec![
        Chart {
            title: "Clients that got through".into(),
            x: "seconds",
            y: "clients",
            logarithmic: Logarithmic::Neither,
            lines: drained.collect(),
        },
        Chart {
            title: "Attempts until then".into(),
            x: "seconds",
            y: "attempts",
            logarithmic: Logarithmic::Neither,
            lines: attempts.collect(),
        },
    ]
}
