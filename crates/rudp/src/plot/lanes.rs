//! What happened on a connection and what it was doing, a lane for each.

use super::{figures::clock, history::History, page::Figure, svg::Plot};
use crate::words::count;

pub(super) fn of(history: &History, x: (f64, f64)) -> Option<Figure> {
    let (bars, marks) = (bars(history), marks(history));
    if bars.len() + marks.len() == 0 {
        return None;
    }
    let mut plot = Plot::lanes(x, bars.len() + marks.len());
    plot.x_axis("seconds since the start");
    for (row, (name, states)) in bars.iter().enumerate() {
        plot.lane(row, name);
        let ends = states.iter().skip(1).map(|&(at, _)| at);
        let ends = ends.chain([history.life.1]);
        for ((from, state), to) in states.iter().zip(ends) {
            let title = format!("{name} {state} from {} to {}", clock(*from), clock(to));
            let label = state.replace('_', " ");
            plot.bar(row, (*from, to), class(state), &label, &title);
        }
    }
    for (row, (name, class, times)) in marks.into_iter().enumerate() {
        let row = row + bars.len();
        plot.lane(row, name);
        let title = format!("{name}: {}", count(times.len() as u64, "time", "times"));
        plot.strokes(row, times.into_iter(), class, &title);
    }
    Some(Figure {
        title: "What happened".to_owned(),
        text: "What congestion control was doing, how many bytes a full datagram had, and what was known of ECN. \
               Below, when the timer expired; packets were taken for lost, though what was on some had been \
               repeated already; some of them came late after all, and what had been done about them was \
               undone; an overdue packet was repeated before the RTO; a silent path was asked.",
        legend: &[
            ("--more", "block", "sends more"),
            ("--less", "block", "sends less"),
            ("--bad", "", "expiry"),
            ("--fast", "", "taken for lost"),
            ("--rto", "", "came late, or a tail probe"),
            ("--good", "", "repaired, undone, or a path probe"),
        ],
        svg: plot.finish("States of the connection, expiries, losses and probes over time"),
    })
}

/// What holds for a while.
fn bars(history: &History) -> Vec<(&'static str, &[(f64, String)])> {
    let all = [
        ("phase", &history.phases[..]),
        ("datagram", &history.sizes),
        ("ECN", &history.ecn),
    ];
    all.into_iter()
        .filter(|(_, states)| !states.is_empty())
        .collect()
}

fn class(state: &str) -> &'static str {
    match state {
        "slow_start" | "startup" | "probe_up" | "refill" => "more",
        "recovery" | "drain" | "probe_down" | "probe_rtt" => "less",
        _ => "same",
    }
}

/// What happens at a moment, each with the class of its strokes.
fn marks(history: &History) -> Vec<(&'static str, &'static str, Vec<f64>)> {
    let losses = |repaired| {
        let losses = history
            .losses
            .iter()
            .filter(move |loss| loss.repaired == repaired);
        losses.map(|loss| loss.at).collect()
    };
    let late = |undone| {
        let late = history
            .spurious
            .iter()
            .filter(move |late| late.undone == undone);
        late.map(|late| late.at).collect()
    };
    let expiries = history.expiries.iter().map(|&(at, _)| at).collect();
    let all = [
        ("expiry", "bad", expiries),
        ("packet lost", "fast", losses(false)),
        ("lost, repaired", "undone", losses(true)),
        ("came late", "late", late(false)),
        ("late, undone", "undone", late(true)),
        ("tail probe", "late", history.tail_probes.clone()),
        ("path probe", "probe", history.path_probes.clone()),
    ];
    let happened = |(_, _, times): &(_, _, Vec<f64>)| !times.is_empty();
    all.into_iter().filter(happened).collect()
}
