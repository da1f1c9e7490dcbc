//! Plots as SVG text: scales, axes and marks. What they mean is the page's affair.

use std::{collections::BTreeSet, fmt::Write};

use super::words::trimmed;

/// The width of every plot, in the units of its view box.
pub(super) const WIDTH: f64 = 1000.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
/// The height of a lane.
const LANE: f64 = 34.0;

/// How values become positions.
#[derive(Clone, Copy, Debug)]
struct Scale {
    from: f64,
    to: f64,
    /// The positions of `from` and `to`.
    place: (f64, f64),
    logarithmic: bool,
}

impl Scale {
    fn linear(from: f64, to: f64, place: (f64, f64)) -> Self {
        let to = to.max(from + 1e-3); // an empty range has no middle
        Self {
            from,
            to,
            place,
            logarithmic: false,
        }
    }

    /// From one power of ten to another, around positive values.
    fn logarithmic(from: f64, to: f64, place: (f64, f64)) -> Self {
        let from = 10_f64.powf(from.max(1e-6).log10().floor());
        let to = 10_f64.powf(to.max(from * 10.0).log10().ceil());
        Self {
            from,
            to,
            place,
            logarithmic: true,
        }
    }

    /// The position of a value; one outside the scale is put at its end.
    fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.from, self.to);
        let share = if self.logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.place.0 + share * (self.place.1 - self.place.0)
    }

    /// Round values to label, about `wanted` of them on a linear scale.
    fn ticks(&self, wanted: f64) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.to / self.from).log10().round();
            return (0..)
                .map(f64::from)
                .take_while(|&decade| decade <= decades)
                .map(|decade| self.from * 10_f64.powf(decade))
                .collect();
        }
        let rough = (self.to - self.from) / wanted;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0];
        let step = steps.into_iter().find(|step| step * power >= rough);
        let step = step.unwrap_or(10.0) * power;
        let first = (self.from / step).ceil();
        (0..)
            .map(|index| (first + f64::from(index)) * step)
            .take_while(|&tick| tick <= self.to + step * 1e-9)
            .collect()
    }
}

/// A plot in the making.
#[derive(Debug)]
pub(super) struct Plot {
    x: Scale,
    y: Scale,
    height: f64,
    svg: String,
}

impl Plot {
    /// A plot with values from 0 on its y axis.
    pub(super) fn linear(x: (f64, f64), y_to: f64, height: f64) -> Self {
        Self::new(x, height, |place| Scale::linear(0.0, y_to, place))
    }

    /// A plot with a logarithmic y axis around these positive values.
    pub(super) fn logarithmic(x: (f64, f64), y: (f64, f64), height: f64) -> Self {
        Self::new(x, height, |place| Scale::logarithmic(y.0, y.1, place))
    }

    /// A plot with a lane for each of so many rows, and room for words to their left.
    pub(super) fn lanes(x: (f64, f64), rows: usize) -> Self {
        let height = TOP + BOTTOM + LANE * rows as f64;
        let mut plot = Self::new(x, height, |place| {
            Scale::linear(0.0, rows as f64, (place.1, place.0))
        });
        plot.x.place.0 += 70.0;
        plot
    }

    fn new(x: (f64, f64), height: f64, y: impl FnOnce((f64, f64)) -> Scale) -> Self {
        Self {
            x: Scale::linear(x.0, x.1, (LEFT, WIDTH - RIGHT)),
            y: y((height - BOTTOM, TOP)),
            height,
            svg: String::new(),
        }
    }

    /// A part of the x axis with a colour of its own, and words at its top.
    pub(super) fn band(&mut self, x: (f64, f64), class: &str, label: &str, title: &str) {
        let (from, to) = (self.x.at(x.0), self.x.at(x.1));
        let (width, height) = ((to - from).max(0.0), self.height - TOP - BOTTOM);
        self.push(format_args!(
            "<g><rect class=\"{class}\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\
             <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text><title>{}</title></g>",
            from + 4.0,
            TOP - 9.0,
            escaped(label),
            escaped(title)
        ));
    }

    /// The axes, with a grid and what they measure.
    pub(super) fn axes(&mut self, x_label: &str, y_label: &str, y_tick: impl Fn(f64) -> String) {
        let (left, right) = self.x.place;
        for tick in self.y.ticks(5.0) {
            let y = self.y.at(tick);
            self.push(format_args!(
                "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                y + 4.0,
                escaped(&y_tick(tick))
            ));
        }
        self.x_axis(x_label);
        let middle = (TOP + self.height - BOTTOM) / 2.0;
        self.push(format_args!(
            "<text class=\"axis\" transform=\"translate(14 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(y_label)
        ));
    }

    /// The x axis alone, for lanes.
    pub(super) fn x_axis(&mut self, label: &str) {
        let bottom = self.height - BOTTOM;
        let (left, right) = self.x.place;
        for tick in self.x.ticks(10.0) {
            let x = self.x.at(tick);
            self.push(format_args!(
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                trimmed(tick, 1)
            ));
        }
        self.push(format_args!(
            "<line class=\"frame\" x1=\"{left}\" x2=\"{right}\" y1=\"{bottom:.1}\" y2=\"{bottom:.1}\"/>\
             <text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            (left + right) / 2.0,
            bottom + 37.0,
            escaped(label)
        ));
    }

    /// Many small dots. Those that would cover each other are drawn once.
    pub(super) fn dots(
        &mut self,
        points: impl Iterator<Item = (f64, f64)>,
        class: &str,
        title: &str,
    ) {
        let places: BTreeSet<_> = points.map(|(x, y)| self.place(x, y)).collect();
        let mut path = String::new();
        for (x, y) in places {
            _ = write!(path, "M{} {}h0", halves(x), halves(y));
        }
        self.push(format_args!(
            "<path class=\"{class}\" d=\"{path}\"><title>{}</title></path>",
            escaped(title)
        ));
    }

    /// A line through points in the order of x. `steps`: a value holds until the next one.
    pub(super) fn line(&mut self, points: &[(f64, f64)], class: &str, steps: bool, title: &str) {
        let mut path = String::new();
        let mut last = None;
        for place in points.iter().map(|&(x, y)| self.place(x, y)) {
            let (x, y) = place;
            match last {
                None => _ = write!(path, "M{} {}", halves(x), halves(y)),
                Some(last) if last == place => continue,
                Some(_) if steps => _ = write!(path, "H{}V{}", halves(x), halves(y)),
                Some(_) => _ = write!(path, "L{} {}", halves(x), halves(y)),
            }
            last = Some(place);
        }
        self.push(format_args!(
            "<path class=\"{class}\" d=\"{path}\"><title>{}</title></path>",
            escaped(title)
        ));
    }

    /// A mark at a point: a disc.
    pub(super) fn mark(&mut self, point: (f64, f64), class: &str, title: &str) {
        let (x, y) = (self.x.at(point.0), self.y.at(point.1));
        self.push(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"><title>{}</title></circle>",
            escaped(title)
        ));
    }

    /// Words to the right of a point.
    pub(super) fn note(&mut self, point: (f64, f64), words: &str) {
        let (x, y) = (self.x.at(point.0), self.y.at(point.1));
        self.push(format_args!(
            "<text class=\"note\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 10.0,
            y + 4.5,
            escaped(words)
        ));
    }

    /// Short strokes at the bottom of the plot.
    pub(super) fn rug(&mut self, values: impl Iterator<Item = f64>, class: &str, title: &str) {
        let bottom = self.height - BOTTOM;
        let places: BTreeSet<_> = values.map(|x| in_halves(self.x.at(x))).collect();
        let mut path = String::new();
        for x in places {
            _ = write!(path, "M{} {}v-9", halves(x), bottom - 1.0);
        }
        self.push(format_args!(
            "<path class=\"{class}\" d=\"{path}\"><title>{}</title></path>",
            escaped(title)
        ));
    }

    /// The name of a lane, and a bar in it.
    pub(super) fn lane(
        &mut self,
        row: usize,
        name: &str,
        bar: Option<(f64, f64)>,
        class: &str,
        title: &str,
    ) {
        let middle = self.y.at(row as f64 + 0.5);
        self.push(format_args!(
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            self.x.place.0 - 10.0,
            middle + 4.0,
            escaped(name)
        ));
        if let Some((from, to)) = bar {
            let (from, to) = (self.x.at(from), self.x.at(to));
            self.push(format_args!(
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\" rx=\"3\"><title>{}</title></rect>",
                middle - 7.0,
                (to - from).max(1.0),
                escaped(title)
            ));
        }
    }

    /// The finished picture; `label` is for those who cannot see it.
    pub(super) fn finish(self, label: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            self.height,
            escaped(label),
            self.svg
        )
    }

    fn place(&self, x: f64, y: f64) -> (i64, i64) {
        (in_halves(self.x.at(x)), in_halves(self.y.at(y)))
    }

    fn push(&mut self, what: std::fmt::Arguments<'_>) {
        _ = self.svg.write_fmt(what); // a string takes everything
        self.svg.push('\n');
    }
}

/// A position in half units, the finest that anyone could see.
fn in_halves(place: f64) -> i64 {
    (place * 2.0).round() as i64
}

fn halves(place: i64) -> f64 {
    place as f64 / 2.0
}

/// Text for HTML and SVG, inside elements and attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_puts_values_between_its_ends_and_others_at_them() {
        let scale = Scale::linear(10.0, 20.0, (0.0, 100.0));
        assert_eq!(
            [5.0, 10.0, 15.0, 25.0].map(|v| scale.at(v)),
            [0.0, 0.0, 50.0, 100.0]
        );
        let scale = Scale::logarithmic(0.02, 7.0, (100.0, 0.0));
        assert_eq!((scale.from, scale.to), (0.01, 10.0));
        assert!((scale.at(0.1) - 200.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn an_empty_range_is_no_division_by_zero() {
        for scale in [
            Scale::linear(3.0, 3.0, (0.0, 100.0)),
            Scale::logarithmic(0.0, 0.0, (0.0, 100.0)),
        ] {
            assert!(scale.at(3.0).is_finite());
            assert!(scale.ticks(5.0).iter().all(|tick| tick.is_finite()));
        }
    }

    #[test]
    fn ticks_are_round() {
        let ticks = Scale::linear(0.0, 38.0, (0.0, 1.0)).ticks(10.0);
        assert_eq!(ticks, [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]);
        let ticks = Scale::logarithmic(0.02, 7.0, (0.0, 1.0)).ticks(5.0);
        assert_eq!(ticks.len(), 4, "0.01, 0.1, 1, 10: {ticks:?}");
    }

    #[test]
    fn dots_that_cover_each_other_are_drawn_once() {
        let mut plot = Plot::linear((0.0, 10.0), 10.0, 200.0);
        plot.dots(
            [(1.0, 1.0), (1.0001, 1.0001), (2.0, 2.0)].into_iter(),
            "rtt",
            "",
        );
        assert_eq!(plot.svg.matches("h0").count(), 2);
    }
}
