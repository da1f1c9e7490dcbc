//! Charts as SVG.

use std::ops::Range;

use plotters::{
    coord::{Shift, ranged1d::ValueFormatter},
    prelude::*,
};

use super::report::{Chart, Line, Logarithmic};

const WIDTH: u32 = 730; // of a chart, without the names beside it
const HEIGHT: u32 = 320; // of a chart
/// Okabe and Ito's colours, which nearly everybody can tell apart.
const COLOURS: [RGBColor; 7] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the charts below one another.
pub(crate) fn svg(charts: &[Chart]) -> anyhow::Result<String> {
    anyhow::ensure!(!charts.is_empty(), "there is nothing to draw");
    let names = charts.iter().flat_map(|chart| &chart.lines);
    let longest = names.map(|line| line.name.chars().count() as u32).max();
    let names = 40 + (8 * longest.unwrap_or(0)).min(WIDTH / 2);
    let mut text = String::new();
    {
        let size = (WIDTH + names, HEIGHT * charts.len() as u32);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, chart) in root.split_evenly((charts.len(), 1)).iter().zip(charts) {
            draw(&area.split_horizontally(WIDTH), chart)?;
        }
        root.present()?;
    }
    Ok(text)
}

/// The plot, and beside it the names of the lines, where they cover none.
fn draw((area, names): &(Area<'_>, Area<'_>), chart: &Chart) -> anyhow::Result<()> {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let x = points().map(|point| point.0);
    let y = points().map(|point| point.1);
    match chart.logarithmic {
        Logarithmic::Neither => on_axes(area, chart, from_zero(x), from_zero(y)),
        Logarithmic::Y => on_axes(area, chart, from_zero(x), decades(y).log_scale()),
        Logarithmic::Both => on_axes(area, chart, tight(x).log_scale(), decades(y).log_scale()),
    }?;
    for ((line, colour), y) in coloured(chart).zip((60..).step_by(22)) {
        let mark = [(0, y), (18, y)];
        names.draw(&PathElement::new(mark, colour.stroke_width(3)))?;
        names.draw(&Text::new(line.name.as_str(), (24, y - 7), (FONT, 13)))?;
    }
    Ok(())
}

fn coloured(chart: &Chart) -> impl Iterator<Item = (&Line, RGBColor)> {
    chart.lines.iter().zip(COLOURS.into_iter().cycle())
}

/// From 0 to a little more than the greatest value.
fn from_zero(values: impl Iterator<Item = f64>) -> Range<f64> {
    0.0..values.fold(0.0, f64::max).max(1e-9) * 1.04
}

/// From the least to the greatest of values above 0.
fn tight(values: impl Iterator<Item = f64>) -> Range<f64> {
    let ends = values.fold((f64::MAX, 1e-9), |(least, most): (f64, f64), value| {
        (value.min(least), value.max(most))
    });
    ends.0.clamp(1e-9, ends.1)..ends.1 * 1.04
}

/// Whole powers of ten around the values above 0.
fn decades(values: impl Iterator<Item = f64>) -> Range<f64> {
    let ends = values
        .filter(|&value| value > 0.0)
        .fold((f64::MAX, 1.0), |(least, most), value| {
            (value.min(least), value.max(most))
        });
    let least = 10_f64.powf(ends.0.min(ends.1).log10().floor());
    let most = 10_f64.powf(ends.1.log10().ceil());
    least..most.max(least * 10.0)
}

fn on_axes<X, Y>(
    area: &Area<'_>,
    chart: &Chart,
    x: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = X, Value = f64>,
    y: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = Y, Value = f64>,
) -> anyhow::Result<()>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut plot = ChartBuilder::on(area)
        .caption(&chart.title, (FONT, 17))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(72)
        .build_cartesian_2d(x, y)?;
    plot.configure_mesh()
        .x_desc(chart.x)
        .y_desc(chart.y)
        .axis_desc_style((FONT, 14))
        .label_style((FONT, 13))
        .x_labels(x_labels(chart))
        .bold_line_style(RGBColor(225, 225, 225))
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|value| label(*value))
        .y_label_formatter(&|value| label(*value))
        .draw()?;
    let floor = match chart.logarithmic {
        Logarithmic::Neither => 0.0,
        Logarithmic::Y | Logarithmic::Both => plot.as_coord_spec().y_spec().range().start,
    };
    for (line, colour) in coloured(chart) {
        let points = line.points.iter().map(|&(x, y)| (x, y.max(floor)));
        plot.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    Ok(())
}

/// One for each, where a few things are counted.
fn x_labels(chart: &Chart) -> usize {
    let mut values = chart
        .lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.0);
    let most = values.clone().fold(0.0, f64::max);
    match most <= 12.0 && values.all(|x| x.fract() == 0.0) {
        true => most as usize + 1,
        false if chart.logarithmic == Logarithmic::Both => 3, // decades
        false => 10,
    }
}

/// A value at an axis: 0.5, 20, 1.5k, 2M.
fn label(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

/// A line that stays at a value until the next.
pub(crate) fn steps(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Line {
    let mut drawn: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points {
        if let Some(&(_, before)) = drawn.last() {
            drawn.push((x, before));
        }
        drawn.push((x, y));
    }
    let name = name.to_owned();
    Line {
        name,
        points: drawn,
    }
}

/// How a growing number of clients got somewhere: from 0 to their number, by at most some hundred
/// steps, and on to `end`. Instants in ns, drawn in s.
pub(crate) fn arrivals(name: &str, sorted: &[u64], end: f64) -> Line {
    const MOST: usize = 250;
    let every = sorted.len().div_ceil(MOST).max(1);
    let reached = (1..=sorted.len()).filter(|count| count % every == 0 || *count == sorted.len());
    let points = reached.map(|count| (sorted[count - 1] as f64 / 1e9, count as f64));
    let last = (end, sorted.len() as f64);
    steps(name, [(0.0, 0.0)].into_iter().chain(points).chain([last]))
}

/// The bins of a histogram as steps; of many neighbours the greatest.
pub(crate) fn bins(name: &str, histogram: &storm::stats::Histogram) -> Line {
    const MOST: u64 = 180;
    let bins = histogram.bins();
    let count = bins.last().map_or(0, |&(last, _)| last + 1);
    let group = count.div_ceil(MOST).max(1);
    let mut heights = vec![0; count.div_ceil(group) as usize];
    for &(bin, events) in bins {
        let height = &mut heights[(bin / group) as usize];
        *height = events.max(*height);
    }
    let width = histogram.width().as_secs_f64() * group as f64;
    let end = (heights.len() as f64 * width, 0.0);
    let points = heights.iter().enumerate();
    let points = points.map(|(index, &most)| (index as f64 * width, most as f64));
    steps(name, points.chain([end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        let cases = [
            (0.0, "0"),
            (0.5, "0.5"),
            (1_500.0, "1500"),
            (15_000.0, "15k"),
            (2e6, "2M"),
        ];
        for (value, text) in cases {
            assert_eq!(label(value), text);
        }
    }

    #[test]
    fn axes_hold_every_value_and_are_never_empty() {
        assert_eq!(decades([3.0, 0.0, 420.0].into_iter()), 1.0..1_000.0);
        assert_eq!(decades([500.0].into_iter()), 100.0..1_000.0);
        assert!(decades([].into_iter()).end > 0.0);
        assert!(from_zero([].into_iter()).end > 0.0);
    }

    #[test]
    fn what_is_drawn_is_small_and_ends_at_the_last_value() {
        let instants: Vec<_> = (1..=100_000).collect();
        let line = arrivals("a", &instants, 1.0);
        assert!(line.points.len() < 600, "{}", line.points.len());
        assert_eq!(line.points.last(), Some(&(1.0, 100_000.0)));
    }

    #[test]
    fn empty_charts_are_drawn_too() {
        let chart = |logarithmic| Chart {
            title: "nothing".into(),
            x: "x",
            y: "y",
            logarithmic,
            lines: vec![steps("a", [])],
        };
        let kinds = [Logarithmic::Neither, Logarithmic::Y, Logarithmic::Both];
        let text = svg(&kinds.map(chart)).expect("drawn");
        assert!(text.starts_with("<svg") && !text.contains("NaN"));
    }
}
