//! `--trace FILE`: what the timers did, as lines of JSON.

use std::{
    fmt,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use rto::qlog::{Header, Line, Millis, Text, VantagePoint};

use rudp::{Attempt, HandshakeStep, ReceiveEvent, Receiving, SendEvent, Sending, Step, Trace};

/// A file of lines. Those of one `group_id` are in the order of time.
///
/// A sender's groups are `FILE#ATTEMPT`, where that attempt and the connection it made are, and `FILE`,
/// where the series of attempts is. A receiver's are the connections, counted from 0.
pub(super) struct TraceFile {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    out: BufWriter<File>,
    failed: Option<io::Error>, // of the first write that did: there is none after it
}

impl TraceFile {
    /// Opens the file that the user named, if any, and empties it.
    pub(super) fn open(
        path: Option<&Path>,
        title: &str,
        vantage_point: VantagePoint,
    ) -> anyhow::Result<Option<Self>> {
        let Some(path) = path else {
            return Ok(None);
        };
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let state = State {
            out: BufWriter::new(file),
            failed: None,
        };
        let trace = Self {
            path: path.to_owned(),
            state: Mutex::new(state),
        };
        let header = Header {
            title,
            vantage_point,
        };
        trace.write(header);
        Ok(Some(trace))
    }

    /// Writes what a sender of `file` tells.
    pub(super) fn sender(&self, file: &str, event: &SendEvent) {
        match &event.what {
            Sending::Progress { .. } => return,
            Sending::Trace { attempt, trace } => {
                return self.transport(&format!("{file}#{attempt}"), trace);
            }
            Sending::Attempt(attempt) => self.attempt(event.at, file, attempt),
            Sending::Lost(reason) => {
                let reason = reason.to_string();
                let data = format_args!(r#"{{"reason":{}}}"#, Text(&reason));
                self.event(event.at, Some(file), "rudp:lost", data);
            }
            _ => {}
        }
        self.flush();
    }

    fn attempt(&self, at: Duration, file: &str, attempt: &Attempt) {
        let (started, backoff) = (Millis(attempt.started_at), Millis(attempt.backoff));
        let outcome = attempt.outcome.to_string();
        let data = format_args!(
            r#"{{"attempt":{},"started":{started},"outcome":{},"backoff":{backoff}}}"#,
            attempt.number,
            Text(&outcome)
        );
        self.event(at, Some(file), "grpc_backoff:attempt_ended", data);
    }

    /// Writes what a receiver tells.
    pub(super) fn receiver(&self, event: &ReceiveEvent) {
        let connection = event.connection.to_string();
        match &event.what {
            Receiving::Progress { .. } => return,
            Receiving::Trace(trace) => return self.transport(&connection, trace),
            Receiving::Accepted { peer } => {
                let data = format_args!(r#"{{"connection":"{connection}","peer":"{peer}"}}"#);
                self.event(event.at, None, "rudp:accepted", data);
            }
            Receiving::Lost(reason) => {
                let reason = reason.to_string();
                let reason = Text(&reason);
                let data = format_args!(r#"{{"connection":"{connection}","reason":{reason}}}"#);
                self.event(event.at, None, "rudp:lost", data);
            }
            _ => {}
        }
        self.flush();
    }

    fn transport(&self, group: &str, trace: &Trace) {
        let (at, group_id) = (trace.at, Some(group));
        match trace.step {
            Step::Timer(event) => self.write(Line {
                group_id,
                ..Line::new(at, event)
            }),
            Step::Retransmit { rto, last_sent_at } => {
                let (rto, last_sent) = (Millis(rto), Millis(last_sent_at));
                let data = format_args!(r#"{{"rto":{rto},"last_sent":{last_sent}}}"#);
                self.event(at, group_id, "rudp:retransmit", data);
            }
            Step::FastRetransmit { packets } => {
                let data = format_args!(r#"{{"packets":{packets}}}"#);
                self.event(at, group_id, "rudp:fast_retransmit", data);
            }
            Step::Handshake(step) => {
                let step = match step {
                    HandshakeStep::Hello => "hello",
                    HandshakeStep::HelloAgain => "hello_again",
                    HandshakeStep::Cookie => "cookie",
                    HandshakeStep::Settings => "settings",
                };
                let data = format_args!(r#"{{"step":"{step}"}}"#);
                self.event(at, group_id, "rudp:handshake", data);
            }
            Step::Missed { traces } => {
                let data = format_args!(r#"{{"traces":{traces}}}"#);
                self.event(at, group_id, "rudp:missed", data);
            }
        }
    }

    fn event(
        &self,
        time: Duration,
        group_id: Option<&str>,
        name: &'static str,
        data: fmt::Arguments<'_>,
    ) {
        self.write(Line {
            time,
            group_id,
            name,
            data,
        });
    }

    fn write(&self, line: impl fmt::Display) {
        self.out(|out| writeln!(out, "{line}"));
    }

    /// Who looks at the file between two connections finds all lines so far.
    fn flush(&self) {
        self.out(BufWriter::flush);
    }

    fn out(&self, act: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_none() {
            state.failed = act(&mut state.out).err();
        }
    }

    /// Writes out what is left.
    ///
    /// # Errors
    /// Not all of it could be written, now or before.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        self.flush();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = state.failed.take().map_or(Ok(()), Err);
        failed.with_context(|| format!("the trace {} is incomplete", self.path.display()))
    }
}
