//! `rudp send`.

use std::{
    io::{IsTerminal, Write, stderr},
    net::SocketAddr,
    num::NonZeroU32,
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use grpc_backoff::{Error, Limit, Outcome, State};
use indicatif::{ProgressBar, ProgressStyle};
use netsim::{options::takes_hyphens, units};
use rto::qlog::VantagePoint;
use serde_json::{Value, json};

use super::{
    Exit, address, attempt, interrupted, print, print_error, resolve, totals,
    trace::{TraceArg, TraceFile},
    us,
};
use rudp::{
    Attempt, Clock, Report, SendError, SendEvent, SendOptions, Sending, protocol::RefusalCode, send,
};

/// What `rudp send` takes.
#[derive(clap::Args, Clone, Debug)]
#[command(mut_args(takes_hyphens))]
pub(crate) struct Args {
    /// Files to send, one after the other
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// Where `rudp recv` listens, such as example.org:4433
    #[arg(value_name = "ADDR", value_parser = address)]
    server: String,
    /// Replace other files of the same names
    #[arg(long)]
    force: bool,
    /// Give up when there was no connection for so long, such as 10min; each connection starts the
    /// count anew. Units: ns, us, ms, s, min [default: never]
    #[arg(long, value_name = "TIME", value_parser = units::positive_time)]
    give_up_after: Option<Duration>,
    /// Give up after so many failed attempts to connect in a row [default: never]
    #[arg(long, value_name = "N", value_parser = units::count::<u32>(1..=u32::MAX.into()))]
    max_attempts: Option<u32>,
    /// Print a line of JSON for each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    trace: TraceArg,
}

impl Args {
    /// Sends the files. A refused file does not keep the others from being
    /// sent; the first failure decides how the program ends.
    pub(crate) async fn run(self) -> Exit {
        let prepared = async {
            Ok((
                resolve(&self.server).await?,
                self.trace
                    .open("rudp send", VantagePoint::Client, &self.files)?,
            ))
        };
        let (server, trace) = match prepared.await {
            Ok((server, trace)) => (server, trace),
            Err(error) => return Exit::of(self.json, Err(error)),
        };
        let mut worst = self.send_all(server, trace.as_ref()).await;
        let traced = Exit::of(self.json, trace.map_or(Ok(()), |trace| trace.finish()));
        if worst == Exit::Ok {
            worst = traced;
        }
        worst
    }

    async fn send_all(&self, server: SocketAddr, trace: Option<&Arc<TraceFile>>) -> Exit {
        let clock = Clock::start(); // one for all files, as there is one trace
        let mut stop = pin!(interrupted()); // one for all, so that no signal falls between two
        let mut worst = Exit::Ok;
        let mut files = self.files.iter();
        for file in files.by_ref() {
            let display = Display::new(file, self.json, trace.cloned());
            let exit = send_one(server, file, self.options(clock), display, stop.as_mut()).await;
            if worst == Exit::Ok {
                worst = exit;
            }
            if matches!(exit, Exit::GaveUp | Exit::Interrupted) {
                break;
            }
        }
        for file in files {
            if self.json {
                print(json!({ "event": "not_tried", "file": file.to_string_lossy() }));
            } else {
                print_error(false, format_args!("{}: not tried", file.display()));
            }
        }
        worst
    }

    fn options(&self, clock: Clock) -> SendOptions {
        let mut options = SendOptions {
            force: self.force,
            ..SendOptions::default()
        };
        options.backoff.max_elapsed = self.give_up_after;
        options.backoff.max_attempts = self.max_attempts.and_then(NonZeroU32::new);
        options.endpoint.clock = clock;
        options.endpoint.config.trace = self.trace.path.is_some();
        options
    }
}

async fn send_one(
    server: SocketAddr,
    file: &Path,
    options: SendOptions,
    display: Display,
    stop: impl Future<Output = ()>,
) -> Exit {
    let display = Arc::new(display);
    let observer = display.clone();
    let observe = Arc::new(move |event| observer.handle(event));
    let result = send(server, file, options, observe, stop).await;
    display.finish(file, &result);
    result.as_ref().map_or_else(exit_for, |_| Exit::Ok)
}

/// Why a file was not sent, in the program's own terms.
fn describe(error: &SendError) -> String {
    let SendError::GaveUp(Error::GaveUp(status)) = error else {
        return error.to_string();
    };
    let limit = match status.state {
        State::GaveUp {
            limit: Limit::Elapsed,
        } => "--give-up-after",
        _ => "--max-attempts",
    };
    let failures = status.failures;
    let plural = if failures == 1 { "" } else { "s" };
    let last = (status.last_failure.as_ref()).map(|last| format!("; the last: {last}"));
    let last = last.unwrap_or_default();
    format!("gave up after {failures} failed attempt{plural} ({limit}){last}")
}

fn exit_for(error: &SendError) -> Exit {
    match error {
        SendError::Refused(refusal) if refusal.code == Some(RefusalCode::HashMismatch) => {
            Exit::HashMismatch
        }
        SendError::Refused(_) => Exit::Refused,
        SendError::GaveUp(_) => Exit::GaveUp,
        SendError::Interrupted => Exit::Interrupted,
        SendError::Source(_) | SendError::Options(_) | SendError::Protocol(_) => Exit::Error,
    }
}

/// While there is no connection.
const WAITING: &str = "{prefix} {msg}";
/// While there is one.
const SENDING: &str = "{prefix} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Shows the progress of a file, and its end.
struct Display {
    json: bool,
    bar: ProgressBar, // hidden unless there is a terminal
    attempts: Mutex<Vec<Attempt>>,
    resumed_from: Mutex<u64>,
    file: String,
    trace: Option<Arc<TraceFile>>,
}

impl Display {
    fn new(file: &Path, json: bool, trace: Option<Arc<TraceFile>>) -> Self {
        let bar = if json || !stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::no_length().with_style(style(WAITING))
        };
        bar.set_prefix(
            file.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        );
        bar.set_message("connecting");
        Self {
            json,
            bar,
            attempts: Mutex::default(),
            resumed_from: Mutex::default(),
            file: file.to_string_lossy().into_owned(),
            trace,
        }
    }

    fn handle(&self, event: SendEvent) {
        if let Some(trace) = &self.trace {
            trace.sender(&self.file, &event);
        }
        match event.what {
            Sending::Attempt(attempt) => {
                if !matches!(attempt.outcome, Outcome::Connected | Outcome::Cancelled) {
                    self.note(format_args!(
                        "attempt #{}: {}",
                        attempt.number, attempt.outcome
                    ));
                }
                self.attempts
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(attempt);
            }
            Sending::Started { length, offset, .. } => {
                self.bar.set_style(style(SENDING));
                self.bar.set_length(length);
                self.bar.set_position(offset);
                self.bar.reset_eta();
                *self
                    .resumed_from
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = offset;
            }
            Sending::Progress { acknowledged, .. } => self.bar.set_position(acknowledged),
            Sending::Lost(reason) => {
                self.note(format_args!("connection lost: {reason}"));
                self.bar.set_style(style(WAITING));
                self.bar.set_message("connecting again");
            }
            Sending::Connected { .. } | Sending::Delivered(_) | Sending::Trace { .. } => {}
        }
    }

    /// Tells a human about something on the way.
    fn note(&self, what: impl std::fmt::Display) {
        if !self.json {
            self.bar.suspend(|| _ = writeln!(stderr(), "{what}"));
        }
    }

    fn finish(&self, file: &Path, result: &Result<Report, SendError>) {
        self.bar.finish_and_clear();
        let attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(report) if self.json => {
                let resumed_from = *self
                    .resumed_from
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                print(report_as_json(report, resumed_from, &attempts));
            }
            Ok(report) => print(report_as_text(report)),
            Err(error) if self.json => print(json!({
                "event": "failed",
                "file": file.to_string_lossy(),
                "error": describe(error),
                "exit": exit_for(error) as u8,
                "attempts": attempts.iter().map(attempt).collect::<Vec<_>>(),
            })),
            Err(error) => print_error(
                false,
                format_args!("{}: {}", file.display(), describe(error)),
            ),
        }
    }
}

fn report_as_text(report: &Report) -> String {
    let Report {
        name,
        length,
        delivered,
        elapsed,
        totals,
        ..
    } = report;
    if delivered.already_there {
        return format!("{name}: already there, BLAKE3 {}", delivered.hash);
    }
    let seconds = elapsed.as_secs_f64();
    let rate = match *length as f64 / seconds {
        rate if rate < 1e6 => format!("{:.1} kB/s", rate / 1e3),
        rate => format!("{:.1} MB/s", rate / 1e6),
    };
    format!(
        "{name}: {length} bytes in {seconds:.1} s ({rate}), {} connection(s), {} timeout(s), BLAKE3 {}",
        report.connections, totals.timeouts, delivered.hash
    )
}

fn report_as_json(report: &Report, resumed_from: u64, attempts: &[Attempt]) -> Value {
    let Report {
        name,
        length,
        delivered,
        elapsed,
        connections,
        ..
    } = report;
    json!({
        "event": "sent",
        "file": name,
        "bytes": length,
        "elapsed_us": us(*elapsed),
        "blake3": delivered.hash.to_string(),
        "already_there": delivered.already_there,
        "resumed_from": resumed_from,
        "connections": connections,
        "attempts": attempts.iter().map(attempt).collect::<Vec<_>>(),
        "totals": totals(&report.totals),
    })
}
