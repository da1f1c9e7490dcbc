//! How fast the transport is, how fair, and how soon it is back, in virtual time: the same numbers
//! everywhere. The tables beside their gates:
//!
//! `cargo run --release -p benches --example matrix -- [--rows a,b] [--seeds N] [--congestion NAME]`
//!
//! Each number is the median of five seeds or of as many as `--seeds` says. With `--congestion` NAME,
//! ours is not the default controller but that one: NewReno, Cubic or Bbr.

use std::{env, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use conformance::matrix::{self, Bound, deadline, fairness, messages, outage};
use rudp_proto::{Config, Congestion};

/// What the command line asks for.
struct Wanted {
    /// The names of rows; none stands for all of them.
    rows: Vec<String>,
    seeds: u64,
    congestion: Option<Congestion>,
}

impl Wanted {
    fn new(arguments: &[String]) -> Result<Self> {
        let mut it = Self {
            rows: Vec::new(),
            seeds: 5,
            congestion: None,
        };
        for pair in arguments.chunks(2) {
            let value = pair
                .get(1)
                .context("usage: [--rows a,b] [--seeds N] [--congestion NAME]")?;
            match pair[0].as_str() {
                "--rows" => it.rows = value.split(',').map(String::from).collect(),
                "--seeds" => it.seeds = value.parse().context("--seeds takes a number")?,
                "--congestion" => it.congestion = Some(congestion(value)?),
                other => bail!("{other} is none of --rows, --seeds, --congestion"),
            }
        }
        ensure!(it.seeds > 0, "--seeds is at least 1");
        Ok(it)
    }

    /// The settings of a sender of ours.
    fn config(&self, config: Config) -> Config {
        let congestion = self.congestion.unwrap_or(config.congestion);
        Config {
            congestion,
            ..config
        }
    }

    /// Prints a table of the rows that are wanted, unless there are none.
    fn table<R>(&self, title: &str, rows: &[R], name: fn(&R) -> &str, line: impl Fn(&R) -> String) {
        let all = self.rows.is_empty();
        let wanted = |row: &&R| all || self.rows.iter().any(|wanted| wanted == name(row));
        for (index, row) in rows.iter().filter(wanted).enumerate() {
            if index == 0 {
                println!("{title}");
            }
            println!("{:<5}{}", name(row), line(row));
        }
    }
}

/// A congestion control by its name, in letters of any case.
fn congestion(name: &str) -> Result<Congestion> {
    let all = [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr];
    let named = |one: &Congestion| one.to_string().eq_ignore_ascii_case(name);
    let found = all.into_iter().find(named);
    found.with_context(|| format!("{name} is none of {all:?}"))
}

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let wanted = Wanted::new(&arguments)?;
    transfers(&wanted);
    small_messages(&wanted);
    deadlines(&wanted);
    outages(&wanted);
    shares(&wanted);
    Ok(())
}

fn transfers(wanted: &Wanted) {
    let title = "16 MiB over 100 Mbit/s                               Mbit/s   gate  overhead %   gate    lost \
                 spurious  timeouts";
    wanted.table(
        title,
        &matrix::rows(),
        |row| row.name,
        |row| {
            let config = wanted.config(row.config);
            let it = matrix::measure(
                &matrix::Row {
                    config,
                    ..row.clone()
                },
                wanted.seeds,
            );
            format!(
                "{:<48}{:>6}{:>7}{:>12}{:>7}{:>8}{:>10}{:>10}",
                row.what,
                thousandths(it.goodput),
                gate(row.goodput, thousandths),
                thousandths(100 * it.overhead),
                gate(row.overhead, |share| thousandths(100 * share)),
                it.lost,
                it.spurious,
                it.timeouts
            )
        },
    );
}

fn small_messages(wanted: &Wanted) {
    let title = "100 B every 20 ms, 40 ms                            p50 ms    p99   gate  p99.9   gate \
                 wire B   gate  timeouts";
    wanted.table(
        title,
        &messages::ROWS,
        |row| row.name,
        |row| {
            let config = wanted.config(row.config);
            let it = messages::measure(&messages::Row { config, ..*row }, wanted.seeds);
            format!(
                "{:<47}{:>6}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}{:>10}",
                what(row),
                ms(it.p50),
                ms(it.p99),
                gate(row.p99, plain),
                ms(it.p999),
                gate(row.p999, plain),
                it.wire_bytes,
                gate(row.wire_bytes, plain),
                it.timeouts
            )
        },
    );
}

fn what(row: &messages::Row) -> String {
    let order = match row.order {
        messages::Order::Kept => "one stream",
        messages::Order::None => "messages",
    };
    let repeats = if row.config.bundles {
        ""
    } else {
        ", not bundled"
    };
    format!("{} % loss, {order}{repeats}", row.loss)
}

fn deadlines(wanted: &Wanted) {
    let title = "messages, one way, good for 100 ms                arrived %  oldest ms   gate  misreported  \
                 bytes %";
    wanted.table(
        title,
        &deadline::ROWS,
        |row| row.name,
        |row| {
            let config = wanted.config(row.config);
            let it = deadline::measure(&deadline::Row { config, ..*row }, wanted.seeds);
            let repeats = if row.config.bundles {
                ""
            } else {
                ", not bundled"
            };
            format!(
                "{:<45}{:>9}{:>11}{:>7}{:>13}{:>9}",
                format!("{} % loss, {:?}{repeats}", row.loss, row.lifetime),
                thousandths(100 * it.arrived),
                ms(it.oldest),
                gate(row.oldest, plain),
                it.misreported,
                thousandths(100 * it.bytes)
            )
        },
    );
}

fn outages(wanted: &Wanted) {
    let title =
        "the same stream, 40 ms                         silence after ms   gate  later gap   lost";
    wanted.table(
        title,
        &outage::ROWS,
        |row| row.name,
        |row| {
            let config = wanted.config(row.config);
            let it = outage::measure(&outage::Row { config, ..*row }, wanted.seeds);
            format!(
                "{:<47}{:>11}{:>7}{:>11}{:>7}",
                format!("dark for {:?}", row.dark),
                ms(it.silence),
                gate(row.silence, plain),
                ms(it.later_gap),
                it.lost
            )
        },
    );
}

fn shares(wanted: &Wanted) {
    let title = "two flows, 20 ms                             Mbit/s: one, other  share %     gate   Jain  \
                 dropped";
    wanted.table(
        title,
        &fairness::rows(),
        |row| row.name,
        |row| {
            let ours = rudp_proto::Config::DEFAULT;
            let configured = |flow| {
                if flow == ours {
                    wanted.config(flow)
                } else {
                    flow
                }
            };
            let flows = row.flows.map(configured);
            let it = fairness::measure(
                &fairness::Row {
                    flows,
                    ..row.clone()
                },
                wanted.seeds,
            );
            format!(
                "{:<45}{:>6}{:>8}{:>9}{:>9}{:>7}{:>9}",
                row.what,
                thousandths(it.goodput[0]),
                thousandths(it.goodput[1]),
                thousandths(100 * it.share),
                fair(row.fair),
                format!("{}.{:03}", it.jain / 1_000, it.jain % 1_000),
                it.dropped
            )
        },
    );
}

/// The gate of what two flows share: Jain's index, or the least and the most share.
fn fair(fair: fairness::Fair) -> String {
    match fair {
        fairness::Fair::Jain(bound) => format!("J {}", gate(bound, |jain| format!(".{jain}"))),
        fairness::Fair::Share(bounds) => bounds
            .map(|bound| gate(bound, |share| (share / 10).to_string()))
            .join(" to "),
    }
}

/// A gate, where there is one.
fn gate(bound: Bound, shown: impl Fn(u64) -> String) -> String {
    bound.gate().map_or_else(|| "-".into(), shown)
}

fn plain(number: u64) -> String {
    number.to_string()
}

/// A number given in thousandths, with one decimal.
fn thousandths(number: u64) -> String {
    format!("{}.{}", number / 1_000, number % 1_000 / 100)
}

fn ms(time: Duration) -> String {
    matrix::whole_ms(time).to_string()
}
