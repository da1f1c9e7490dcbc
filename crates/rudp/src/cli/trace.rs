//! `--trace FILE`: what happened to the connections, as lines of JSON.
//!
//! The names are those of qlog 0.3 (draft-ietf-quic-qlog-quic-events) where it has one, as in
//! [`rto::qlog`], whose header the file has: what reads traces of QUIC reads these. Later drafts put all
//! of them under `quic:` and call `metrics_updated` `recovery_metrics_updated`.
//!
//! | name | data |
//! |---|---|
//! | those of [`rto::qlog`] | what the timer did; `metrics_updated` with `smoothed_rtt`, `rto` |
//! | `recovery:metrics_updated` | `congestion_window`, `bytes_in_flight` in bytes, `pacing_rate`, `delivery_rate` in bits per second |
//! | `recovery:congestion_state_updated` | `old`, `new`: the phase of congestion control |
//! | `recovery:packet_lost` | `header`, `raw` as below; `trigger`; `repaired`: a later packet has brought its pieces |
//! | `recovery:ecn_state_updated` | `old`, `new`: what is known of ECN on the path |
//! | `connectivity:mtu_updated` | `old`, `new`: bytes of a full datagram; `done`: no larger one is searched for at present |
//! | `transport:packet_sent`, `transport:packet_received` | `header`, `raw`: number and length of a Data packet |
//! | `rudp:bundled` | `pieces` and `bytes` that packet `packet_number` repeats of those before it |
//! | `rudp:packet_late` | `header`, `raw` of a packet that was lost, and arrived after all |
//! | `rudp:retransmit` | `rto` that ran out, when the data was `last_sent` |
//! | `rudp:fast_retransmit` | `packets` taken for lost together, since later ones arrived |
//! | `rudp:spurious_loss` | `packets` that came late together; `undone`: congestion control took its answer back |
//! | `rudp:tail_probe` | none: the oldest packet is overdue, and goes again before the RTO |
//! | `rudp:path_probe` | none: a silent path is asked |
//! | `rudp:handshake` | `step` |
//! | `rudp:missed` | how many `traces` are missing before this line |
//! | `connectivity:connection_closed` | `reason` |
//! | `rudp:accepted` | the `peer` of a connection; what qlog has for that asks for our own address, too |
//! | `grpc_backoff:attempt_ended` | what became of an attempt |

use std::{
    fmt,
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use rto::qlog::{Header, Line, Millis, Text, VantagePoint};

use super::keep;
use rudp::{
    Attempt, CongestionMetrics, HandshakeStep, ReceiveEvent, Receiving, SendEvent, Sending, Step,
    Trace, TracedPacket,
};

/// The flag that asks for a trace.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TraceArg {
    /// Write what happened (timers, packets, losses, windows, attempts to connect) into FILE, a line of
    /// JSON for each event (qlog), for `rudp plot`; what was in FILE is lost
    #[arg(long = "trace", value_name = "FILE")]
    pub(super) path: Option<PathBuf>,
}

impl TraceArg {
    /// Opens the file that the user named, if any, and empties it.
    ///
    /// # Errors
    /// It is one of those to be sent, or cannot be written.
    pub(super) fn open(
        &self,
        title: &str,
        vantage_point: VantagePoint,
        to_send: &[PathBuf],
    ) -> anyhow::Result<Option<Arc<TraceFile>>> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        for file in to_send {
            keep(file, path, "--trace")?;
        }
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let state = State {
            out: BufWriter::new(file),
            failed: None,
        };
        let trace = TraceFile {
            path: path.clone(),
            state: Mutex::new(state),
        };
        let header = Header {
            title,
            vantage_point,
        };
        trace.write(header);
        Ok(Some(Arc::new(trace)))
    }
}

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
                self.event(event.at, Some(file), "connectivity:connection_closed", data);
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
                self.event(event.at, None, "connectivity:connection_closed", data);
            }
            _ => {}
        }
        self.flush();
    }

    fn transport(&self, group: &str, trace: &Trace) {
        let (at, group_id) = (trace.at, Some(group));
        let tell = |name, data: fmt::Arguments<'_>| self.event(at, group_id, name, data);
        match trace.step {
            Step::Timer(event) => self.write(Line {
                group_id,
                ..Line::new(at, event)
            }),
            Step::Retransmit { rto, last_sent_at } => {
                let (rto, last_sent) = (Millis(rto), Millis(last_sent_at));
                let data = format_args!(r#"{{"rto":{rto},"last_sent":{last_sent}}}"#);
                tell("rudp:retransmit", data);
            }
            Step::Lost {
                packet,
                by,
                repaired,
            } => {
                let more = format!(r#","trigger":"{by}","repaired":{repaired}"#);
                let data = of_packet(packet, more);
                tell("recovery:packet_lost", format_args!("{data}"));
            }
            Step::FastRetransmit { packets } => {
                tell(
                    "rudp:fast_retransmit",
                    format_args!(r#"{{"packets":{packets}}}"#),
                );
            }
            Step::TailProbe => tell("rudp:tail_probe", format_args!("{{}}")),
            Step::PathProbe => tell("rudp:path_probe", format_args!("{{}}")),
            Step::Late(it) => tell("rudp:packet_late", format_args!("{}", packet(it))),
            Step::SpuriousLoss { packets, undone } => {
                let data = format_args!(r#"{{"packets":{packets},"undone":{undone}}}"#);
                tell("rudp:spurious_loss", data);
            }
            Step::CongestionPhase { old, new } => {
                let data = change(old, new);
                tell(
                    "recovery:congestion_state_updated",
                    format_args!("{{{data}}}"),
                );
            }
            Step::Ecn { old, new } => {
                let data = change(old, new);
                tell("recovery:ecn_state_updated", format_args!("{{{data}}}"));
            }
            Step::Mtu { old, new, done } => {
                let old = old.map_or(String::new(), |old| format!(r#""old":{old},"#));
                let data = format_args!(r#"{{{old}"new":{new},"done":{done}}}"#);
                tell("connectivity:mtu_updated", data);
            }
            Step::Congestion(metrics) => {
                tell(
                    "recovery:metrics_updated",
                    format_args!("{}", congestion(metrics)),
                );
            }
            Step::Sent(it) => tell("transport:packet_sent", format_args!("{}", packet(it))),
            Step::Bundled {
                packet,
                pieces,
                bytes,
            } => {
                let data = format_args!(
                    r#"{{"packet_number":{packet},"pieces":{pieces},"bytes":{bytes}}}"#
                );
                tell("rudp:bundled", data);
            }
            Step::Received(it) => tell("transport:packet_received", format_args!("{}", packet(it))),
            Step::Handshake(step) => {
                let step = match step {
                    HandshakeStep::Hello => "hello",
                    HandshakeStep::HelloAgain => "hello_again",
                    HandshakeStep::Cookie => "cookie",
                    HandshakeStep::Settings => "settings",
                };
                tell("rudp:handshake", format_args!(r#"{{"step":"{step}"}}"#));
            }
            Step::Missed { traces } => {
                tell("rudp:missed", format_args!(r#"{{"traces":{traces}}}"#));
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

/// Rates are in bits per second, as qlog has them.
fn congestion(metrics: CongestionMetrics) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        let (window, flight) = (metrics.window, metrics.bytes_in_flight);
        write!(
            f,
            r#"{{"congestion_window":{window},"bytes_in_flight":{flight}"#
        )?;
        let rates = [
            ("pacing_rate", metrics.pacing_rate),
            ("delivery_rate", metrics.delivery_rate),
        ];
        for (name, rate) in rates {
            if let Some(rate) = rate {
                write!(f, r#","{name}":{}"#, rate.saturating_mul(8))?;
            }
        }
        f.write_str("}")
    })
}

/// From one word to another; the first has none before it.
fn change(old: Option<impl fmt::Display>, new: impl fmt::Display) -> String {
    let old = old.map_or(String::new(), |old| format!(r#""old":"{old}","#));
    format!(r#"{old}"new":"{new}""#)
}

fn packet(packet: TracedPacket) -> impl fmt::Display {
    of_packet(packet, "")
}

/// A Data packet is what QUIC calls 1-RTT: nothing of it belongs to the handshake.
fn of_packet(packet: TracedPacket, more: impl fmt::Display) -> impl fmt::Display {
    let TracedPacket { number, bytes } = packet;
    fmt::from_fn(move |f| {
        write!(
            f,
            r#"{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":{bytes}}}{more}}}"#
        )
    })
}
