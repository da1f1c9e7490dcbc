//! `rudp recv`.

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context;
use netsim::options::takes_hyphens;
use rto::qlog::VantagePoint;
use serde_json::{Value, json};

use super::{
    Exit, interrupted, listen_address, print,
    trace::{TraceArg, TraceFile},
};
use rudp::{EndpointOptions, FileName, Folder, Handle, ReceiveEvent, Receiver, Receiving};

/// What `rudp recv` takes.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 error, 2 wrong usage",
    mut_args(takes_hyphens)
)]
pub(crate) struct Args {
    /// Folder to put the files in; made if there is none
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// IP address and port where senders send to, such as 0.0.0.0:4600; port 0 is any free one, and
    /// the address is printed first
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    listen: SocketAddr,
    /// Print a line of JSON for each event
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    trace: TraceArg,
}

impl Args {
    /// Receives files until Ctrl-C.
    pub(crate) async fn run(self) -> Exit {
        let json = self.json;
        Exit::of(json, self.receive().await)
    }

    async fn receive(self) -> anyhow::Result<()> {
        survive_file_size_limit()?;
        let folder = Folder::open(self.folder)?;
        let trace = self.trace.open("rudp recv", VantagePoint::Server, &[])?;
        let log = Log {
            json: self.json,
            names: Mutex::default(),
            trace: trace.clone(),
        };
        let mut options = EndpointOptions::default();
        options.config.trace = trace.is_some();
        let observe = Arc::new(move |event| log.handle(event));
        let receiver = Receiver::start(folder, self.listen, options, observe)
            .with_context(|| format!("cannot listen on {}", self.listen))?;
        let listen = receiver.local_addr();
        if self.json {
            print(json!({ "event": "listening", "listen": listen }));
        } else {
            print(format_args!("listening on {listen}"));
        }
        interrupted().await;
        receiver.shutdown().await;
        trace.map_or(Ok(()), |trace| trace.finish())
    }
}

/// A file that grows over the limit must be an error, not the death of the
/// process: so the signal gets a handler.
fn survive_file_size_limit() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let limit = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        drop(signal(limit)?); // the handler stays
    }
    Ok(())
}

/// Prints events.
struct Log {
    json: bool,
    names: Mutex<HashMap<Handle, FileName>>, // of the connections in progress
    trace: Option<Arc<TraceFile>>,
}

impl Log {
    fn handle(&self, event: ReceiveEvent) {
        if let Some(trace) = &self.trace {
            trace.receiver(&event);
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match &event.what {
            Receiving::Offered { name, .. } => {
                names.insert(event.connection, name.clone());
                return;
            }
            Receiving::Done { .. } | Receiving::Refused(_) | Receiving::Lost(_) => {
                names.remove(&event.connection)
            }
            _ => names.get(&event.connection).cloned(),
        };
        drop(names);
        let line = if self.json {
            as_json(&event.what, name.as_ref()).map(|value| value.to_string())
        } else {
            as_text(&event.what, name.as_ref())
        };
        if let Some(line) = line {
            print(line);
        }
    }
}

fn as_text(what: &Receiving, name: Option<&FileName>) -> Option<String> {
    let name = name.map_or("(no file)", FileName::as_str);
    match what {
        Receiving::Started {
            length, offset: 0, ..
        } => Some(format!("{name}: {length} bytes to come")),
        Receiving::Started { length, offset, .. } => {
            Some(format!("{name}: going on after {offset} of {length} bytes"))
        }
        Receiving::Done {
            length,
            hash,
            already_there: false,
            ..
        } => Some(format!("{name}: received {length} bytes, BLAKE3 {hash}")),
        Receiving::Done {
            length,
            hash,
            already_there: true,
            ..
        } => Some(format!(
            "{name}: already there, {length} bytes, BLAKE3 {hash}"
        )),
        Receiving::Refused(refusal) => Some(format!("{name}: refused: {refusal}")),
        Receiving::Lost(reason) => Some(format!("{name}: connection lost: {reason}")),
        Receiving::Accepted { .. } | Receiving::Offered { .. } => None,
        Receiving::Progress { .. } | Receiving::Trace(_) => None,
    }
}

fn as_json(what: &Receiving, name: Option<&FileName>) -> Option<Value> {
    let name = name.map(FileName::as_str);
    match what {
        Receiving::Accepted { peer } => Some(json!({ "event": "accepted", "peer": peer })),
        Receiving::Started {
            length,
            offset,
            on_disk,
            ..
        } => Some(json!({
            "event": "started", "file": name, "bytes": length, "offset": offset, "on_disk": on_disk,
        })),
        Receiving::Done {
            length,
            hash,
            already_there,
            ..
        } => Some(json!({
            "event": "done", "file": name, "bytes": length, "blake3": hash.to_string(),
            "already_there": already_there,
        })),
        Receiving::Refused(refusal) => {
            Some(json!({ "event": "refused", "file": name, "reason": refusal.reason }))
        }
        Receiving::Lost(reason) => {
            Some(json!({ "event": "lost", "file": name, "reason": reason.to_string() }))
        }
        Receiving::Offered { .. } | Receiving::Progress { .. } | Receiving::Trace(_) => None,
    }
}
