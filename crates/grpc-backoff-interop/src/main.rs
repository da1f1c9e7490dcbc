//! The program `grpc-backoff-interop`: gRPC's reconnect interop test, both sides.

mod cli;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// gRPC's reconnect interop test: does a client come back as the connection backoff asks?
#[derive(Debug, Parser)]
#[command(version, after_help = cli::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Dial a retry port that never accepts, and ask the server how that was
    #[command(after_help = cli::EXIT_CODES)]
    Client(cli::client::Args),
    /// Watch and judge the clients that dial the retry ports, until it is stopped
    #[command(after_help = cli::EXIT_CODES)]
    Server(cli::server::Args),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Client(args) => args.run().await,
        Command::Server(args) => args.run().await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
