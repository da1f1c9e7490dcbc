//! What came of each kind of clients.

use super::{
    flags::Named,
    report::{Cell, Line},
};

/// For each kind its outcomes, by seed; there is at least one of both.
pub(crate) struct Runs<'a, T> {
    kinds: &'a [Named],
    outcomes: Vec<Vec<T>>,
}

impl<'a, T> Runs<'a, T> {
    pub(crate) fn new(kinds: &'a [Named], outcomes: Vec<Vec<T>>) -> Self {
        Self { kinds, outcomes }
    }

    /// Each kind's name and outcomes.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'a str, &[T])> {
        let kinds = self.kinds.iter().zip(&self.outcomes);
        kinds.map(|(kind, runs)| (kind.name.as_str(), runs.as_slice()))
    }

    /// The outcomes of the kind with this number.
    pub(crate) fn of(&self, kind: usize) -> &[T] {
        &self.outcomes[kind]
    }

    /// Each kind's name and first outcome: what is drawn.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = (&'a str, &T)> {
        self.each().map(|(name, runs)| (name, &runs[0]))
    }

    /// A row of a table for each kind: its name, then these cells.
    pub(crate) fn rows(&self, cells: impl Fn(&[T]) -> Vec<Cell>) -> Vec<Vec<Cell>> {
        let row = |(name, runs): (&str, _)| {
            let mut row = vec![Cell::Text(name.to_owned())];
            row.append(&mut cells(runs));
            row
        };
        self.each().map(row).collect()
    }

    /// A line of a chart for each kind.
    pub(crate) fn lines(&self, points: impl Fn(&[T]) -> Vec<(f64, f64)>) -> Vec<Line> {
        let line = |(name, runs): (&str, _)| Line {
            name: name.to_owned(),
            points: points(runs),
        };
        self.each().map(line).collect()
    }

    pub(crate) fn sum(&self, count: impl Fn(&T) -> u64) -> u64 {
        self.outcomes.iter().flatten().map(count).sum()
    }
}
