//! The figures of the page.

use std::{fmt::Write, time::Duration};

use grpc_backoff::Outcome;

use super::{
    Ended, Expiry, Record,
    check::window,
    plot::Plot,
    words::{count, span, trimmed},
};

/// Round trips, SRTT, RTO, expiries and attempts over the whole play.
pub(super) fn timer(record: &Record) -> String {
    let samples = &record.samples;
    let rtts = samples.iter().map(|sample| sample.rtt.as_secs_f64());
    let lowest = rtts.fold(0.1, f64::min);
    let expiries = &record.expiries;
    let rtos = samples.iter().map(|sample| sample.rto);
    let rtos = rtos.chain(expiries.iter().map(|expiry| expiry.next_rto));
    let highest = rtos.map(|rto| rto.as_secs_f64()).fold(1.0, f64::max);
    let mut plot = Plot::logarithmic((0.0, x(record.end)), (lowest, highest), 430.0);
    scene_bands(&mut plot, record, true);
    plot.axes("seconds since the start", "round trip, RTO", |seconds| {
        span(Duration::from_secs_f64(seconds))
    });

    for (index, act) in record.acts.iter().enumerate() {
        let until = record.act_end(index);
        let here = samples
            .iter()
            .filter(|sample| (act.from..until).contains(&sample.at));
        let title = format!(
            "{} in \"{}\"",
            count(act.samples, "round trip", "round trips"),
            act.scene.title
        );
        plot.dots(here.map(|it| (x(it.at), x(it.rtt))), "rtt", &title);
    }
    for life in lives(record) {
        let within = |at: Duration| life.0 <= at && at < life.1;
        let of_life = samples.iter().filter(|sample| within(sample.at));
        let srtt: Vec<_> = of_life.clone().map(|it| (x(it.at), x(it.srtt))).collect();
        plot.line(&srtt, "srtt", false, "SRTT, the smoothed round trip");
        let mut rto: Vec<_> = of_life.map(|it| (x(it.at), x(it.rto))).collect();
        let expired = expiries.iter().filter(|expiry| within(expiry.at));
        rto.extend(expired.map(|it| (x(it.at), x(it.next_rto))));
        rto.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(&(_, last)) = rto.last() {
            rto.push((x(life.1), last));
        }
        plot.line(&rto, "rto", true, "RTO, how long to wait for an answer");
    }
    let fast = record.fast_retransmits.iter().copied().map(x);
    let title = count(
        record.fast_retransmits.len() as u64,
        "fast retransmit",
        "fast retransmits",
    );
    plot.rug(fast, "fast", &title);
    for expiry in expiries {
        plot.mark((x(expiry.at), x(expiry.rto)), "expired", &expired(expiry));
    }
    for ended in &record.attempts {
        let (class, title) = attempted(ended);
        let at = x(ended.attempt.started_at);
        plot.mark((at, lowest / 2.0), class, &title);
    }
    section(
        "The timer",
        "Each dot is a round trip that was measured. SRTT follows them; the RTO is what the sender \
         is ready to wait, never less than 1 s. Round trips grow as packets queue at the \
         bottleneck. A red disc is an expiry: nothing came for a whole RTO, so the RTO doubles. \
         The first fresh sample takes it back. The discs at the bottom are attempts to connect.",
        &[
            ("--rtt", "disc", "round trip"),
            ("--srtt", "", "SRTT"),
            ("--rto", "", "RTO"),
            ("--bad", "disc", "expiry, or attempt refused (bottom)"),
            ("--good", "disc", "attempt accepted (bottom)"),
            ("--fast", "", "fast retransmit"),
        ],
        &plot.finish("Round trips, SRTT, RTO, expiries and connection attempts over time"),
    )
}

/// The dark, from the last send on.
pub(super) fn dark(record: &Record) -> String {
    let Some(dark) = &record.dark else {
        return String::new();
    };
    let expiries: Vec<_> = record
        .expiries
        .iter()
        .skip_while(|expiry| expiry.at < dark.start)
        .take_while(|expiry| expiry.last_sent < dark.end)
        .collect();
    let Some(first) = expiries.first() else {
        return String::new();
    };
    let collapse = record.acts.iter().filter_map(|act| act.collapse);
    let collapse = collapse.map(|(at, _)| at).find(|&at| at > first.at);
    let origin = first.last_sent;
    let since = |at: Duration| x(at) - x(origin);
    let end = collapse.unwrap_or(record.end).max(dark.end);
    let mut plot = Plot::lanes(
        (since(dark.start).min(0.0), since(end) + 0.6),
        expiries.len() + 1,
    );
    let dark_for = span(dark.end - dark.start);
    plot.band(
        (since(dark.start), since(dark.end)),
        "dark",
        "dark: everything is lost",
        &format!("dark for {dark_for}"),
    );
    plot.x_axis("seconds after the last send");
    for (row, expiry) in expiries.iter().enumerate() {
        let from = since(expiry.at.saturating_sub(expiry.rto));
        let bar = Some((from, since(expiry.at)));
        let title = format!("the timer runs for an RTO of {}", span(expiry.rto));
        plot.lane(row, &format!("expiry {}", row + 1), bar, "running", &title);
        let words = format!("RTO {}", span(expiry.rto));
        let place = (since(expiry.at), row as f64 + 0.5);
        plot.mark(place, "expired", &expired(expiry));
        plot.note(place, &words);
    }
    let row = expiries.len();
    plot.lane(row, "fresh sample", None, "running", "");
    if let Some(at) = collapse {
        let sample = record.samples.iter().find(|sample| sample.at == at);
        let words = sample.map_or(String::new(), |it| format!("RTO {}", span(it.rto)));
        let title = format!(
            "fresh sample {} after the last send: {words}",
            span(at - origin)
        );
        let place = (since(at), row as f64 + 0.5);
        plot.mark(place, "sample", &title);
        plot.note(place, &words);
    }
    section(
        "In the dark",
        "The timer runs once for each RTO, twice as long each time. What it sends at 1 and 3 s is \
         lost as well; what it sends at 7 s gets through, and the answer ends the back-off.",
        &[
            ("--rto", "block", "the timer runs"),
            (
                "--bad",
                "disc",
                "it expires, and the oldest packet is sent again",
            ),
            ("--good", "disc", "an answer"),
        ],
        &plot.finish("Expiries during the blackout, in seconds after the last send"),
    )
}

/// The attempts while the server was down.
pub(super) fn knocking(record: &Record) -> String {
    let Some((died, back)) = record.down else {
        return String::new();
    };
    let since = |at: Duration| x(at) - x(died);
    let attempts = record.attempts.iter();
    let attempts: Vec<_> = attempts
        .filter(|ended| ended.attempt.started_at >= died)
        .collect();
    let ends = attempts.iter().map(|ended| {
        let may_start = allowed(ended).map_or(Duration::ZERO, |(_, latest)| latest);
        since(may_start.max(ended.at))
    });
    let end = ends.fold(0.0, f64::max);
    let room = 1.25; // for the words
    let mut plot = Plot::lanes((0.0, end * room), attempts.len());
    let up = back.unwrap_or(record.end);
    let down_for = format!("down for {}", span(up - died));
    let closed = "no server: its port is closed";
    plot.band((0.0, since(up)), "down", closed, &down_for);
    plot.x_axis("seconds after the server was killed");
    for (row, ended) in attempts.into_iter().enumerate() {
        let attempt = &ended.attempt;
        let started = since(attempt.started_at);
        let window = allowed(ended).map(|(from, to)| (since(from), since(to)));
        let name = format!("#{}", attempt.number);
        plot.lane(row, &name, window, "allowed", "when it may start");
        let (class, title) = attempted(ended);
        let lane = row as f64 + 0.5;
        plot.mark((started, lane), class, &title);
        let outcome = match attempt.outcome {
            Outcome::Connected => "accepted",
            _ => "refused",
        };
        let words = match attempt.actual.filter(|_| window.is_some()) {
            Some(actual) => format!("{outcome} after {}", seconds(actual)),
            None => format!("{outcome} at once"),
        };
        let right = window.map_or(started, |(_, to)| to.max(started));
        plot.note((right, lane), &words);
    }
    section(
        "Knocking at a closed door",
        "The sender sees that nobody listens and tries again: about 1, 1.6, 2.56 and 4.1 s after \
         the start of the attempt before, each drawn within 20 % of that, so that many clients of \
         one dead server do not come back all at once. The server was back after the fourth \
         refusal; the next attempt still waited for its time.",
        &[
            ("--srtt", "block", "when the attempt may start"),
            ("--bad", "disc", "refused"),
            (
                "--good",
                "disc",
                "accepted: SETTINGS arrived, the series is reset",
            ),
        ],
        &plot.finish("Connection attempts while the server was down"),
    )
}

pub(super) fn progress(record: &Record) -> String {
    const MIB: f64 = (1 << 20) as f64;
    let length = record.length as f64 / MIB;
    let mut plot = Plot::linear((0.0, x(record.end)), length, 250.0);
    scene_bands(&mut plot, record, false);
    plot.axes("seconds since the start", "on disk, MiB", |mib| {
        trimmed(mib, 1)
    });
    let points = record.on_disk.iter();
    let mut points: Vec<_> = points
        .map(|&(at, on_disk)| (x(at), on_disk as f64 / MIB))
        .collect();
    if let Some(&(_, last)) = points.last() {
        points.push((x(record.end), last));
    }
    plot.line(&points, "disk", true, "bytes on the receiver's disk");
    section(
        "The file",
        "What is on the receiver's disk survives its death: the second connection goes on from the \
         last byte there.",
        &[("--good", "", "bytes on the receiver's disk")],
        &plot.finish("Bytes on disk over time"),
    )
}

fn section(title: &str, text: &str, legend: &[(&str, &str, &str)], svg: &str) -> String {
    let mut keys = String::new();
    for (colour, shape, words) in legend {
        let paint = if shape.is_empty() {
            "border-color"
        } else {
            "background"
        };
        _ = write!(
            keys,
            "<span><i class=\"{shape}\" style=\"{paint}:var({colour})\"></i>{words}</span>"
        );
    }
    format!(
        "<h2>{title}</h2>\n<p>{text}</p>\n<figure>\n<div class=\"legend\">{keys}</div>\n{svg}\n</figure>\n"
    )
}

/// A band for each scene. Words only where there is room for them: `titles` asks for more than the
/// number.
fn scene_bands(plot: &mut Plot, record: &Record, titles: bool) {
    for (index, act) in record.acts.iter().enumerate() {
        let until = record.act_end(index);
        let class = if index % 2 == 0 { "even" } else { "odd" };
        let share = x(until.saturating_sub(act.from)) / x(record.end).max(1e-3);
        let room = share * 130.0; // characters
        let number = index + 1;
        let full = format!("{number} {}", act.scene.title);
        let fits = titles && full.chars().count() as f64 <= room;
        let label = if fits {
            full.clone()
        } else {
            number.to_string()
        };
        let title = format!("{full}: from {} to {}", seconds(act.from), seconds(until));
        plot.band((x(act.from), x(until)), class, &label, &title);
    }
    if let Some(dark) = &record.dark {
        plot.band(
            (x(dark.start), x(dark.end)),
            "dark",
            "",
            "dark: everything is lost",
        );
    }
    if let Some((died, back)) = record.down {
        let back = back.unwrap_or(record.end);
        plot.band(
            (x(died), x(back)),
            "down",
            "",
            "no server: its port is closed",
        );
    }
}

/// The times in which one connection lived: from the start to its loss, and so on. An attempt that
/// failed is a life, too.
fn lives(record: &Record) -> Vec<(Duration, Duration)> {
    let lost = record.lost.iter().map(|&(at, _)| at);
    let failed = record.attempts.iter().filter(|ended| !ended.connected());
    let mut ends: Vec<_> = lost.chain(failed.map(|ended| ended.at)).collect();
    ends.push(record.end);
    ends.sort_unstable();
    let mut from = Duration::ZERO;
    let life = |end| (std::mem::replace(&mut from, end), end);
    ends.into_iter().map(life).collect()
}

/// When an attempt might start: within a window after the start of the one before.
fn allowed(ended: &Ended) -> Option<(Duration, Duration)> {
    let attempt = &ended.attempt;
    let before = attempt.started_at.checked_sub(attempt.actual?)?;
    let window = window(ended.failed_before)?;
    Some((before + *window.start(), before + *window.end()))
}

/// The class and the title of an attempt's mark.
fn attempted(ended: &Ended) -> (&'static str, String) {
    let class = if ended.connected() {
        "connected"
    } else {
        "refused"
    };
    let attempt = &ended.attempt;
    let mut title = format!(
        "attempt #{} at {}: {}",
        attempt.number,
        seconds(attempt.started_at),
        attempt.outcome
    );
    if let (Some(planned), Some(actual)) = (attempt.planned, attempt.actual) {
        _ = write!(
            title,
            "; planned {}, actual {} after the last",
            seconds(planned),
            seconds(actual)
        );
    }
    (class, title)
}

fn expired(expiry: &Expiry) -> String {
    format!(
        "expired at {}, {} after the last send: RTO {} ran out, then {}",
        seconds(expiry.at),
        span(expiry.at.saturating_sub(expiry.last_sent)),
        span(expiry.rto),
        span(expiry.next_rto)
    )
}

fn x(span: Duration) -> f64 {
    span.as_secs_f64()
}

fn seconds(span: Duration) -> String {
    format!("{} s", trimmed(span.as_secs_f64(), 2))
}
