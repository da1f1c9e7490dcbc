//! What several simulations ask for: which clients, and which seeds.

use std::{ops::RangeInclusive, time::Duration};

use anyhow::{Context, ensure};
use backoff_policy::parse_duration;
use clap::{Arg, Args, ValueHint};
use indicatif::{ProgressBar, ProgressStyle};
use storm::{fleet::Behaviour, over_seeds};

use super::runs::Runs;

/// The longest that is simulated: sums of a few spans stay far from the 584 years of 64 bits.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// Gives a flag the value that follows even if it begins with `-`, so that `--base -1s` is refused by
/// what a span is, not as an unknown flag. A path may be missing before the next flag.
pub(crate) fn takes_hyphens(arg: Arg) -> Arg {
    let value = !arg.is_positional() && arg.get_action().takes_values();
    match value && arg.get_value_hint() != ValueHint::AnyPath {
        true => arg.allow_hyphen_values(true),
        false => arg,
    }
}

/// Reads the value of a flag.
pub(crate) fn span(text: &str) -> anyhow::Result<Duration> {
    let span = parse_duration(text)?;
    ensure!(span <= LONGEST, "{text} is longer than a year of 8760h");
    Ok(span)
}

/// Reads a span that is not 0.
pub(crate) fn positive_span(text: &str) -> anyhow::Result<Duration> {
    let span = span(text)?;
    ensure!(!span.is_zero(), "{text} is not above 0");
    Ok(span)
}

/// Reads whole numbers of a range.
pub(crate) fn count<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> anyhow::Result<T> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        let (least, most) = (range.start(), range.end());
        number.with_context(|| format!("{text} is not a whole number from {least} to {most}"))
    }
}

/// How many clients take part.
pub(crate) fn clients() -> impl Fn(&str) -> anyhow::Result<u32> + Clone {
    count(1..=u32::MAX.into())
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
        let shaped = self.base.or(self.cap).is_some() || self.multiplier.is_some();
        let has_shape = |kind: &String| !["at-once", "grpc"].contains(&kind.as_str());
        ensure!(
            !shaped || kinds.iter().any(has_shape),
            "--base, --cap and --multiplier say nothing of {}: compare a --jitter",
            kinds.join(" and ")
        );
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
    #[arg(long, default_value_t = 1, value_parser = count::<u32>(1..=u32::MAX.into()))]
    pub(crate) seeds: u32,
    /// The first seed
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(0..=u64::MAX))]
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
        let end = end.with_context(|| {
            let Self { seed, seeds } = self;
            format!(
                "--seed {seed} --seeds {seeds}: the last seed is above {}",
                u64::MAX - 1
            )
        })?;
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
