//! The figures of the page that show the whole play, and what all figures share.

use std::{fmt::Write, time::Duration};

use super::{Encore, Ended, Expiry, Record};
use crate::{
    plot::{
        congestion::{
            Congestion, RATE_LEGEND, WINDOW_LEGEND, rate_axes, rate_plot, window_axes, window_plot,
        },
        page::Figure,
        svg::Plot,
    },
    words::{count, seconds, span, trimmed},
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
    estimates(&mut plot, record);
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
    Figure {
        title: "The timer".to_owned(),
        text: "Each dot is a round trip that was measured, at most one for each millisecond. SRTT \
         follows them; the RTO is what the sender is ready to wait, never less than 1 s. Round \
         trips grow as packets queue at the bottleneck. A red disc is an expiry: nothing came for a \
         whole RTO, so the RTO doubles. The first fresh sample takes it back. The discs at the \
         bottom are attempts to connect.",
        legend: &[
            ("--rtt", "disc", "round trip"),
            ("--srtt", "", "SRTT"),
            ("--rto", "", "RTO"),
            ("--bad", "disc", "expiry, or attempt refused (bottom)"),
            ("--good", "disc", "attempt accepted (bottom)"),
            ("--fast", "", "fast retransmit"),
        ],
        svg: plot.finish("Round trips, SRTT, RTO, expiries and connection attempts over time"),
    }
    .html()
}

/// The window and the rates, a line for each connection.
pub(super) fn congestion(record: &Record) -> String {
    let lives: Vec<_> = lives(record)
        .into_iter()
        .map(|life| congestion_of(record, life))
        .collect();
    let over_time = (0.0, x(record.end));
    let mut window = window_plot(over_time, &lives);
    scene_bands(&mut window, record, false);
    window_axes(&mut window);
    let undone = record.late.iter().filter(|late| late.undone);
    let undone: Vec<_> = undone.map(|late| x(late.at)).collect();
    let title = count(undone.len() as u64, "reduction undone", "reductions undone");
    window.rug(undone.into_iter(), "undone", &title);
    let mut rates = rate_plot(over_time, &lives);
    scene_bands(&mut rates, record, false);
    rate_axes(&mut rates);
    for life in &lives {
        life.draw_window(&mut window);
        life.draw_rates(&mut rates);
    }
    let window = Figure {
        title: "The window".to_owned(),
        text: "What may be in flight, and what is. The model of the path allows 1.7 times what fills it, and \
               looks for more every few seconds; a random loss is no reason to send less. An expiry leaves a window \
               of one packet, from which it doubles; where the answer was only late, as after the \
               standstill, it restores the window at once (a green stroke below).",
        legend: WINDOW_LEGEND,
        svg: window.finish("Congestion window and bytes in flight over time"),
    };
    let rates = Figure {
        title: "The rates".to_owned(),
        text: "How fast packets may leave, and how fast the path delivered them. The start paces 2.89 times what \
               was delivered, to find the bottleneck; a probe 1.25 times.",
        legend: RATE_LEGEND,
        svg: rates.finish("Pacing rate and delivery rate over time"),
    };
    window.html() + &rates.html()
}

fn congestion_of(record: &Record, (from, to): (Duration, Duration)) -> Congestion {
    let mut congestion = Congestion::default();
    let within = |at: Duration| from <= at && at < to;
    for (at, metrics) in record.congestion.iter().filter(|(at, _)| within(*at)) {
        congestion.push(x(*at), metrics);
    }
    congestion.end(x(to));
    congestion
}

/// SRTT and RTO, a line for each connection.
fn estimates(plot: &mut Plot, record: &Record) {
    let (samples, expiries) = (&record.samples, &record.expiries);
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
    Figure {
        title: "The file".to_owned(),
        text: "What is on the receiver's disk survives its death: the second connection goes on from the \
         last byte there.",
        legend: &[("--good", "", "bytes on the receiver's disk")],
        svg: plot.finish("Bytes on disk over time"),
    }
    .html()
}

/// How long each small message took.
pub(super) fn small_messages(record: &Record) -> String {
    let Some(Encore { with, without }) = &record.encore else {
        return String::new();
    };
    let millis = |it: Duration| 1e3 * x(it);
    let all = || without.messages.iter().chain(&with.messages);
    let longest = all().map(|&(_, took)| millis(took)).fold(1.0, f64::max);
    let end = all().map(|&(at, _)| x(at)).fold(0.0, f64::max);
    let mut plot = Plot::linear((0.0, end), longest * 1.05, 300.0);
    plot.axes(
        "seconds since the first message",
        "ms from end to end",
        |ms| trimmed(ms, 0),
    );
    for (talk, class, name) in [(without, "plain", "without"), (with, "repeats", "with")] {
        let messages = talk.messages.iter();
        let places = messages.map(|&(at, took)| (x(at), millis(took)));
        let title = format!(
            "{} {name} repeats: half took {} at most, 99 % {}",
            count(talk.messages.len() as u64, "message", "messages"),
            span(talk.delay(50)),
            span(talk.delay(99))
        );
        plot.dots(places, class, &title);
    }
    Figure {
        title: "Small messages".to_owned(),
        text: "After the file, two connections send 100 bytes each 20 ms, and one packet in ten is lost. Where \
               packets repeat what the ones before them carried, a lost message comes with the next one, 20 ms \
               later. Without, it waits until the loss shows, and so does all that is behind it in the stream.",
        legend: &[
            ("--good", "disc", "a message, with repeats"),
            ("--rto", "disc", "without"),
        ],
        svg: plot.finish("Delay of each small message over time, with repeats and without"),
    }
    .html()
}

/// A band for each scene. Words only where there is room for them: `titles` asks for more than the
/// number.
fn scene_bands(plot: &mut Plot, record: &Record, titles: bool) {
    for (index, act) in record.acts.iter().enumerate() {
        let until = record.act_end(index);
        let class = if index % 2 == 0 { "even" } else { "odd" };
        let share = x(until.saturating_sub(act.from)) / x(record.end).max(1e-3);
        let room = share * 140.0 - 1.5; // characters, with a gap before the next label
        let number = index + 1;
        let full = format!("{number}: {}", act.scene.title);
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

/// The class and the title of an attempt's mark.
pub(super) fn attempted(ended: &Ended) -> (&'static str, String) {
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

pub(super) fn expired(expiry: &Expiry) -> String {
    format!(
        "expired at {}, {} after the last send: RTO {} ran out, then {}",
        seconds(expiry.at),
        span(expiry.at.saturating_sub(expiry.last_sent_at)),
        span(expiry.rto),
        span(expiry.next_rto)
    )
}

pub(super) fn x(span: Duration) -> f64 {
    span.as_secs_f64()
}
