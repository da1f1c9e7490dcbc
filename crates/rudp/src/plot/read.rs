//! Reads a trace: lines of qlog 0.3, as `--trace` writes them.

use std::{
    collections::HashMap,
    fmt,
    io::{self, BufRead, Read},
};

use serde_json::Value;

use super::history::{History, Loss, Spurious, Traces};

/// No line of a trace is longer, in bytes.
const LONGEST_LINE: u64 = 1 << 20;
const MILLIS: f64 = 1e3; // in a second
/// No number of a trace is greater: it would be no count, and no time that anybody waited.
const GREATEST: f64 = u64::MAX as f64;

/// Why a file is no trace.
#[derive(Debug)]
pub enum ReadError {
    /// It cannot be read.
    Io(io::Error),
    /// There is nothing in it, not even a header.
    Empty,
    /// A line, counted from 1, is not what it should be.
    Line(u64, String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Empty => f.write_str("it is empty; a trace begins with a header"),
            Self::Line(number, what) => write!(f, "line {number}: {what}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads a trace to its end. Events that have no place in a plot are passed over, and so is a last line
/// that is cut off.
///
/// # Errors
/// The file cannot be read, or is no trace: the error says where and why.
pub fn read(mut from: impl BufRead) -> Result<Traces, ReadError> {
    let mut reader = Reader::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut limited = (&mut from).take(LONGEST_LINE);
        limited
            .read_until(b'\n', &mut line)
            .map_err(ReadError::Io)?;
        let whole = line.ends_with(b"\n");
        let text = line.trim_ascii();
        match text.strip_prefix(b"\x1e").unwrap_or(text) {
            [] if line.is_empty() => break,
            [] => {}
            text => match reader.line(text) {
                Err(_) if !whole && reader.begun && (line.len() as u64) < LONGEST_LINE => {
                    reader.traces.cut = true;
                }
                result => result.map_err(|what| ReadError::Line(number, what))?,
            },
        }
    }
    if !reader.begun {
        return Err(ReadError::Empty);
    }
    Ok(reader.finish())
}

#[derive(Default)]
struct Reader {
    begun: bool,
    traces: Traces,
    /// Where the connection of a group is.
    known: HashMap<String, usize>,
}

impl Reader {
    fn line(&mut self, text: &[u8]) -> Result<(), String> {
        let value: Value = serde_json::from_slice(text).map_err(|error| match error.column() {
            0 => "it is not JSON".to_owned(),
            column => format!("it is not JSON, from column {column} on"),
        })?;
        if self.begun {
            self.event(&value)
        } else {
            self.header(&value)
        }
    }

    fn header(&mut self, header: &Value) -> Result<(), String> {
        let Some(version) = header.get("qlog_version") else {
            return Err("no header of a trace: it has no qlog_version".to_owned());
        };
        if version != "0.3" {
            return Err(format!("qlog_version {version}, and not \"0.3\""));
        }
        match &header["qlog_format"] {
            Value::String(format) if ["JSON-SEQ", "NDJSON"].contains(&format.as_str()) => {}
            other => {
                return Err(format!(
                    "qlog_format {other}, and not a line for each event"
                ));
            }
        }
        let format = &header["trace"]["common_fields"]["time_format"];
        if !format.is_null() && format != "relative" {
            return Err(format!("time_format {format}, and not \"relative\""));
        }
        self.begun = true;
        header["title"]
            .as_str()
            .unwrap_or("trace")
            .clone_into(&mut self.traces.title);
        Ok(())
    }

    fn event(&mut self, event: &Value) -> Result<(), String> {
        let at = number(event, "time")?.ok_or("an event without a time")? / MILLIS;
        let name = event["name"].as_str().ok_or("an event without a name")?;
        let group = event["group_id"].as_str().unwrap_or(&self.traces.title);
        let index = match self.known.get(group) {
            Some(&index) => index,
            None => {
                let index = self.traces.connections.len();
                self.known.insert(group.to_owned(), index);
                self.traces.connections.push(History {
                    name: group.to_owned(),
                    life: (at, at),
                    ..History::default()
                });
                index
            }
        };
        let history = &mut self.traces.connections[index];
        history.life = (history.life.0.min(at), history.life.1.max(at));
        take(history, at, name, &event["data"]).map_err(|what| format!("{name}: {what}"))
    }

    /// What has nothing to draw is no connection: the series of attempts, for example.
    fn finish(mut self) -> Traces {
        self.traces
            .connections
            .retain(|history| !history.is_empty());
        for history in &mut self.traces.connections {
            history.congestion.end(history.life.1);
            if let Some(&(_, last)) = history.rto.last() {
                history.rto.push((history.life.1, last));
            }
        }
        self.traces
    }
}

fn take(history: &mut History, at: f64, name: &str, data: &Value) -> Result<(), String> {
    let seconds = |name| Ok::<_, String>(number(data, name)?.map(|millis| millis / MILLIS));
    let put = |points: &mut Vec<(f64, f64)>, value: Option<f64>| {
        points.extend(value.map(|value| (at, value)))
    };
    match name {
        "recovery:metrics_updated" => {
            put(&mut history.rtt, seconds("latest_rtt")?);
            put(&mut history.srtt, seconds("smoothed_rtt")?);
            put(&mut history.rto, seconds("rto")?);
            let congestion = &mut history.congestion;
            put(&mut congestion.window, number(data, "congestion_window")?);
            put(&mut congestion.in_flight, number(data, "bytes_in_flight")?);
            put(&mut congestion.pacing, number(data, "pacing_rate")?);
            put(&mut congestion.delivery, number(data, "delivery_rate")?);
        }
        "rto:backed_off" | "rto:collapsed" | "rto:post_syn" => {
            put(&mut history.rto, seconds("rto")?)
        }
        "recovery:loss_timer_updated" if data["event_type"] == "expired" => {
            put(
                &mut history.expiries,
                Some(seconds("rto")?.unwrap_or_default()),
            );
        }
        "recovery:congestion_state_updated" => {
            history.phases.push((at, state(data)?));
        }
        "recovery:ecn_state_updated" => history.ecn.push((at, state(data)?)),
        "connectivity:mtu_updated" => {
            let size = whole(data, "new")?.to_string();
            if history.sizes.last().is_none_or(|(_, last)| *last != size) {
                history.sizes.push((at, size));
            }
        }
        "recovery:packet_lost" => history.losses.push(Loss {
            at,
            number: packet_number(data)?,
            repaired: data["repaired"] == true,
        }),
        "rudp:bundled" => {
            history.bundles += 1;
            history.bundled = history.bundled.saturating_add(whole(data, "bytes")?);
        }
        "rudp:spurious_loss" => history.spurious.push(Spurious {
            at,
            packets: whole(data, "packets")?,
            undone: data["undone"] == true,
        }),
        "rudp:tail_probe" => history.tail_probes.push(at),
        "rudp:path_probe" => history.path_probes.push(at),
        "rudp:missed" => {
            history.missed = history.missed.saturating_add(whole(data, "traces")?);
        }
        "transport:packet_sent" => {
            // Where packets have no number, their order will do.
            let next = history.sent.len() as f64;
            let number = packet_number(data)?.unwrap_or(next);
            history.sent.push((at, number));
        }
        "transport:packet_received" => history.received += 1,
        _ => {}
    }
    Ok(())
}

fn state(data: &Value) -> Result<String, String> {
    let new = data["new"].as_str().ok_or("no new state")?;
    Ok(new.to_owned())
}

fn packet_number(data: &Value) -> Result<Option<f64>, String> {
    number(&data["header"], "packet_number")
}

/// A number that may be missing.
fn number(of: &Value, name: &str) -> Result<Option<f64>, String> {
    match &of[name] {
        Value::Null => Ok(None),
        value => {
            let number = value.as_f64();
            let number = number.filter(|number| (0.0..=GREATEST).contains(number));
            number
                .map(Some)
                .ok_or_else(|| format!("{name} is {value}, and not a number from 0 to 2^64"))
        }
    }
}

/// A count that must be there.
fn whole(of: &Value, name: &str) -> Result<u64, String> {
    let value = &of[name];
    value
        .as_u64()
        .ok_or_else(|| format!("{name} is {value}, and not a count"))
}

#[cfg(test)]
mod tests;
