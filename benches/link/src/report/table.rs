//! A table of numbers: a line of Markdown for each row, a group of bars for each column.

use std::fmt::Write;

/// A table.
pub struct Table {
    /// Names its picture.
    pub name: &'static str,
    pub title: &'static str,
    /// What it shows, in a paragraph.
    pub note: String,
    /// Of the picture's axis.
    pub unit: &'static str,
    /// Whether the picture's axis is logarithmic.
    pub logarithmic: bool,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

/// A column.
pub struct Column {
    pub name: String,
    pub better: Better,
}

/// Which numbers of a column are better.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Better {
    More,
    Less,
    /// It is no contest.
    Neither,
}

impl Column {
    pub fn new(name: impl Into<String>, better: Better) -> Self {
        let name = name.into();
        Self { name, better }
    }

    /// Whether the first number is better by more than noise.
    fn clearly_prefers(&self, one: f64, other: f64) -> bool {
        let noise = NOISE * one.abs().min(other.abs());
        self.prefers(one, other) && (one - other).abs() > noise
    }

    /// Whether the first number is better.
    fn prefers(&self, one: f64, other: f64) -> bool {
        match self.better {
            Better::More => one > other,
            Better::Less => one < other,
            Better::Neither => false,
        }
    }
}

/// A row.
pub struct Row {
    pub name: String,
    pub cells: Vec<Cell>,
    pub kind: Kind,
}

/// Whose numbers a row has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Peer,
    Ours,
    /// Nobody's: it has no bars in the picture.
    Target,
}

/// Less than this share of the smaller number is no difference: noise.
pub const NOISE: f64 = 0.01;

/// A number, if there is one, and what the table says.
pub struct Cell {
    pub value: Option<f64>,
    pub text: String,
}

impl Cell {
    /// The number as it is.
    pub fn of(value: Option<f64>) -> Self {
        let text = value.map_or_else(|| "-".to_owned(), number);
        Self { value, text }
    }
}

impl Table {
    pub fn file(&self) -> String {
        format!("{}.svg", self.name)
    }

    pub fn markdown(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|it| it.name.as_str()).collect();
        let mut text = format!("| | {} |\n|---|", names.join(" | "));
        text += &"---|".repeat(self.columns.len());
        for row in &self.rows {
            let cells: Vec<_> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
            _ = write!(text, "\n| {} | {} |", row.name, cells.join(" | "));
        }
        text + "\n"
    }

    /// The rows that were measured.
    pub fn drawn(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.kind != Kind::Target)
    }

    /// Where the best peer does better than ours, for each column.
    pub fn beaten(&self) -> Vec<String> {
        let of = |kind| self.rows.iter().filter(move |row| row.kind == kind);
        let columns = self.columns.iter().enumerate().flat_map(|(index, column)| {
            let value = move |row: &Row| row.cells[index].value;
            let best = of(Kind::Peer)
                .filter_map(|row| Some((row, value(row)?)))
                .reduce(|best, it| {
                    if column.prefers(it.1, best.1) {
                        it
                    } else {
                        best
                    }
                });
            of(Kind::Ours).filter_map(move |ours| {
                let (peer, best) = best?;
                column.clearly_prefers(best, value(ours)?).then(|| {
                    let [peer, ours] =
                        [peer, ours].map(|row| format!("{} {}", row.name, row.cells[index].text));
                    format!("{}, {}: {peer}; {ours}", self.title, column.name)
                })
            })
        });
        columns.collect()
    }
}

/// A number with as many places as matter; what never came is "never".
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size.is_infinite() => "never".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_three_digits() {
        for (value, text) in [
            (0.123_4, "0.12"),
            (9.876, "9.88"),
            (91.26, "91.3"),
            (1_234.5, "1234"),
            (f64::INFINITY, "never"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn the_best_peer_is_named_where_it_is_better_than_ours() {
        let never = f64::INFINITY;
        let row = |name: &str, values: [f64; 4], kind| Row {
            name: name.to_owned(),
            cells: values.map(|value| Cell::of(Some(value))).into(),
            kind,
        };
        let table = Table {
            name: "t",
            title: "T",
            note: String::new(),
            unit: "",
            logarithmic: false,
            columns: vec![
                Column::new("up", Better::More),
                Column::new("down", Better::Less),
                Column::new("flat", Better::Neither),
                Column::new("end", Better::Less),
            ],
            rows: vec![
                row("x", [10.0, 30.0, 1.0, never], Kind::Peer),
                row("y", [12.1, 20.0, 9.0, 7.0], Kind::Peer),
                row("ours", [12.0, 25.0, 5.0, never], Kind::Ours),
                row("other", [11.0, 20.1, 5.0, 1.0], Kind::Ours),
                row("gate", [99.0, 1.0, 0.0, 0.0], Kind::Target),
            ],
        };
        let beaten = [
            "T, up: y 12.1; other 11.0",
            "T, down: y 20.0; ours 25.0",
            "T, end: y 7.00; ours never",
        ];
        assert_eq!(
            table.beaten(),
            beaten,
            "12.1 for 12.0, 20.0 for 20.1 is noise"
        );
    }
}
