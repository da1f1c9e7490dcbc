//! `rudp demo`.

use std::{
    fs::{self, File},
    path::PathBuf,
    sync::Arc,
};

use netsim::{options::takes_hyphens, units};
use rto::qlog::VantagePoint;
use rudp::{
    Observer, SendEvent,
    demo::{self, DemoError, Finding, Line, Options, Record, Talk},
};
use serde_json::{Value, json};

use super::{
    Exit, attempt, interrupted, keep, print, print_error, totals,
    trace::{TraceArg, TraceFile},
    us,
};

/// What `rudp demo` takes.
#[derive(clap::Args, Clone, Debug)]
#[command(mut_args(takes_hyphens))]
pub(crate) struct Args {
    /// File to send, 4 MiB or more [default: one of 16 MiB, made for the occasion]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Where to write the page with the plots; what was there is lost
    #[arg(long, value_name = "FILE", default_value = "rudp-demo.html")]
    html: PathBuf,
    /// Seed of the file made and of all chance in the network
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = units::count::<u64>(0..=u64::MAX))]
    seed: u64,
    #[command(flatten)]
    trace: TraceArg,
    /// Print a line of JSON for each event, and one with all numbers at the end
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Performs the demo, prints it and writes the page.
    pub(crate) async fn run(self) -> Exit {
        let json = self.json;
        let trace = match self.open_trace() {
            Ok(trace) => trace,
            Err(error) => return Exit::of(json, Err(error)),
        };
        let options = Options {
            file: self.file,
            seed: self.seed,
            observe: trace.clone().map(|trace| -> Observer<SendEvent> {
                Arc::new(move |event| trace.sender("demo", &event))
            }),
            ..Options::default()
        };
        let new = !self.html.exists();
        // An error now is better than one after the play.
        let opened = File::options().create(true).append(true).open(&self.html);
        if let Err(error) = opened {
            print_error(json, format_args!("{}: {error}", self.html.display()));
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
        let record = match demo::perform(options, tell, interrupted()).await {
            Ok(record) => record,
            Err(error) => {
                print_error(json, &error);
                if new {
                    _ = fs::remove_file(&self.html); // it is still empty
                }
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
        if let Err(error) = fs::write(&self.html, demo::html(&record)) {
            print_error(json, format_args!("{}: {error}", self.html.display()));
            return Exit::Error;
        }
        if let Some(Err(error)) = trace.map(|trace| trace.finish()) {
            print_error(json, format_args!("{error:#}"));
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

    /// Opens the trace, once it is sure that no file of the three replaces another.
    fn open_trace(&self) -> anyhow::Result<Option<Arc<TraceFile>>> {
        for read_or_written in self.file.iter().chain(&self.trace.path) {
            keep(read_or_written, &self.html, "--html")?;
        }
        let (title, to_send) = ("rudp demo", self.file.as_slice());
        self.trace.open(title, VantagePoint::Client, to_send)
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
    let attempts = record.attempts.iter().map(|ended| attempt(&ended.attempt));
    let expiries = record.expiries.iter().map(|expiry| {
        json!({
            "at_us": us(expiry.at),
            "rto_us": us(expiry.rto),
            "next_rto_us": us(expiry.next_rto),
            "in_a_row": expiry.in_a_row,
            "last_sent_at_us": us(expiry.last_sent_at),
        })
    });
    let findings = findings.iter().map(
        |finding| json!({ "holds": finding.holds, "hard": finding.hard, "text": finding.text }),
    );
    let talk = |talk: &Talk| {
        json!({
            "messages": talk.messages.len(),
            "half_within_us": us(talk.delay(50)),
            "99_percent_within_us": us(talk.delay(99)),
            "bytes_sent": talk.bytes_sent,
            "bytes_repeated": talk.tally.repeated,
            "packets_lost": talk.tally.lost,
            "packets_repaired": talk.tally.repaired,
        })
    };
    let encore = record.encore.as_ref().map(
        |encore| json!({ "with_repeats": talk(&encore.with), "without": talk(&encore.without) }),
    );
    let report = record.report.as_ref();
    let hash = record.hashes.map(|(_, received)| received);
    json!({
        "event": "end",
        "file": record.name,
        "bytes": record.length,
        "seed": record.seed,
        "elapsed_us": report.map(|report| us(report.elapsed)),
        "blake3": hash.map(|hash| hash.to_string()),
        "connections": report.map(|report| report.connections),
        "attempts": attempts.collect::<Vec<_>>(),
        "totals": report.map(|report| totals(&report.totals)),
        "encore": encore,
        "expiries": expiries.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
    })
}
