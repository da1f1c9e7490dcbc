//! The commands of the program.

pub(crate) mod demo;
pub(crate) mod plot;
pub(crate) mod recv;
pub(crate) mod relay;
pub(crate) mod send;
mod trace;

use std::{
    fmt::{self, Display},
    fs::canonicalize,
    future::pending,
    io::{Write, stderr, stdout},
    net::SocketAddr,
    num::NonZeroU16,
    path::Path,
};

use anyhow::Context;
use rudp::{Attempt, Totals};
use serde_json::{Value, json};

/// How the program ends, for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// 0: all went well.
    Ok = 0,
    /// 1: an error that has no number of its own.
    Error = 1,
    /// 2: wrong usage, as clap has it.
    Usage = 2,
    /// 3: the receiver refused, with a reason.
    Refused = 3,
    /// 4: what arrived is not what was sent.
    HashMismatch = 4,
    /// 5: no connection within `--give-up-after` or `--max-attempts`.
    GaveUp = 5,
    /// 130: Ctrl-C or SIGTERM.
    Interrupted = 130,
}

impl Exit {
    /// Reports an error that has no number of its own but perhaps that of wrong usage.
    pub(crate) fn of(json: bool, result: anyhow::Result<()>) -> Self {
        let Err(error) = result else { return Self::Ok };
        print_error(json, format_args!("{error:#}"));
        match error.is::<Usage>() {
            true => Self::Usage,
            false => Self::Error,
        }
    }
}

/// Flags that make no sense together, in words; what is wrong with one alone, clap says.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Makes sure that what is written to `out`, the value of `flag`, does not replace a file that is read,
/// or written too.
fn keep(other: &Path, out: &Path, flag: &str) -> Result<(), Usage> {
    let same = || Some(canonicalize(other).ok()? == canonicalize(out).ok()?);
    if other == out || same() == Some(true) {
        let out = out.display();
        return Err(Usage(format!(
            "{flag} {out} would overwrite {}",
            other.display()
        )));
    }
    Ok(())
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The exit codes, for `--help`.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 all went well, 1 error, 2 wrong usage, \
    3 refused by the receiver, 4 hash mismatch, 5 gave up connecting, 130 interrupted";

/// Prints a line of output. Nobody reading it is no reason to fail.
fn print(line: impl Display) {
    _ = writeln!(stdout(), "{line}");
}

/// Prints an error, where and as the user asked for it.
fn print_error(json: bool, error: impl Display) {
    if json {
        print(json!({ "event": "error", "error": error.to_string() }));
    } else {
        _ = writeln!(stderr(), "rudp: {error}");
    }
}

/// Waits for Ctrl-C or SIGTERM. Where they cannot be caught, they end the process by themselves.
async fn interrupted() {
    let ctrl_c = async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending().await
        }
    };
    tokio::select! {
        () = ctrl_c => {}
        () = terminated() => {}
    }
}

/// Waits for SIGTERM, where there is such a thing.
async fn terminated() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            terminate.recv().await;
            return;
        }
    }
    pending().await
}

/// Reads an address, such as `example.org:4433`, whose name may or may not exist.
fn address(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<NonZeroU16>().is_ok() => {
            Ok(text.to_owned())
        }
        _ => Err(
            "not HOST:PORT with a port from 1 to 65535, such as example.org:4433 or [::1]:4433"
                .to_owned(),
        ),
    }
}

/// Reads an address of this machine to listen at, such as `0.0.0.0:4600`: a name could mean several.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let error = "not IP:PORT, such as 0.0.0.0:4600 or [::]:4600";
    text.parse().map_err(|_| error.to_owned())
}

/// Finds the address that the user means.
async fn resolve(address: &str) -> anyhow::Result<SocketAddr> {
    let mut found = tokio::net::lookup_host(address)
        .await
        .with_context(|| address.to_owned())?;
    found
        .next()
        .with_context(|| format!("{address}: no address"))
}

/// A span in microseconds, for JSON.
fn us(span: std::time::Duration) -> Value {
    json!(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
}

/// An attempt to connect, for JSON.
fn attempt(attempt: &Attempt) -> Value {
    json!({
        "number": attempt.number,
        "started_at_us": us(attempt.started_at),
        "planned_delay_us": attempt.planned.map(us),
        "actual_delay_us": attempt.actual.map(us),
        "outcome": attempt.outcome.to_string(),
    })
}

/// What the connections of a sender counted, for JSON.
fn totals(totals: &Totals) -> Value {
    let (rto_min, rto_max) = totals.rto.unzip();
    json!({
        "samples": totals.samples,
        "srtt_us": totals.srtt.map(us),
        "rto_min_us": rto_min.map(us),
        "rto_max_us": rto_max.map(us),
        "timeouts": totals.timeouts,
        "fast_retransmits": totals.fast_retransmits,
        "packets_sent": totals.packets_sent,
        "packets_lost": totals.packets_lost,
        "bytes_sent": totals.bytes_sent,
        "bytes_received": totals.bytes_received,
    })
}
