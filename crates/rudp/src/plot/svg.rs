//! Plots as SVG text: axes and marks. What they mean is the affair of who draws.

use std::{collections::BTreeSet, fmt::Write};

use super::{
    places::{halves, in_halves, thinned},
    scale::Scale,
};
use crate::words::trimmed;

/// The width of every plot, in the units of its view box.
pub(crate) const WIDTH: f64 = 1000.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
/// The height of a lane.
const LANE: f64 = 34.0;
/// About the width of a character.
const CHARACTER: f64 = 7.0;

/// A plot in the making.
#[derive(Debug)]
pub(crate) struct Plot {
    x: Scale,
    y: Scale,
    height: f64,
    svg: String,
}

impl Plot {
    /// A plot with values from 0 on its y axis.
    pub(crate) fn linear(x: (f64, f64), y_to: f64, height: f64) -> Self {
        Self::new(x, height, |place| Scale::linear(0.0, y_to, place))
    }

    /// A plot with a logarithmic y axis around these positive values.
    pub(crate) fn logarithmic(x: (f64, f64), y: (f64, f64), height: f64) -> Self {
        Self::new(x, height, |place| Scale::logarithmic(y.0, y.1, place))
    }

    /// A plot with a lane for each of so many rows, and room for words to their left.
    pub(crate) fn lanes(x: (f64, f64), rows: usize) -> Self {
        let height = TOP + BOTTOM + LANE * rows as f64;
        let mut plot = Self::new(x, height, |place| {
            Scale::linear(0.0, rows as f64, (place.1, place.0))
        });
        plot.x.shift(70.0);
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
    pub(crate) fn band(&mut self, x: (f64, f64), class: &str, label: &str, title: &str) {
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
    pub(crate) fn axes(&mut self, x_label: &str, y_label: &str, y_tick: impl Fn(f64) -> String) {
        let (left, right) = self.x.ends();
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
    pub(crate) fn x_axis(&mut self, label: &str) {
        let bottom = self.height - BOTTOM;
        let (left, right) = self.x.ends();
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
    pub(crate) fn dots(
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
    pub(crate) fn line(&mut self, points: &[(f64, f64)], class: &str, steps: bool, title: &str) {
        let mut path = String::new();
        let mut last = None;
        for place in thinned(points.iter().map(|&(x, y)| self.place(x, y))) {
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
    pub(crate) fn mark(&mut self, point: (f64, f64), class: &str, title: &str) {
        let (x, y) = (self.x.at(point.0), self.y.at(point.1));
        self.push(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"><title>{}</title></circle>",
            escaped(title)
        ));
    }

    /// Words to the right of a point.
    pub(crate) fn note(&mut self, point: (f64, f64), words: &str) {
        let (x, y) = (self.x.at(point.0), self.y.at(point.1));
        self.push(format_args!(
            "<text class=\"note\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 10.0,
            y + 4.5,
            escaped(words)
        ));
    }

    /// Short strokes at the bottom of the plot.
    pub(crate) fn rug(&mut self, values: impl Iterator<Item = f64>, class: &str, title: &str) {
        let bottom = self.height - BOTTOM;
        self.comb(values, bottom - 10.0, 9.0, class, title);
    }

    fn comb(
        &mut self,
        values: impl Iterator<Item = f64>,
        top: f64,
        height: f64,
        class: &str,
        title: &str,
    ) {
        let places: BTreeSet<_> = values.map(|x| in_halves(self.x.at(x))).collect();
        let mut path = String::new();
        for x in places {
            _ = write!(path, "M{} {top:.1}v{height}", halves(x));
        }
        self.push(format_args!(
            "<path class=\"{class}\" d=\"{path}\"><title>{}</title></path>",
            escaped(title)
        ));
    }

    /// The name of a lane.
    pub(crate) fn lane(&mut self, row: usize, name: &str) {
        let middle = self.y.at(row as f64 + 0.5);
        self.push(format_args!(
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            self.x.ends().0 - 10.0,
            middle + 4.0,
            escaped(name)
        ));
    }

    /// A bar in a lane, with words in it if they fit.
    pub(crate) fn bar(&mut self, row: usize, x: (f64, f64), class: &str, label: &str, title: &str) {
        let middle = self.y.at(row as f64 + 0.5);
        let (from, to) = (self.x.at(x.0), self.x.at(x.1));
        let width = (to - from).max(1.0);
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"14\" rx=\"3\"><title>{}</title></rect>",
            middle - 7.0,
            escaped(title)
        ));
        if !label.is_empty() && label.chars().count() as f64 * CHARACTER < width {
            self.push(format_args!(
                "<text class=\"inside\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                from + width / 2.0,
                middle + 4.0,
                escaped(label)
            ));
        }
    }

    /// Strokes in a lane.
    pub(crate) fn strokes(
        &mut self,
        row: usize,
        values: impl Iterator<Item = f64>,
        class: &str,
        title: &str,
    ) {
        let top = self.y.at(row as f64 + 0.5) - 7.0;
        self.comb(values, top, 14.0, class, title);
    }

    /// The finished picture and its height; `label` is for those who cannot see it.
    pub(crate) fn finish(self, label: &str) -> (f64, String) {
        let svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            self.height,
            escaped(label),
            self.svg
        );
        (self.height, svg)
    }

    fn place(&self, x: f64, y: f64) -> (i64, i64) {
        (in_halves(self.x.at(x)), in_halves(self.y.at(y)))
    }

    fn push(&mut self, what: std::fmt::Arguments<'_>) {
        _ = self.svg.write_fmt(what); // a string takes everything
        self.svg.push('\n');
    }
}

/// Text for HTML and SVG, inside elements and attributes.
pub(crate) fn escaped(text: &str) -> String {
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
