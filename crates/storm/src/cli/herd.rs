use std::time::Duration;

use storm::{herd::Herd, stats::mean};

use super::{
    flags::{Clients, Seeds, Usual, clients, count, span, takes_hyphens},
    output::Output,
    report::{Cell, Chart, Logarithmic, Report, Table, thousands},
};

#[derive(Debug, clap::Args)]
#[command(mut_args(takes_hyphens))]
pub(crate) struct Args {
    #[command(flatten)]
    who: Clients,
    /// How many clients there are
    #[arg(long, default_value_t = 500, value_parser = clients())]
    clients: u32,
    /// How many times each comes back
    #[arg(long, default_value_t = 6, value_parser = count::<u32>(1..=WAVES.len() as u64))]
    waves: u32,
    /// The window that slides over the arrivals
    #[arg(long, default_value = "100ms", value_parser = span)]
    window: Duration,
    #[command(flatten)]
    seeds: Seeds,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) const USUAL: Usual = Usual {
    base: "1s",
    cap: "60s",
    multiplier: "2",
    kinds: &["none", "proportional:1/5", "equal", "full", "decorrelated"],
};

/// Names of the columns.
const WAVES: [(&str, &str); 12] = [
    ("wave_1", "1st"),
    ("wave_2", "2nd"),
    ("wave_3", "3rd"),
    ("wave_4", "4th"),
    ("wave_5", "5th"),
    ("wave_6", "6th"),
    ("wave_7", "7th"),
    ("wave_8", "8th"),
    ("wave_9", "9th"),
    ("wave_10", "10th"),
    ("wave_11", "11th"),
    ("wave_12", "12th"),
];

impl Args {
    pub(crate) fn report(&self) -> anyhow::Result<Report> {
        let kinds = self.who.named(&USUAL)?;
        let plan = Herd {
            clients: self.clients,
            waves: self.waves,
            window: self.window,
        };
        let runs = self
            .seeds
            .run(&kinds, |behaviour, seed| plan.run(behaviour, seed))?;
        let row = |runs: &[_]| means(runs).into_iter().map(Cell::Number).collect();
        let points = |runs: &[_]| (1..).map(f64::from).zip(means(runs)).collect();
        let waves = WAVES.into_iter().take(self.waves as usize);
        Ok(Report {
            simulation: "herd",
            title: format!(
                "{} clients fail together again and again. The most that come back within {:?}, by retry; runs: {}.",
                thousands(self.clients.into()),
                self.window,
                self.seeds.seeds
            ),
            given: vec![
                ("clients", Cell::count(self.clients)),
                ("window_ms", Cell::span(self.window)),
                ("waves", Cell::count(self.waves)),
                ("seed", Cell::count(self.seeds.seed)),
                ("seeds", Cell::count(self.seeds.seeds)),
            ],
            events: 0,
            table: Table {
                columns: [("policy", "policy")].into_iter().chain(waves).collect(),
                rows: runs.rows(row),
            },
            notes: Vec::new(),
            charts: vec![Chart {
                title: format!("Most arrivals within {:?}", self.window),
                x: "retry",
                y: "clients",
                logarithmic: Logarithmic::Y,
                lines: runs.lines(points),
            }],
        })
    }
}

/// The mean peak of each wave.
pub(crate) fn means(runs: &[Vec<usize>]) -> Vec<f64> {
    let waves = runs.first().map_or(0, Vec::len);
    (0..waves)
        .map(|wave| mean(runs.iter().map(|run| run[wave] as f64)))
        .collect()
}
