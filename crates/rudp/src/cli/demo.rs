//! `rudp demo`.

use std::{path::PathBuf, time::Duration};

use rudp::demo::{self, DemoError, Finding, Line, Options, Record};
use serde_json::{Value, json};

use super::{Exit, print, print_error, us};

/// What `rudp demo` takes.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    /// File to send, 4 MiB or more [default: one of 16 MiB, made for the occasion]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Where to write the page with the plots
    #[arg(long, value_name = "FILE", default_value = "rudp-demo.html")]
    html: PathBuf,
    /// Seed of the file made and of all chance in the network
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print a line of JSON for each event, and one with all numbers at the end
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Performs the demo, prints it and writes the page.
    pub(crate) async fn run(self) -> Exit {
        let options = Options {
            file: self.file,
            seed: self.seed,
            ..Options::default()
        };
        let json = self.json;
        let folder = self.html.parent().unwrap_or(&self.html);
        if !folder.as_os_str().is_empty() && !folder.is_dir() {
            // Better now than after the play.
            print_error(json, format_args!("{}: no such folder", folder.display()));
            return Exit::Error;
        }
        let tell = |line: Line| match line {
            line if !json => print(line),
            Line::Title { title, about } => {
                print(json!({ "event": "title", "title": title, "about": about }));
            }
            Line::Event { at, actor, text } => {
                print(json!({ "event": "line", "at_us": us(at), "actor": actor, "text": text }));
            }
        };
        let stop = async {
            // Without a signal handler Ctrl-C ends the process by itself.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending().await
            }
        };
        let record = match demo::perform(options, tell, stop).await {
            Ok(record) => record,
            Err(error) => {
                print_error(json, &error);
                return match error {
                    DemoError::Interrupted => Exit::Interrupted,
                    _ => Exit::Error,
                };
            }
        };
        let findings = demo::findings(&record);
        if json {
            print(as_json(&record, &findings));
        } else {
            print_end(&record, &findings);
        }
        if let Err(error) = std::fs::write(&self.html, demo::html(&record)) {
            print_error(json, format_args!("{}: {error}", self.html.display()));
            return Exit::Error;
        }
        if !json {
            print(format_args!(
                "\nThe page with the plots: {}",
                self.html.display()
            ));
        }
        verdict(&record, &findings)
    }
}

fn verdict(record: &Record, findings: &[Finding]) -> Exit {
    let intact = record
        .hashes
        .is_some_and(|(sent, received)| sent == received);
    if !intact {
        Exit::HashMismatch
    } else if findings
        .iter()
        .any(|finding| finding.hard && !finding.holds)
    {
        Exit::Error
    } else {
        Exit::Ok
    }
}

fn print_end(record: &Record, findings: &[Finding]) {
    print(format_args!("\n{}", demo::summary(record)));
    print(demo::attempts(record));
    for finding in findings {
        let sign = if finding.holds { '✓' } else { '✗' };
        print(format_args!("  {sign} {}", finding.text));
    }
    if findings
        .iter()
        .any(|finding| !finding.holds && !finding.hard)
    {
        print("  A ✗ about timing may mean no more than a busy machine; the others are faults.");
    }
}

fn as_json(record: &Record, findings: &[Finding]) -> Value {
    let maybe = |span: Option<Duration>| span.map_or(Value::Null, us);
    let attempts = record.attempts.iter().map(|ended| {
        let attempt = &ended.attempt;
        json!({
            "attempt": attempt.number,
            "started_at_us": us(attempt.started_at),
            "planned_us": maybe(attempt.planned),
            "actual_us": maybe(attempt.actual),
            "outcome": attempt.outcome.to_string(),
        })
    });
    let expiries = record.expiries.iter().map(|expiry| {
        json!({
            "at_us": us(expiry.at),
            "rto_us": us(expiry.rto),
            "next_rto_us": us(expiry.next_rto),
            "in_a_row": expiry.in_a_row,
            "last_sent_us": us(expiry.last_sent),
        })
    });
    let findings = findings.iter().map(
        |finding| json!({ "holds": finding.holds, "hard": finding.hard, "text": finding.text }),
    );
    let totals = record.report.as_ref().map(|report| {
        let totals = &report.totals;
        let (min, max) = totals.rto.unzip();
        json!({
            "elapsed_us": us(report.elapsed),
            "samples": totals.samples,
            "srtt_us": maybe(totals.srtt),
            "rto_min_us": maybe(min),
            "rto_max_us": maybe(max),
            "timeouts": totals.timeouts,
            "fast_retransmits": totals.fast_retransmits,
            "packets_sent": totals.packets_sent,
            "packets_lost": totals.packets_lost,
            "bytes_sent": totals.bytes_sent,
            "attempts": report.attempts,
            "connections": report.connections,
        })
    });
    json!({
        "event": "end",
        "file": record.name,
        "length": record.length,
        "seed": record.seed,
        "hash": record.hashes.map(|(_, received)| received.to_hex().to_string()),
        "totals": totals,
        "attempts": attempts.collect::<Vec<_>>(),
        "expiries": expiries.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
    })
}
