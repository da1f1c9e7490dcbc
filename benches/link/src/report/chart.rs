//! A table as a picture: a group of bars for each column, a bar in it for each row.

use std::fmt::Write;

use super::table::{Table, number};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 340.0;
/// What is left of the axis, above and below it.
const LEFT: f64 = 60.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 40.0;
/// A letter of a name is hardly wider, and a line of names is as high.
const LETTER: f64 = 6.2;
const LINE: f64 = 15.0;
/// The share of a group that its bars fill.
const FILLED: f64 = 0.8;
/// A colour for each row, the last for those beyond; told apart by the colour-blind too.
const COLOURS: [&str; 9] = [
    "#0072b2", "#56b4e9", "#009e73", "#7fc8a9", "#e69f00", "#d55e00", "#cc79a7", "#7b3294",
    "#555555",
];

/// The vertical axis.
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    fn of(table: &Table) -> Self {
        let cells = table.drawn().flat_map(|row| &row.cells);
        let values: Vec<_> = cells
            .filter_map(|cell| cell.value)
            .filter(|it| it.is_finite())
            .collect();
        let high = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        if !table.logarithmic {
            return Self {
                low: 0.0,
                high: high * 1.05,
                logarithmic: false,
            };
        }
        let positive = values.into_iter().filter(|&value| value > 0.0);
        let low = positive.fold(high, f64::min);
        Self {
            low: 10_f64.powf(low.log10().floor()),
            high: 10_f64.powf(high.log10().ceil()),
            logarithmic: true,
        }
    }

    /// How high a value is drawn, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let (value, low, high) = if self.logarithmic {
            (
                value.max(self.low).log10(),
                self.low.log10(),
                self.high.log10(),
            )
        } else {
            (value, self.low, self.high)
        };
        ((value - low) / (high - low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }

    /// Where lines are drawn across.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.high / self.low).log10().round() as i32;
            return (0..=decades)
                .map(|decade| self.low * 10_f64.powi(decade))
                .collect();
        }
        let rough = self.high / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps
            .into_iter()
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        (0..=(self.high / step) as i32)
            .map(|index| f64::from(index) * step)
            .collect()
    }
}

/// Draws a table.
pub fn svg(table: &Table) -> String {
    let axis = Axis::of(table);
    let floor = HEIGHT - BOTTOM;
    let y = |value: f64| floor - axis.share(value) * (floor - TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"10\" y=\"18\" font-size=\"14\">{}</text>\n",
        escape(table.title)
    );
    for tick in axis.ticks() {
        let y = y(tick);
        _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{WIDTH}\" stroke=\"#ddd\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            LEFT - 6.0,
            y + 4.0,
            tick = if tick == 0.0 {
                "0".to_owned()
            } else {
                number(tick)
            },
        );
    }
    let drawn: Vec<_> = table.drawn().collect();
    let group = (WIDTH - LEFT) / table.columns.len().max(1) as f64;
    let bar = group * FILLED / drawn.len().max(1) as f64;
    for (column, head) in table.columns.iter().enumerate() {
        let left = LEFT + group * column as f64;
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            left + group / 2.0,
            floor + 16.0,
            escape(&head.name)
        );
        for (index, row) in drawn.iter().enumerate() {
            let Some(value) = row.cells.get(column).and_then(|cell| cell.value) else {
                continue;
            };
            let x = left + group * (1.0 - FILLED) / 2.0 + bar * index as f64;
            let top = y(value);
            _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\">\
                 <title>{}, {}: {}</title></rect>",
                bar * 0.9,
                (floor - top).max(0.5),
                colour(index),
                escape(&row.name),
                escape(&head.name),
                escape(&row.cells[column].text),
            );
        }
    }
    legend(
        &mut svg,
        &drawn
            .iter()
            .map(|row| row.name.as_str())
            .collect::<Vec<_>>(),
    );
    _ = writeln!(
        svg,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"#555\">{}{}</text>\n</svg>",
        WIDTH - 10.0,
        HEIGHT - 6.0,
        escape(table.unit),
        if table.logarithmic {
            ", logarithmic"
        } else {
            ""
        },
    );
    svg
}

/// In as many lines as the longest name asks for.
fn legend(svg: &mut String, names: &[&str]) {
    let longest = names.iter().map(|name| name.chars().count()).max();
    let wide = longest.unwrap_or(0) as f64 * LETTER + 24.0;
    let in_line = (((WIDTH - LEFT) / wide) as usize).clamp(1, names.len().max(1));
    let width = (WIDTH - LEFT) / in_line as f64;
    for (index, name) in names.iter().enumerate() {
        let x = LEFT + width * (index % in_line) as f64;
        let y = 28.0 + LINE * (index / in_line) as f64;
        _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"10\" height=\"10\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            colour(index),
            x + 14.0,
            y + 9.0,
            escape(name)
        );
    }
}

fn colour(index: usize) -> &'static str {
    COLOURS[index.min(COLOURS.len() - 1)]
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
