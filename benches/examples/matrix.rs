//! How fast the transport is over a table of links, in virtual time: the same numbers everywhere.
//!
//! `cargo run --release -p benches --example matrix -- [--rows a,b] [--seeds N]`

use std::env;

use anyhow::{Context, Result, ensure};
use conformance::matrix::{Bulk, Row, measure, rows};

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let (mut wanted, mut seeds) = (None, 5);
    for pair in arguments.chunks(2) {
        let value = pair.get(1).context("usage: [--rows a,b] [--seeds N]")?;
        match pair[0].as_str() {
            "--rows" => wanted = Some(value.split(',').collect::<Vec<_>>()),
            "--seeds" => seeds = value.parse().context("--seeds takes a number")?,
            other => anyhow::bail!("{other} is neither --rows nor --seeds"),
        }
    }
    ensure!(seeds > 0, "--seeds is at least 1");
    println!(
        "{:<48}{:>9}{:>7}{:>12}{:>8}{:>10}{:>10}",
        "16 MiB, 100 Mbit/s, median",
        "Mbit/s",
        "gate",
        "overhead %",
        "lost",
        "spurious",
        "timeouts"
    );
    for row in rows() {
        if wanted
            .as_ref()
            .is_none_or(|wanted| wanted.contains(&row.name))
        {
            print(&row, &measure(&row, seeds));
        }
    }
    Ok(())
}

fn print(row: &Row, measured: &Bulk) {
    #[expect(clippy::cast_precision_loss, reason = "small numbers, for people")]
    let scaled = |number: u64, unit: f64| number as f64 / unit;
    println!(
        "{:<48}{:>9.1}{:>7.0}{:>12.1}{:>8}{:>10}{:>10}",
        format!("{:<3} {}", row.name, row.what),
        scaled(measured.goodput, 1e3),
        scaled(row.gate, 1e3),
        scaled(measured.overhead, 10.0),
        measured.lost,
        measured.spurious,
        measured.timeouts,
    );
}
