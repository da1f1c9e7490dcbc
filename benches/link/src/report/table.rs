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
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

/// A row.
pub struct Row {
    pub name: String,
    pub cells: Vec<Cell>,
    /// Whether it has bars in the picture.
    pub drawn: bool,
}

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
        let mut text = format!("| | {} |\n|---|", self.columns.join(" | "));
        text += &"---|".repeat(self.columns.len());
        for row in &self.rows {
            let cells: Vec<_> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
            _ = write!(text, "\n| {} | {} |", row.name, cells.join(" | "));
        }
        text + "\n"
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
}
