//! What a simulation says: a table, and what can be drawn of it.

use serde::{Serialize, Serializer, ser::SerializeMap};
use storm::stats::mean;

/// The result of a simulation.
#[derive(Debug)]
pub(crate) struct Report {
    /// The name of the command.
    pub(crate) simulation: &'static str,
    /// What happened, in a sentence.
    pub(crate) title: String,
    /// The parameters, by their names in JSON.
    pub(crate) given: Vec<(&'static str, Cell)>,
    pub(crate) table: Table,
    /// Lines below the table.
    pub(crate) notes: Vec<String>,
    pub(crate) charts: Vec<Chart>,
    /// How many attempts were simulated.
    pub(crate) events: u64,
}

/// A table with a row for each thing compared.
#[derive(Debug)]
pub(crate) struct Table {
    /// The name of each column for a program, and for a person.
    pub(crate) columns: Vec<(&'static str, &'static str)>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// One value.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Text(String),
    Number(f64),
    /// A span in ms; `None`: it never came to that.
    Ms(Option<f64>),
    /// A share in percent.
    Percent(f64),
}

/// Lines over a common axis.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) logarithmic: Logarithmic,
    pub(crate) lines: Vec<Line>,
}

/// Which axes are logarithmic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logarithmic {
    Neither,
    Y,
    Both,
}

/// A line with its name.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Cell {
    pub(crate) fn count(count: impl TryInto<u64>) -> Self {
        Self::Number(count.try_into().unwrap_or(u64::MAX) as f64)
    }

    pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Self {
        Self::Number(mean(values))
    }

    pub(crate) fn span(span: std::time::Duration) -> Self {
        Self::Ms(Some(span.as_secs_f64() * 1e3))
    }

    /// The mean of spans; one that never ended makes it endless.
    pub(crate) fn mean_span(spans: impl IntoIterator<Item = Option<std::time::Duration>>) -> Self {
        let spans: Option<Vec<_>> = spans.into_iter().collect();
        Self::Ms(spans.map(|spans| mean(spans.iter().map(|span| span.as_secs_f64() * 1e3))))
    }

    /// For a person. In a `fine` column, numbers below 1,000 have a place and spans are in ms.
    fn text(&self, fine: bool) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) if fine && *number < 1e3 => format!("{number:.1}"),
            Self::Number(number) => thousands(number.round() as u64),
            Self::Ms(None) => "never".to_owned(),
            Self::Ms(Some(ms)) if fine => format!("{ms:.0} ms"),
            Self::Ms(Some(ms)) => format!("{:.1} s", ms / 1e3),
            Self::Percent(percent) => format!("{percent:.1} %"),
        }
    }

    /// Whether it alone would have its column [fine](Self::text), or not.
    fn is_fine(&self) -> Option<bool> {
        match self {
            Self::Number(number) => Some(number.fract() != 0.0),
            Self::Ms(Some(ms)) => Some(*ms < 9_999.5),
            Self::Ms(None) | Self::Text(_) | Self::Percent(_) => None,
        }
    }

    /// For a program: whole numbers as such, others to three places; `None` where there is none.
    pub(crate) fn number(&self) -> Option<serde_json::Number> {
        let (Self::Number(value) | Self::Percent(value) | Self::Ms(Some(value))) = *self else {
            return None;
        };
        let rounded = (value * 1e3).round() / 1e3;
        if rounded.fract() == 0.0 && (0.0..1e15).contains(&rounded) {
            return Some((rounded as u64).into());
        }
        serde_json::Number::from_f64(rounded)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            value => value.number().serialize(serializer),
        }
    }
}

impl Table {
    /// All cells for a person, each column in one unit.
    pub(crate) fn texts(&self) -> Vec<Vec<String>> {
        let column = |index: usize| self.rows.iter().map(move |row| &row[index]);
        let fine = |index: usize| {
            let mut cells = column(index).filter_map(Cell::is_fine);
            match column(index).any(|cell| matches!(cell, Cell::Ms(_))) {
                true => cells.all(|fine| fine),
                false => cells.any(|fine| fine),
            }
        };
        let fine: Vec<_> = (0..self.columns.len()).map(fine).collect();
        let texts = |row: &Vec<Cell>| {
            row.iter()
                .zip(&fine)
                .map(|(cell, &fine)| cell.text(fine))
                .collect()
        };
        self.rows.iter().map(texts).collect()
    }
}

/// The parameters, then `results`, in the order of the table.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("simulation", self.simulation)?;
        for (key, value) in &self.given {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("results", &self.table)?;
        map.end()
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|cells| Row(&self.columns, cells)))
    }
}

struct Row<'a>(&'a [(&'static str, &'static str)], &'a [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, _)| key).zip(self.1))
    }
}

/// A span in a sentence.
pub(crate) fn words(span: std::time::Duration) -> String {
    match span.is_zero() {
        true => "0s".to_owned(), // not `0ns`
        false => format!("{span:?}"),
    }
}

/// A number with commas.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_exact_for_programs_and_short_for_people() {
        let cases = [
            (Cell::count(20_500), "20,500", "20500"),
            (Cell::Number(524.3411), "524.3", "524.341"),
            (Cell::Number(15_035_539.25), "15,035,539", "15035539.25"),
            (Cell::Ms(Some(914.25)), "914 ms", "914.25"),
            (Cell::Ms(Some(138_000.0)), "138.0 s", "138000"),
            (Cell::Ms(None), "never", "null"),
            (Cell::Percent(99.96), "100.0 %", "99.96"),
            (Cell::Text("a,b".into()), "a,b", "\"a,b\""),
        ];
        for (cell, text, json) in cases {
            assert_eq!(texts(vec![cell.clone()]), [text]);
            assert_eq!(serde_json::to_string(&cell).expect("valid"), json);
        }
    }

    fn texts(column: Vec<Cell>) -> Vec<String> {
        let rows = column.into_iter().map(|cell| vec![cell]).collect();
        let columns = vec![("key", "head")];
        Table { columns, rows }.texts().concat()
    }

    #[test]
    fn a_column_has_one_unit() {
        let spans = vec![
            Cell::Ms(Some(500.0)),
            Cell::Ms(None),
            Cell::Ms(Some(12_000.0)),
        ];
        assert_eq!(texts(spans), ["0.5 s", "never", "12.0 s"]);
        let means = vec![
            Cell::Number(94.0),
            Cell::Number(59.1),
            Cell::Number(20_500.5),
        ];
        assert_eq!(texts(means), ["94.0", "59.1", "20,501"]);
    }

    #[test]
    fn a_span_that_never_ends_has_no_mean() {
        let second = Some(std::time::Duration::from_secs(1));
        assert!(matches!(Cell::mean_span([second, None]), Cell::Ms(None)));
        assert!(matches!(
            Cell::mean_span([second, second]),
            Cell::Ms(Some(1_000.0))
        ));
    }
}
