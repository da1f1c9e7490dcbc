//! Flags in, reports out.

use std::{io::Write, process::ExitCode, time::Instant};

use clap::{Parser, Subcommand};

mod collapse;
mod collision;
mod explain;
mod flags;
mod herd;
mod occ;
mod output;
mod page;
mod plot;
mod reconnect;
mod report;
mod runs;

use output::Output;
use report::Report;

/// What fleets of clients do to a server, and what a backoff policy changes about it.
///
/// Every simulation compares policies in virtual time: the same seed gives the same result
/// everywhere. It prints a table; plots and files on demand.
#[derive(Debug, Parser)]
#[command(
    name = "storm",
    version,
    after_help = "Exit codes: 0 all went well, 1 error, 2 wrong usage"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Clients that share a channel: two at once destroy each other's attempt
    Collision(collision::Args),
    /// Clients that write one row, each if nobody wrote since it read (optimistic concurrency)
    Occ(occ::Args),
    /// Clients that fail together: how close together they come back
    Herd(herd::Args),
    /// A server is away, and its clients dial until it is back
    Reconnect(reconnect::Args),
    /// A server of limited capacity comes back, and may never recover from its clients
    Collapse(collapse::Args),
    /// What a policy does: its waits, what they take together, what is risky in it
    Explain(explain::Args),
}

impl Command {
    fn report(&self) -> anyhow::Result<Report> {
        match self {
            Self::Collision(args) => args.report(),
            Self::Occ(args) => args.report(),
            Self::Herd(args) => args.report(),
            Self::Reconnect(args) => args.report(),
            Self::Collapse(args) => args.report(),
            Self::Explain(args) => args.report(),
        }
    }

    fn output(&self) -> &Output {
        match self {
            Self::Collision(args) => &args.output,
            Self::Occ(args) => &args.output,
            Self::Herd(args) => &args.output,
            Self::Reconnect(args) => &args.output,
            Self::Collapse(args) => &args.output,
            Self::Explain(args) => &args.output,
        }
    }
}

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    #[expect(clippy::disallowed_methods, reason = "says how long it took")]
    let start = Instant::now();
    let report = match cli.command.report() {
        Ok(report) => report,
        Err(error) => {
            print_error(error);
            return ExitCode::from(2); // nothing but flags goes into it
        }
    };
    match cli.command.output().write(&report) {
        Ok(()) => {
            let events = report.events;
            let seconds = start.elapsed().as_secs_f64();
            if events > 0 {
                let each = seconds * 1e9 / events as f64;
                _ = writeln!(
                    std::io::stderr(),
                    "{events} attempts in {seconds:.2} s, {each:.0} ns each"
                );
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            print_error(error);
            ExitCode::FAILURE
        }
    }
}

fn print_error(error: anyhow::Error) {
    _ = writeln!(std::io::stderr(), "storm: {error:#}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_make_sense() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_says_by_which_rule_it_refuses_a_value() {
        let rules = ["is not a whole number from", "(B1)", "(B18)"];
        let mut command = Cli::command();
        command.build();
        for simulation in command
            .get_subcommands()
            .filter(|it| it.get_name() != "help")
        {
            let flags = simulation.get_opts().filter(|flag| {
                let path = flag.get_value_hint() == clap::ValueHint::AnyPath;
                flag.get_action().takes_values() && !path
            });
            for flag in flags.filter_map(|flag| flag.get_long()) {
                let needed: &[_] = match (simulation.get_name(), flag) {
                    ("explain", _) => &["calls"],
                    (_, "multiplier") => &["--jitter", "full"], // whose it is
                    _ => &[],
                };
                let name = format!("--{flag}");
                let words = ["storm", simulation.get_name()]
                    .into_iter()
                    .chain(needed.iter().copied());
                let words = words.chain([name.as_str(), "-5ms"]);
                let error = match Cli::try_parse_from(words).map(|cli| cli.command.report()) {
                    Err(error) => error.to_string(),
                    Ok(Err(error)) => format!("{error:#}"),
                    Ok(Ok(_)) => panic!("{} {name} -5ms", simulation.get_name()),
                };
                let said = error.contains("-5ms") && rules.iter().any(|rule| error.contains(rule));
                assert!(said, "{} {name}: {error}", simulation.get_name());
            }
        }
    }

    #[test]
    fn every_command_of_the_guide_is_one() {
        let guide = include_str!("../../CHOOSING.md");
        let quoted = guide.split('`').skip(1).step_by(2); // blocks of code too: they have three
        let shown = guide.lines().filter_map(|line| line.strip_prefix("$ "));
        let commands = quoted
            .chain(shown)
            .filter(|text| text.starts_with("storm "));
        let commands: Vec<_> = commands.filter(|text| *text != "storm explain").collect();
        assert!(commands.len() > 10, "{commands:?}");
        for command in commands {
            if let Err(error) = Cli::try_parse_from(command.split(' ')) {
                panic!("{command}: {error}");
            }
        }
    }
}
