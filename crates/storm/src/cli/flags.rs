//! What several simulations ask for: which clients, and which seeds.

use std::time::Duration;

use anyhow::{Context, ensure};
use backoff_policy::parse_duration;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use storm::{fleet::Behaviour, over_seeds};

use super::runs::Runs;

/// The longest that is simulated: sums of a few spans stay far from the 584 years of 64 bits.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// Reads the value of a flag.
pub(crate) fn span(text: &str) -> anyhow::Result<Duration> {
    let span = parse_duration(text)?;
    ensure!(span <= LONGEST, "it is longer than a year of 8760h");
    Ok(span)
}

/// Which clients take part. Without any of these flags the simulation has kinds of its own.
#[derive(Debug, Args)]
#[command(next_help_heading = "Clients")]
pub(crate) struct Clients {
    /// A policy to compare, again for each: a preset, such as `calls` or `grpc-call`; fields, such
    /// as `base=1s,cap=60s,jitter=full`; `grpc`, its connections; or `at-once`
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["jitter", "base", "cap", "multiplier"])]
    policy: Vec<String>,
    /// A kind of jitter to compare, again for each: `none`, `full`, `equal`, `decorrelated`,
    /// `proportional:1/5` ...
    #[arg(long, value_name = "KIND")]
    jitter: Vec<String>,
    /// The first ceiling of the compared kinds
    #[arg(long, value_parser = span)]
    base: Option<Duration>,
    /// Their greatest ceiling
    #[arg(long, value_parser = span)]
    cap: Option<Duration>,
    /// What their ceilings grow by
    #[arg(long, value_name = "RATIO")]
    multiplier: Option<String>,
}

/// What a simulation compares unless it is told.
pub(crate) struct Usual {
    pub(crate) base: &'static str,
    pub(crate) cap: &'static str,
    pub(crate) multiplier: &'static str,
    /// Kinds of jitter, and `at-once`, `constant` (the base each time) and `grpc`.
    pub(crate) kinds: &'static [&'static str],
}

/// Clients of one kind, by the name that the report has for them.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) behaviour: Behaviour,
}

impl Clients {
    /// Those that take part.
    pub(crate) fn named(&self, usual: &Usual) -> anyhow::Result<Vec<Named>> {
        let read = |name: &str, text: &str| {
            let behaviour = text.parse().with_context(|| name.to_owned())?;
            let name = name.to_owned();
            Ok(Named { name, behaviour })
        };
        if !self.policy.is_empty() {
            return self.policy.iter().map(|text| read(text, text)).collect();
        }
        let usual_kinds = || usual.kinds.iter().map(|&kind| kind.to_owned()).collect();
        let kinds: Vec<String> = match self.jitter.is_empty() {
            true => usual_kinds(),
            false => self.jitter.clone(),
        };
        let span = |given: Option<Duration>, usual: &str| {
            given.map_or_else(|| usual.to_owned(), |span| format!("{span:?}"))
        };
        let (base, cap) = (span(self.base, usual.base), span(self.cap, usual.cap));
        let multiplier = self.multiplier.as_deref().unwrap_or(usual.multiplier);
        let text = |kind: &str| match kind {
            "at-once" | "grpc" => kind.to_owned(),
            "constant" => format!("base={base},cap={base},multiplier=1,jitter=none"),
            _ => format!("base={base},cap={cap},multiplier={multiplier},jitter={kind}"),
        };
        kinds.iter().map(|kind| read(kind, &text(kind))).collect()
    }
}

/// How often, and by which chance.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub(crate) struct Seeds {
    /// How many runs to take the means of, each with a seed of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seeds: u32,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl Seeds {
    /// Runs the simulation of each kind with each seed; there is at least one.
    pub(crate) fn run<'a, T: Send>(
        &self,
        kinds: &'a [Named],
        run: impl Fn(&Behaviour, u64) -> T + Sync,
    ) -> anyhow::Result<Runs<'a, T>> {
        let end = self.seed.checked_add(u64::from(self.seeds));
        let end = end.with_context(|| format!("the seed {} is too large", self.seed))?;
        ensure!(!kinds.is_empty(), "there is nothing to compare");
        let bar = ProgressBar::new(kinds.len() as u64 * u64::from(self.seeds)); // on a terminal only
        let style = "{wide_bar} {pos} of {len} runs, {elapsed}";
        bar.set_style(ProgressStyle::with_template(style).expect("it is valid"));
        bar.enable_steady_tick(Duration::from_millis(200));
        let outcomes = kinds.iter().map(|kind| {
            over_seeds(self.seed..end, |seed| {
                let outcome = run(&kind.behaviour, seed);
                bar.inc(1);
                outcome
            })
        });
        let outcomes = outcomes.collect();
        bar.finish_and_clear();
        Ok(Runs::new(kinds, outcomes))
    }
}
