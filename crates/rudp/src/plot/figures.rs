//! The figures of one connection.

use super::{
    congestion::{RATE_LEGEND, WINDOW_LEGEND, rate_axes, rate_plot, window_axes, window_plot},
    history::History,
    page::Figure,
    svg::Plot,
};
use crate::words::{count, seconds, span};
use std::time::Duration;

/// All of them that have something to show.
pub(super) fn of(history: &History) -> Vec<Figure> {
    let (from, to) = history.life;
    let x = (from, to.max(from + 1e-3));
    let congestion = std::slice::from_ref(&history.congestion);
    let mut figures = Vec::new();
    if !(history.rtt.is_empty() && history.rto.is_empty() && history.expiries.is_empty()) {
        figures.push(timer(history, x));
    }
    if !history.congestion.window.is_empty() {
        let mut plot = window_plot(x, congestion);
        window_axes(&mut plot);
        history.congestion.draw_window(&mut plot);
        figures.push(Figure {
            title: "The window".to_owned(),
            text: "What may be in flight, and what is.",
            legend: WINDOW_LEGEND,
            svg: plot.finish("Congestion window and bytes in flight over time"),
        });
    }
    if !(history.congestion.pacing.is_empty() && history.congestion.delivery.is_empty()) {
        let mut plot = rate_plot(x, congestion);
        rate_axes(&mut plot);
        history.congestion.draw_rates(&mut plot);
        figures.push(Figure {
            title: "The rates".to_owned(),
            text: "How fast packets may leave, and how fast the path delivered them.",
            legend: RATE_LEGEND,
            svg: plot.finish("Pacing rate and delivery rate over time"),
        });
    }
    figures.extend(marks(history, x));
    figures
}

fn timer(history: &History, x: (f64, f64)) -> Figure {
    let values = |points: &[(f64, f64)]| points.iter().map(|&(_, y)| y).collect::<Vec<_>>();
    let rtts = values(&history.rtt).into_iter().filter(|rtt| *rtt > 0.0);
    let highest = [&history.rtt, &history.rto, &history.expiries].map(|points| values(points));
    let highest = highest.into_iter().flatten().fold(1e-3, f64::max);
    let mut plot = Plot::logarithmic(x, (rtts.fold(highest, f64::min), highest), 330.0);
    plot.axes("seconds since the start", "round trip, RTO", |seconds| {
        words(seconds)
    });
    let title = count(history.rtt.len() as u64, "round trip", "round trips");
    plot.dots(history.rtt.iter().copied(), "rtt", &title);
    plot.line(
        &history.srtt,
        "srtt",
        false,
        "SRTT, the smoothed round trip",
    );
    plot.line(
        &history.rto,
        "rto",
        true,
        "RTO, how long to wait for an answer",
    );
    for &(at, rto) in &history.expiries {
        let title = format!("expired at {}: RTO {} ran out", clock(at), words(rto));
        plot.mark((at, rto), "expired", &title);
    }
    Figure {
        title: "The timer".to_owned(),
        text: "Each dot is a round trip that was measured; SRTT follows them. The RTO is what the sender is ready \
               to wait; where it runs out is a red disc.",
        legend: &[
            ("--rtt", "disc", "round trip"),
            ("--srtt", "", "SRTT"),
            ("--rto", "", "RTO"),
            ("--bad", "disc", "expiry"),
        ],
        svg: plot.finish("Round trips, SRTT, RTO and expiries over time"),
    }
}

/// A lane for each kind of thing that happened.
fn marks(history: &History, x: (f64, f64)) -> Option<Figure> {
    let spurious = |undone| {
        let late = history
            .spurious
            .iter()
            .filter(move |late| late.undone == undone);
        late.map(|late| late.at).collect::<Vec<_>>()
    };
    let at = |points: &[(f64, f64)]| points.iter().map(|&(at, _)| at).collect::<Vec<_>>();
    let losses = history.losses.iter().map(|&(at, _)| at).collect();
    let lanes = [
        ("expiry", "bad", at(&history.expiries)),
        ("packets lost", "fast", losses),
        ("came late", "late", spurious(false)),
        ("late, undone", "undone", spurious(true)),
        ("tail probe", "late", history.tail_probes.clone()),
        ("path probe", "probe", history.path_probes.clone()),
    ];
    let lanes: Vec<_> = lanes
        .into_iter()
        .filter(|(_, _, at)| !at.is_empty())
        .collect();
    let phases = usize::from(!history.phases.is_empty());
    if lanes.len() + phases == 0 {
        return None;
    }
    let mut plot = Plot::lanes(x, lanes.len() + phases);
    plot.x_axis("seconds since the start");
    if phases > 0 {
        plot.lane(0, "phase");
        let ends = history.phases.iter().skip(1).map(|&(at, _)| at);
        let ends = ends.chain([history.life.1]);
        for ((from, phase), to) in history.phases.iter().zip(ends) {
            let title = format!("{phase} from {} to {}", clock(*from), clock(to));
            let class = match phase.as_str() {
                "slow_start" | "startup" | "probe_up" | "refill" => "more",
                "recovery" | "drain" | "probe_down" | "probe_rtt" => "less",
                _ => "same",
            };
            plot.bar(0, (*from, to), class, &phase.replace('_', " "), &title);
        }
    }
    for (row, (name, class, times)) in lanes.into_iter().enumerate() {
        plot.lane(row + phases, name);
        let title = format!("{name}: {}", count(times.len() as u64, "time", "times"));
        plot.strokes(row + phases, times.into_iter(), class, &title);
    }
    Some(Figure {
        title: "What happened".to_owned(),
        text: "What congestion control was doing, and when: the timer expired; packets were taken for lost; \
               some of them came late after all, and what had been done about them was undone; an overdue \
               packet was repeated before the RTO; a silent path was asked.",
        legend: &[
            ("--more", "block", "sends more"),
            ("--less", "block", "sends less"),
            ("--bad", "", "expiry"),
            ("--fast", "", "taken for lost"),
            ("--rto", "", "came late"),
            ("--good", "", "undone, or a probe"),
        ],
        svg: plot.finish("Phases of congestion control, expiries, losses and probes over time"),
    })
}

fn words(span_in_seconds: f64) -> String {
    span(duration(span_in_seconds))
}

fn clock(at: f64) -> String {
    seconds(duration(at))
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
