//! Where a report goes: the terminal and files.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;

use super::{
    page, plot,
    report::{Cell, Report, Table},
};

/// What to write besides the table.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Print one line of JSON in place of the table
    #[arg(long)]
    json: bool,
    /// Write the table as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the plots as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a page with the table and the plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Output {
    pub(crate) fn write(&self, report: &Report) -> anyhow::Result<()> {
        if let Some(path) = &self.csv {
            write(path, &csv(&report.table))?;
        }
        if let Some(path) = &self.svg {
            write(path, &plot::svg(&report.charts)?)?;
        }
        if let Some(path) = &self.html {
            write(path, &page::html(report)?)?;
        }
        let text = if self.json {
            serde_json::to_string(report)? + "\n"
        } else {
            plain(report)
        };
        match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()), // `| head`
            written => written.context("standard output"),
        }
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())
}

/// The title, the table with its columns aligned, and the notes.
fn plain(report: &Report) -> String {
    let table = &report.table;
    let heads = table.columns.iter().map(|(_, head)| (*head).to_owned());
    let mut lines = vec![heads.collect::<Vec<_>>()];
    lines.extend(table.texts());
    let width = |column: usize| {
        let lengths = lines.iter().map(|line| line[column].chars().count());
        lengths.max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..table.columns.len()).map(width).collect();
    let is_text = |column: usize| {
        let mut cells = table.rows.iter().map(|row| &row[column]);
        cells.all(|cell| matches!(cell, Cell::Text(_)))
    };
    let mut text = format!("{}\n\n", report.title);
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match is_text(column) {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text += line.trim_end();
        text.push('\n');
    }
    if !report.notes.is_empty() {
        text += &format!("\n{}\n", report.notes.join("\n"));
    }
    text
}

/// RFC 4180, with `\n` at the ends of lines.
fn csv(table: &Table) -> String {
    let quoted = |text: &str| match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let cell = |cell: &Cell| match cell {
        Cell::Text(text) => quoted(text),
        value => value
            .number()
            .map(|number| number.to_string())
            .unwrap_or_default(),
    };
    let heads: Vec<_> = table.columns.iter().map(|(key, _)| quoted(key)).collect();
    let mut lines = vec![heads.join(",")];
    let rows = table.rows.iter();
    lines.extend(rows.map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",")));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_has_a_comma() {
        let table = Table {
            columns: vec![("policy", "policy"), ("back_ms", "back")],
            rows: vec![
                vec![Cell::Text("base=1s,cap=2s".into()), Cell::Ms(Some(1.5))],
                vec![Cell::Text("a \"b\"".into()), Cell::Ms(None)],
            ],
        };
        let text = "policy,back_ms\n\"base=1s,cap=2s\",1.5\n\"a \"\"b\"\"\",\n";
        assert_eq!(csv(&table), text);
    }
}
