//! How fast the transport is, how fair, and how soon it is back, in virtual time: the same numbers
//! everywhere. The tables beside their gates:
//!
//! `cargo run --release -p benches --example matrix -- [--rows a,b] [--seeds N]`
//!
//! Each number is the median of five seeds or of as many as `--seeds` says.

use std::{env, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use conformance::matrix::{self, fairness, messages, outage};

/// What the command line asks for.
struct Wanted {
    /// The names of rows; none stands for all of them.
    rows: Vec<String>,
    seeds: u64,
}

impl Wanted {
    fn new(arguments: &[String]) -> Result<Self> {
        let (mut rows, mut seeds) = (Vec::new(), 5);
        for pair in arguments.chunks(2) {
            let value = pair.get(1).context("usage: [--rows a,b] [--seeds N]")?;
            match pair[0].as_str() {
                "--rows" => rows = value.split(',').map(String::from).collect(),
                "--seeds" => seeds = value.parse().context("--seeds takes a number")?,
                other => bail!("{other} is neither --rows nor --seeds"),
            }
        }
        ensure!(seeds > 0, "--seeds is at least 1");
        Ok(Self { rows, seeds })
    }

    /// Prints a table of the rows that are wanted, unless there are none.
    fn table<R>(&self, title: &str, rows: &[R], name: fn(&R) -> &str, line: impl Fn(&R) -> String) {
        let all = self.rows.is_empty();
        let wanted = |row: &&R| all || self.rows.iter().any(|wanted| wanted == name(row));
        for (index, row) in rows.iter().filter(wanted).enumerate() {
            if index == 0 {
                println!("{title}");
            }
            println!("{:<4}{}", name(row), line(row));
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let wanted = Wanted::new(&arguments)?;
    transfers(&wanted);
    small_messages(&wanted);
    outages(&wanted);
    shares(&wanted);
    Ok(())
}

fn transfers(wanted: &Wanted) {
    let title = "16 MiB over 100 Mbit/s                              Mbit/s   gate  overhead %    lost \
                 spurious  timeouts";
    wanted.table(
        title,
        &matrix::rows(),
        |row| row.name,
        |row| {
            let it = matrix::measure(row, wanted.seeds);
            format!(
                "{:<48}{:>6}{:>7}{:>12}{:>8}{:>10}{:>10}",
                row.what,
                thousandths(it.goodput),
                gate(row.gate, thousandths),
                thousandths(100 * it.overhead),
                it.lost,
                it.spurious,
                it.timeouts
            )
        },
    );
}

fn small_messages(wanted: &Wanted) {
    let title = "100 B every 20 ms, 40 ms                           p50 ms    p99   gate  p99.9   gate \
                 wire B  timeouts";
    wanted.table(
        title,
        &messages::ROWS,
        |row| row.name,
        |row| {
            let it = messages::measure(row, wanted.seeds);
            format!(
                "{:<47}{:>6}{:>7}{:>7}{:>7}{:>7}{:>7}{:>10}",
                format!("{} % loss", row.loss),
                ms(it.p50),
                ms(it.p99),
                ms(row.gate[0]),
                ms(it.p999),
                ms(row.gate[1]),
                it.wire_bytes,
                it.timeouts
            )
        },
    );
}

fn outages(wanted: &Wanted) {
    let title =
        "the same stream, 40 ms                        silence after ms   gate  later gap   lost";
    wanted.table(
        title,
        &outage::ROWS,
        |row| row.name,
        |row| {
            let it = outage::measure(row, wanted.seeds);
            format!(
                "{:<47}{:>11}{:>7}{:>11}{:>7}",
                format!("dark for {:?}", row.dark),
                ms(it.silence),
                gate(row.gate, ms),
                ms(it.later_gap),
                it.lost
            )
        },
    );
}

fn shares(wanted: &Wanted) {
    let title =
        "two flows                                   Mbit/s: one, other   Jain   gate  dropped";
    wanted.table(
        title,
        &fairness::rows(),
        |row| row.name,
        |row| {
            let it = fairness::measure(row, wanted.seeds);
            format!(
                "{:<45}{:>6}{:>8}{:>8}{:>7}{:>9}",
                row.what,
                thousandths(it.goodput[0]),
                thousandths(it.goodput[1]),
                in_full(it.jain),
                gate(row.gate, in_full),
                it.dropped
            )
        },
    );
}

/// A gate, where there is one.
fn gate<T>(gate: Option<T>, shown: fn(T) -> String) -> String {
    gate.map_or_else(|| "-".into(), shown)
}

/// A number given in thousandths, with one decimal.
fn thousandths(number: u64) -> String {
    format!("{}.{}", number / 1_000, number % 1_000 / 100)
}

/// The same with three decimals.
fn in_full(number: u64) -> String {
    format!("{}.{:03}", number / 1_000, number % 1_000)
}

fn ms(time: Duration) -> String {
    time.as_millis().to_string()
}
