//! The figures of the page that show the two outages: a lane for each expiry, and for each attempt.

use std::time::Duration;

use grpc_backoff::Outcome;

use super::{
    Ended, Record,
    check::window,
    figures::{attempted, expired, x},
};
use crate::{
    plot::{page::Figure, svg::Plot},
    words::{count, seconds, span},
};

/// The dark, from the last send on.
pub(super) fn dark(record: &Record) -> String {
    let Some(dark) = &record.dark else {
        return String::new();
    };
    let expiries: Vec<_> = record
        .expiries
        .iter()
        .skip_while(|expiry| expiry.at < dark.start)
        .take_while(|expiry| expiry.last_sent_at < dark.end)
        .collect();
    let Some(first) = expiries.first() else {
        return String::new();
    };
    let collapse = record.acts.iter().filter_map(|act| act.collapse);
    let collapse = collapse.map(|(at, _)| at).find(|&at| at > first.at);
    let origin = first.last_sent_at;
    let since = |at: Duration| x(at) - x(origin);
    let end = collapse.unwrap_or(record.end).max(dark.end);
    let probes = record.path_probes.iter().copied();
    let probes: Vec<_> = probes.filter(|at| (first.at..=end).contains(at)).collect();
    let mut plot = Plot::lanes(
        (since(dark.start).min(0.0), since(end) + 0.6),
        expiries.len() + 2,
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
        let bar = (from, since(expiry.at));
        let title = format!("the timer runs for an RTO of {}", span(expiry.rto));
        plot.lane(row, &format!("expiry {}", row + 1));
        plot.bar(row, bar, "running", "", &title);
        let words = format!("RTO {}", span(expiry.rto));
        let place = (since(expiry.at), row as f64 + 0.5);
        plot.mark(place, "expired", &expired(expiry));
        plot.note(place, &words);
    }
    let row = expiries.len();
    plot.lane(row, "path probes");
    let title = count(probes.len() as u64, "path probe", "path probes");
    plot.strokes(row, probes.into_iter().map(since), "probe", &title);
    let row = row + 1;
    plot.lane(row, "fresh sample");
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
    Figure {
        title: "In the dark".to_owned(),
        text: "The timer runs once for each RTO, twice as long each time. What it sends at 1, 3 \
         and 7 s is lost as well; a small probe gets through soon after the dark, and the answer \
         ends the back-off.",
        legend: &[
            ("--rto", "block", "the timer runs"),
            (
                "--bad",
                "disc",
                "it expires, and the oldest packet is sent again",
            ),
            ("--good", "", "a probe asks for the path"),
            ("--good", "disc", "an answer"),
        ],
        svg: plot.finish("Expiries during the blackout, in seconds after the last send"),
    }
    .html()
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
        plot.lane(row, &name);
        if let Some(window) = window {
            plot.bar(row, window, "allowed", "", "when it may start");
        }
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
    Figure {
        title: "Knocking at a closed door".to_owned(),
        text: "The sender sees that nobody listens and tries again: about 1, 1.6, 2.56 and 4.1 s after \
         the start of the attempt before, each drawn within 20 % of that, so that many clients of \
         one dead server do not come back all at once. The server was back after the fourth \
         refusal; the next attempt still waited for its time.",
        legend: &[
            ("--srtt", "block", "when the attempt may start"),
            ("--bad", "disc", "refused"),
            (
                "--good",
                "disc",
                "accepted: SETTINGS arrived, the series is reset",
            ),
        ],
        svg: plot.finish("Connection attempts while the server was down"),
    }
    .html()
}

/// When an attempt might start: within a window after the start of the one before.
fn allowed(ended: &Ended) -> Option<(Duration, Duration)> {
    let attempt = &ended.attempt;
    let before = attempt.started_at.checked_sub(attempt.actual?)?;
    let window = window(ended.failed_before)?;
    Some((before + *window.start(), before + *window.end()))
}
