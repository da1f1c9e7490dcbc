//! The program `rudp`: files over UDP, through whatever the network does.

mod cli;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use cli::{EXIT_CODES, demo, plot, recv, relay, send};

/// Sends files over UDP, through loss, reordering and servers that die
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Receive files into a folder
    Recv(recv::Args),
    /// Send files to a receiver
    #[command(after_help = EXIT_CODES)]
    Send(send::Args),
    /// Relay datagrams, as badly as you ask
    Relay(relay::Args),
    /// See a file cross a hostile network, in about 45 seconds
    #[command(after_help = EXIT_CODES)]
    Demo(demo::Args),
    /// Draw what a trace tells: round trips, windows, rates, losses
    Plot(plot::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // RUST_LOG=rudp=trace shows everything.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match cli.command {
        Command::Recv(args) => args.run().await.into(),
        Command::Send(args) => args.run().await.into(),
        Command::Relay(args) => args.run().await.into(),
        Command::Demo(args) => args.run().await.into(),
        Command::Plot(args) => args.run().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, ValueHint};

    #[test]
    fn every_flag_says_by_which_rule_it_refuses_a_value() {
        let mut command = Cli::command();
        command.build(); // which also checks that the flags make sense
        for program in command.get_subcommands() {
            let flags = program.get_opts().filter(|flag| {
                let is_path = flag.get_value_hint() == ValueHint::AnyPath;
                flag.get_action().takes_values() && !is_path
            });
            for flag in flags.filter_map(|flag| flag.get_long()) {
                let words = ["rudp", program.get_name(), &format!("--{flag}"), "-5x"];
                let error = Cli::try_parse_from(words).expect_err(flag).to_string();
                let refused = format!("invalid value '-5x' for '--{flag} <");
                let broken = error.contains("-5x` is not ") || error.contains(">': not ");
                assert!(error.contains(&refused) && broken, "{error}");
            }
        }
    }
}
