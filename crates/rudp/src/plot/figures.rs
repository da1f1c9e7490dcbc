//! The figures of one connection.

use super::{
    congestion::{RATE_LEGEND, WINDOW_LEGEND, rate_axes, rate_plot, window_axes, window_plot},
    history::History,
    lanes,
    page::Figure,
    svg::Plot,
};
use crate::words::{count, seconds, span, trimmed};
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
    figures.extend(packets(history, x));
    figures.extend(lanes::of(history, x));
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

/// The number of each packet over time: how steep the dots are is how fast packets leave.
fn packets(history: &History, x: (f64, f64)) -> Option<Figure> {
    let highest = history.sent.iter().map(|&(_, number)| number);
    let highest = highest.reduce(f64::max)?;
    let mut plot = Plot::linear(x, highest.max(1.0), 330.0);
    plot.axes("seconds since the start", "packet number", |number| {
        trimmed(number, 0)
    });
    let title = count(history.sent.len() as u64, "packet sent", "packets sent");
    plot.dots(history.sent.iter().copied(), "rtt", &title);
    for (repaired, class, what) in [
        (false, "lost", "taken for lost"),
        (true, "repaired", "lost and repaired by a repeat"),
    ] {
        let losses = history
            .losses
            .iter()
            .filter(|loss| loss.repaired == repaired);
        let places = losses.filter_map(|loss| Some((loss.at, loss.number?)));
        let places: Vec<_> = places.collect();
        if !places.is_empty() {
            let packets = count(places.len() as u64, "packet", "packets");
            plot.dots(places.into_iter(), class, &format!("{packets} {what}"));
        }
    }
    Some(Figure {
        title: "The packets".to_owned(),
        text: "When each packet left, and when those were given up that were taken for lost: a step to the \
               right of its departure. Where a later packet had repeated what was on it, nothing is missing.",
        legend: &[
            ("--rtt", "disc", "sent"),
            ("--bad", "disc", "taken for lost"),
            ("--good", "disc", "lost, and repaired by a repeat"),
        ],
        svg: plot.finish("Packet numbers sent and lost over time"),
    })
}

fn words(span_in_seconds: f64) -> String {
    span(duration(span_in_seconds))
}

pub(super) fn clock(at: f64) -> String {
    seconds(duration(at))
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
