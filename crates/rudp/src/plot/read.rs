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
        let value: Value =
            serde_json::from_slice(text).map_err(|error| format!("no JSON: {error}"))?;
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
            history.bundled += whole(data, "bytes")?;
        }
        "rudp:spurious_loss" => history.spurious.push(Spurious {
            at,
            packets: whole(data, "packets")?,
            undone: data["undone"] == true,
        }),
        "rudp:tail_probe" => history.tail_probes.push(at),
        "rudp:path_probe" => history.path_probes.push(at),
        "rudp:missed" => history.missed += whole(data, "traces")?,
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
            let number = value.as_f64().filter(|number| *number >= 0.0);
            number
                .map(Some)
                .ok_or_else(|| format!("{name} is {value}, and not a number from 0 up"))
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
mod tests {
    use super::*;

    const HEADER: &str =
        r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"t","trace":{}}"#;

    fn of(lines: &str) -> Result<Traces, String> {
        read(lines.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_no_trace_is_refused_with_the_line_and_the_reason() {
        let header = |change: (&str, &str)| HEADER.replace(change.0, change.1);
        let event = |event: &str| format!("{HEADER}\n\n{event}\n");
        for (text, why) in [
            (String::new(), "it is empty"),
            ("\n \n".to_owned(), "it is empty"),
            ("GIF89a\n".to_owned(), "line 1: no JSON: expected value"),
            (
                "{}".to_owned(),
                "line 1: no header of a trace: it has no qlog_version",
            ),
            (header(("0.3", "0.4")), "line 1: qlog_version \"0.4\""),
            (header(("JSON-SEQ", "JSON")), "line 1: qlog_format \"JSON\""),
            (
                header(("{}", r#"{"common_fields":{"time_format":"delta"}}"#)),
                "line 1: time_format \"delta\"",
            ),
            (event("{"), "line 3: no JSON: EOF"),
            (event("[]"), "line 3: an event without a time"),
            (event(r#"{"time":1}"#), "line 3: an event without a name"),
            (
                event(r#"{"time":-1,"name":"a:b"}"#),
                "line 3: time is -1, and not",
            ),
            (
                event(r#"{"time":1,"name":"recovery:metrics_updated","data":{"latest_rtt":"x"}}"#),
                "line 3: recovery:metrics_updated: latest_rtt is \"x\", and not a number",
            ),
            (
                event(r#"{"time":1,"name":"rudp:spurious_loss","data":{}}"#),
                "line 3: rudp:spurious_loss: packets is null, and not a count",
            ),
            (
                event(r#"{"time":1,"name":"recovery:congestion_state_updated"}"#),
                "line 3: recovery:congestion_state_updated: no new state",
            ),
        ] {
            let error = of(&text).expect_err(&text);
            assert!(error.starts_with(why), "{error}, and not {why}");
        }
    }

    #[test]
    fn a_line_without_end_is_read_up_to_a_limit() {
        let endless = read(io::BufReader::new(io::repeat(b'7')));
        assert!(matches!(endless, Err(ReadError::Line(1, _))), "{endless:?}");
        let after_header = HEADER.as_bytes().chain(&b"\n"[..]).chain(io::repeat(b'['));
        let endless = read(io::BufReader::new(after_header));
        assert!(matches!(endless, Err(ReadError::Line(2, _))), "{endless:?}");
    }

    #[test]
    fn a_trace_in_which_nothing_happened_has_no_connection() {
        let quiet = format!(
            "{HEADER}\n{}\n",
            r#"{"time":5,"group_id":"f","name":"rudp:lost","data":{}}"#
        );
        for text in [HEADER, &quiet] {
            let traces = of(text).expect("a trace");
            assert_eq!((traces.title.as_str(), traces.connections.len()), ("t", 0));
            assert!(!traces.cut);
        }
    }

    #[test]
    fn each_group_is_a_connection_and_the_last_line_may_be_cut() {
        let text = [
            HEADER,
            "\x1e{\"time\":1000,\"group_id\":\"a\",\"name\":\"recovery:metrics_updated\",\"data\":{\"latest_rtt\":43.5,\"rto\":1000}}",
            r#"{"time":1500,"group_id":"b","name":"rudp:path_probe","data":{}}"#,
            r#"{"time":2000,"group_id":"a","name":"recovery:metrics_updated","data":{"congestion_window":12000}}"#,
            r#"{"time":2500,"group_id":"a","name":"rudp:spurious_loss","data":{"packets":2,"undone":true}}"#,
            r#"{"time":3000,"group_id":"a","name":"transport:pack"#,
        ];
        let traces = of(&text.join("\n")).expect("a trace");
        assert!(traces.cut);
        let [a, b] = &traces.connections[..] else {
            panic!("{traces:?}");
        };
        assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
        assert_eq!((a.life, b.life), ((1.0, 2.5), (1.5, 1.5)));
        assert_eq!(a.rtt, [(1.0, 0.0435)]);
        assert_eq!(a.rto, [(1.0, 1.0), (2.5, 1.0)], "it holds to the end");
        assert_eq!(a.congestion.window, [(2.0, 12_000.0), (2.5, 12_000.0)]);
        assert_eq!(b.path_probes, [1.5]);
        let said = a.to_string();
        assert_eq!(
            said,
            "1.5 s, 1 round trip measured, 2 of these came late, 1 reduction undone."
        );
    }

    #[test]
    fn packets_and_states_are_taken_with_their_times() {
        let line = |time: u32, name: &str, data: &str| {
            format!(r#"{{"time":{time},"name":"{name}","data":{data}}}"#)
        };
        let sized = |new| format!(r#"{{"new":{new}}}"#);
        let numbered = |number, more| format!(r#"{{"header":{{"packet_number":{number}}}{more}}}"#);
        let text = [
            HEADER.to_owned(),
            line(1_000, "connectivity:mtu_updated", &sized(1_200)),
            line(1_000, "transport:packet_sent", &numbered(7, "")),
            line(1_000, "transport:packet_sent", "{}"), // its number is its place
            line(1_500, "connectivity:mtu_updated", &sized(1_200)), // the search is over
            line(1_500, "connectivity:mtu_updated", &sized(1_472)),
            line(2_000, "recovery:ecn_state_updated", r#"{"new":"capable"}"#),
            line(
                2_000,
                "recovery:packet_lost",
                &numbered(7, r#","repaired":true"#),
            ),
            line(2_000, "recovery:packet_lost", "{}"),
            line(2_000, "rudp:bundled", r#"{"bytes":300}"#),
        ];
        let traces = of(&text.join("\n")).expect("a trace");
        let [it] = &traces.connections[..] else {
            panic!("{traces:?}");
        };
        assert_eq!(it.sent, [(1.0, 7.0), (1.0, 1.0)]);
        assert_eq!(
            it.sizes,
            [(1.0, "1200".to_owned()), (1.5, "1472".to_owned())]
        );
        assert_eq!(it.ecn, [(2.0, "capable".to_owned())]);
        let loss = |number, repaired| Loss {
            at: 2.0,
            number,
            repaired,
        };
        assert_eq!(it.losses, [loss(Some(7.0), true), loss(None, false)]);
        assert_eq!(
            it.to_string(),
            "1 s, 2 packets sent, 2 packets taken for lost, 1 of these repaired by a repeat, \
             1 packet with repeats, 300 bytes in these."
        );
        let page = crate::plot::html(&traces);
        for class in ["lost", "repaired", "same", "fast", "undone"] {
            let drawn = page.contains(&format!("class=\"{class}\""));
            assert_eq!(drawn, class != "lost", "{class}: one has no number");
        }
    }
}
