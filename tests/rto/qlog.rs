//! The lines of JSON that `rto::qlog` makes of a timer's events.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use conformance::time::{ms, s};
use proptest::prelude::*;
use rto::qlog::{Header, JsonLines, Line, Millis, Text, VantagePoint};
use rto::{
    Config, Estimator, Event, GiveUp, Limit, Limits, Progress, RetransmitTimer, Sample, Threshold,
    Timeout,
};
use serde_json::{Value, json};

const HEADER: Header<'static> = Header {
    title: "a \"title\"",
    vantage_point: VantagePoint::Server,
};

fn parsed(line: impl fmt::Display) -> Value {
    let line = line.to_string();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// Every event, with what its line must say at 500 ms.
fn events() -> Vec<(&'static str, Event, Value)> {
    let set = |trigger, delta| {
        let data =
            json!({ "event_type": "set", "timer_type": "pto", "delta": delta, "trigger": trigger });
        json!(["recovery:loss_timer_updated", data])
    };
    let (deadline, rto) = (ms(1_500), Duration::from_micros(1_250_500));
    let (retransmissions, undone, backoffs) = (3, 2, 4);
    let sampled = Event::Sampled {
        rtt: Duration::from_nanos(43_000_001),
        srtt: ms(43),
        rttvar: Duration::from_micros(21_500),
        rto,
    };
    let metrics = json!({
        "latest_rtt": 43.000001, "smoothed_rtt": 43, "rtt_variance": 21.5, "rto": 1250.5,
    });
    let gave_up = |limit, elapsed| {
        Event::GaveUp(GiveUp {
            limit,
            retransmissions,
            elapsed,
        })
    };
    let up = |limit, elapsed| json!(["rto:gave_up", { "limit": limit, "retransmissions": 3, "elapsed": elapsed }]);
    let expired = json!({
        "event_type": "expired", "timer_type": "pto", "rto": 1250.5, "retransmissions": 3,
    });
    let stopped = json!({ "event_type": "cancelled", "timer_type": "pto" });
    let loss_timer = "recovery:loss_timer_updated";
    vec![
        ("Armed", Event::Armed { deadline }, set("armed", 1_000)),
        (
            "Restarted",
            Event::Restarted { deadline },
            set("restarted", 1_000),
        ),
        // A deadline that has passed is due now, not before.
        (
            "Restarted",
            Event::Restarted { deadline: ms(499) },
            set("restarted", 0),
        ),
        ("Stopped", Event::Stopped, json!([loss_timer, stopped])),
        (
            "Expired",
            Event::Expired {
                retransmissions,
                rto,
            },
            json!([loss_timer, expired]),
        ),
        (
            "BackedOff",
            Event::BackedOff { rto, backoffs },
            json!(["rto:backed_off", { "rto": 1250.5, "backoffs": 4 }]),
        ),
        (
            "Sampled",
            sampled,
            json!(["recovery:metrics_updated", metrics]),
        ),
        (
            "Collapsed",
            Event::Collapsed { rto, undone },
            json!(["rto:collapsed", { "rto": 1250.5, "undone": 2 }]),
        ),
        ("Cleared", Event::Cleared, json!(["rto:cleared", {}])),
        (
            "PostSyn",
            Event::PostSyn { rto: s(3) },
            json!(["rto:post_syn", { "rto": 3000 }]),
        ),
        (
            "R1",
            Event::R1 { retransmissions },
            json!(["rto:r1", { "retransmissions": 3 }]),
        ),
        ("GaveUp", gave_up(Limit::R2, s(100)), up("r2", 100_000)),
        (
            "GaveUp",
            gave_up(Limit::UserTimeout, ms(1)),
            up("user_timeout", 1),
        ),
    ]
}

#[test]
fn every_event_has_its_line() {
    for (_, event, expected) in events() {
        let line = parsed(Line::new(ms(500), event));
        assert_eq!(json!([line["name"], line["data"]]), expected, "{event:?}");
        assert_eq!(line["time"], json!(500));
        assert_eq!(line.as_object().map(|fields| fields.len()), Some(3));

        let line = Line {
            group_id: Some("c:\\1"),
            ..Line::new(ms(500), event)
        };
        assert_eq!(parsed(line)["group_id"], "c:\\1", "{event:?}");
    }
}

/// The table in the module's documentation names exactly the fields that are written.
#[test]
fn the_documented_fields_are_the_fields() {
    let source = include_str!("../../crates/rto/src/qlog.rs");
    let mut documented = BTreeSet::new();
    for row in source.lines().filter(|line| line.contains("](Event::")) {
        let quoted: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let [variant, name, fields @ ..] = &quoted[..] else {
            panic!("{row}");
        };
        documented.insert(*variant);
        let fields: BTreeSet<String> = fields.iter().map(ToString::to_string).collect();
        for (_, event, expected) in events().iter().filter(|(of, ..)| of == variant) {
            assert_eq!(expected[0], *name, "{event:?}");
            let data = expected[1].as_object().expect("an object");
            let written = data.keys().cloned().collect();
            assert_eq!(fields, written, "{event:?}");
        }
    }
    let all: BTreeSet<&str> = events().iter().map(|(variant, ..)| *variant).collect();
    assert_eq!(documented, all);
}

#[test]
fn a_header_and_then_what_happened_to_a_timer() {
    let limits = Limits {
        r1: Threshold::Retransmissions(1),
        r2: Threshold::Retransmissions(2),
        ..Limits::NONE
    };
    let mut lines = JsonLines::new(String::new(), &HEADER);
    let timer = RetransmitTimer::new(Estimator::new(Config::RFC6298).expect("valid"));
    let mut timer = timer.with_limits(limits).observed_by(&mut lines);
    timer.handle_sent(ms(0));
    timer.handle_acked(ms(90), Progress::Some, Some(Sample::measured(ms(90))));
    let mut timeouts = Vec::new();
    while let Some(deadline) = timer.poll_timeout() {
        timeouts.extend(timer.handle_timeout(deadline));
    }
    assert!(matches!(timeouts[..], [_, _, Timeout::GiveUp(_)]));

    lines.check().expect("a string takes everything");
    let lines = lines.into_inner();
    let mut lines = lines.lines().map(parsed);
    let header = json!({
        "qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": "a \"title\"",
        "trace": {
            "vantage_point": { "type": "server" },
            "common_fields": { "time_format": "relative", "reference_time": 0 },
        },
    });
    assert_eq!(lines.next(), Some(header));
    let told = lines.map(|line| {
        let data = &line["data"];
        let particular = data.get("event_type").or_else(|| data.get("limit"));
        let particular = particular.and_then(Value::as_str).unwrap_or_default();
        let name = line["name"].as_str().expect("a name");
        (line["time"].as_u64(), format!("{name} {particular}"))
    });
    let set = "recovery:loss_timer_updated set";
    let expected = [
        (0, set),
        (90, "recovery:metrics_updated "),
        (90, set),
        (1_090, "recovery:loss_timer_updated expired"),
        (1_090, "rto:backed_off "),
        (1_090, "rto:r1 "),
        (1_090, set),
        (3_090, "recovery:loss_timer_updated expired"),
        (3_090, "rto:backed_off "),
        (3_090, set),
        (7_090, "rto:gave_up r2"),
        (7_090, "recovery:loss_timer_updated cancelled"),
    ];
    let expected = expected.map(|(at, line)| (Some(at), line.to_owned()));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// Takes so many bytes and no more, but the bytes after them again.
struct Full {
    room: usize,
    text: String,
}

impl fmt::Write for Full {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > self.room {
            self.room = usize::MAX; // somebody made room
            return Err(fmt::Error);
        }
        self.room -= text.len();
        self.text.push_str(text);
        Ok(())
    }
}

#[test]
fn nothing_is_lost_in_silence_and_nothing_is_written_after_a_gap() {
    let header = HEADER.to_string().len() + 1;
    let event = Line::new(ms(1), Event::Stopped);
    let line = event.to_string().len() + 1;
    for (room, written) in [
        (0, 0),
        (header - 1, 0),
        (header, 1),
        (header + line - 1, 1),
        (header + 2 * line, 3),
    ] {
        let text = String::new();
        let mut lines = JsonLines::new(Full { room, text }, &HEADER);
        for _ in 0..5 {
            lines.write(event);
        }
        let incomplete = lines.check().expect_err("it was full");
        assert_eq!(
            (incomplete.written, incomplete.lost),
            (written, 6 - written),
            "{room}"
        );
        assert_eq!(
            incomplete.to_string(),
            format!(
                "the writer failed after {written} lines, {} are lost",
                6 - written
            )
        );
        let text = lines.into_inner().text;
        let whole: Vec<&str> = text.split_inclusive('\n').collect();
        let whole = whole.iter().filter(|line| line.ends_with('\n'));
        assert_eq!(whole.map(parsed).count() as u64, written, "{room}: {text}");
        assert!(text.len() <= room);
    }
}

/// The nanoseconds that a decimal in milliseconds says, by moving its point.
fn nanos(millis: &str) -> u128 {
    let (whole, fraction) = millis.split_once('.').unwrap_or((millis, ""));
    assert!(
        fraction.len() <= 6 && !fraction.ends_with('0'),
        "{millis} is not short"
    );
    format!("{whole}{fraction:0<6}").parse().expect("digits")
}

proptest! {
    #[test]
    fn times_are_exact(seconds: u64, ns in 0_u32..1_000_000_000) {
        for span in [Duration::new(seconds, ns), Duration::new(seconds >> 44, ns)] {
            prop_assert_eq!(nanos(&Millis(span).to_string()), span.as_nanos());
        }
    }

    #[test]
    fn any_text_is_a_string_of_json(text: String) {
        prop_assert_eq!(parsed(Text(&text)), json!(text));
    }
}

#[test]
fn the_ends_of_time_can_be_written() {
    for span in [Duration::ZERO, Duration::MAX, Duration::from_nanos(1)] {
        assert_eq!(nanos(&Millis(span).to_string()), span.as_nanos());
        let deadline = Duration::MAX;
        parsed(Line::new(span, Event::Armed { deadline }));
    }
    let control: String = (0..0x20_u8).map(char::from).collect();
    assert_eq!(parsed(Text(&control)), json!(control));
}
