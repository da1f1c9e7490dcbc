//! The transport beside the kernel's TCP, quinn and KCP, over the same links in real time.
//!
//! ```text
//! link-bench ─▶ measure: what runs when ─▶ lab: a tunnel of netsim-tun, two namespaces
//!      │                                     └▶ peer: this program again, in each of them
//!      └▶ report: BENCHMARKS.md, pictures
//! ```
//!
//! `README.md` beside this says how to run it.

mod gates;
mod lab;
mod measure;
mod peer;
mod plan;
mod protocol;
mod report;
mod results;
mod system;

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::{Parser, Subcommand};

use measure::Subject;
use plan::Plan;
use protocol::Protocol;
use results::Results;

/// The transport beside others over real links; needs root
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure, print the tables, and put them into BENCHMARKS.md
    Run(Run),
    /// Write the tables and pictures of a session again
    Report {
        /// What `run` kept
        #[arg(default_value_os_t = kept())]
        results: PathBuf,
    },
    #[command(hide = true)]
    Peer(peer::Peer),
}

#[derive(clap::Args, Debug)]
struct Run {
    /// One seed and the rows that tell most, in about 5 minutes
    #[arg(long)]
    quick: bool,
    /// So many seeds; 3 unless quick
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: Option<u64>,
    /// Only these subjects; then BENCHMARKS.md stays as it is
    #[arg(long, value_delimiter = ',')]
    only: Vec<Subject>,
    /// Only these protocols; then BENCHMARKS.md stays as it is
    #[arg(long, value_delimiter = ',')]
    protocols: Vec<Protocol>,
    /// Only print the tables
    #[arg(long)]
    dry: bool,
    /// Where to keep what was measured
    #[arg(long, value_name = "FILE", default_value_os_t = kept())]
    results: PathBuf,
}

fn kept() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/results.json"))
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Run(run) => run.run(),
        Command::Report { results } => {
            let text =
                fs::read_to_string(&results).with_context(|| results.display().to_string())?;
            report::write(&serde_json::from_str(&text)?)
        }
        Command::Peer(peer) => peer.run(),
    }
}

impl Run {
    fn run(self) -> anyhow::Result<()> {
        let mut plan = Plan::new(self.quick);
        if let Some(seeds) = self.seeds {
            plan.seeds = (1..=seeds).collect();
        }
        let whole = self.only.is_empty() && self.protocols.is_empty() && !self.dry;
        let subjects = or_all(self.only, || Subject::of(&plan));
        let protocols = or_all(self.protocols, || Protocol::ALL.into());
        let keys = tempfile::tempdir()?;
        peer::write_keys(keys.path())?;
        let results: Results = measure::run(&plan, &subjects, &protocols, keys.path())?;
        if let Some(folder) = self.results.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.results, serde_json::to_string_pretty(&results)?)?;
        println!("{}", report::markdown(&results));
        if whole {
            report::write(&results)?;
        }
        Ok(())
    }
}

fn or_all<T>(chosen: Vec<T>, all: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if chosen.is_empty() { all() } else { chosen }
}
