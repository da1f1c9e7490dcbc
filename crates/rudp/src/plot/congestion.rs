//! The window and the rates over time, for every page that shows them.

use super::svg::Plot;
use crate::{CongestionMetrics, words::trimmed};

const KIB: f64 = 1024.0;
const MEGABIT: f64 = 1e6;

/// How congestion control stood over the life of a connection: seconds, and bytes or bits per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Congestion {
    pub(crate) window: Vec<(f64, f64)>,
    pub(crate) in_flight: Vec<(f64, f64)>,
    pub(crate) pacing: Vec<(f64, f64)>,
    pub(crate) delivery: Vec<(f64, f64)>,
}

pub(crate) const WINDOW_LEGEND: &[(&str, &str, &str)] = &[
    ("--rto", "", "congestion window"),
    ("--srtt", "", "in flight"),
];
pub(crate) const RATE_LEGEND: &[(&str, &str, &str)] = &[
    ("--rto", "", "pacing rate"),
    ("--good", "", "delivery rate"),
];

impl Congestion {
    pub(crate) fn push(&mut self, at: f64, metrics: &CongestionMetrics) {
        self.window.push((at, metrics.window as f64));
        self.in_flight.push((at, metrics.bytes_in_flight as f64));
        let bits = |rate: u64| (at, rate as f64 * 8.0);
        self.pacing.extend(metrics.pacing_rate.map(bits));
        self.delivery.extend(metrics.delivery_rate.map(bits));
    }

    /// The values hold until then.
    pub(crate) fn end(&mut self, at: f64) {
        for points in [
            &mut self.window,
            &mut self.in_flight,
            &mut self.pacing,
            &mut self.delivery,
        ] {
            if let Some(&(_, last)) = points.last() {
                points.push((at, last));
            }
        }
    }

    pub(crate) fn draw_window(&self, plot: &mut Plot) {
        plot.line(
            &scaled(&self.in_flight, KIB),
            "flight",
            true,
            "bytes in flight",
        );
        plot.line(
            &scaled(&self.window, KIB),
            "window",
            true,
            "congestion window: what may be in flight",
        );
    }

    pub(crate) fn draw_rates(&self, plot: &mut Plot) {
        plot.line(
            &scaled(&self.delivery, MEGABIT),
            "delivery",
            true,
            "delivery rate: what the path carried",
        );
        plot.line(
            &scaled(&self.pacing, MEGABIT),
            "pacing",
            true,
            "pacing rate: how fast packets leave at most",
        );
    }
}

/// Axes for the windows of these, from 0 up to the highest.
pub(crate) fn window_plot(x: (f64, f64), all: &[Congestion]) -> Plot {
    let lines = all.iter().flat_map(|it| [&it.window, &it.in_flight]);
    Plot::linear(x, highest(lines) / KIB, 250.0)
}

pub(crate) fn window_axes(plot: &mut Plot) {
    plot.axes("seconds since the start", "KiB", |kib| trimmed(kib, 1));
}

/// Axes for the rates of these.
pub(crate) fn rate_plot(x: (f64, f64), all: &[Congestion]) -> Plot {
    let lines = all.iter().flat_map(|it| [&it.pacing, &it.delivery]);
    Plot::linear(x, highest(lines) / MEGABIT, 250.0)
}

pub(crate) fn rate_axes(plot: &mut Plot) {
    plot.axes("seconds since the start", "Mbit/s", |rate| trimmed(rate, 3));
}

fn highest<'a>(lines: impl Iterator<Item = &'a Vec<(f64, f64)>>) -> f64 {
    let values = lines.flatten().map(|&(_, value)| value);
    values.fold(0.0, f64::max) * 1.05
}

fn scaled(points: &[(f64, f64)], unit: f64) -> Vec<(f64, f64)> {
    points.iter().map(|&(x, y)| (x, y / unit)).collect()
}
