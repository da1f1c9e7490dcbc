//! The table of who conforms to what, in `crates/grpc-backoff/CONFORMANCE.md`.

use grpc_faults::{Judge, Rejected};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What one client did before each server.
pub(super) struct Column {
    pub(super) title: String,
    /// In the order of the servers; `None` could not be run here.
    pub(super) cells: Vec<Option<Cell>>,
}

pub(super) struct Cell {
    verdict: &'static str,
    /// What was measured, which no other run repeats.
    measured: String,
}

impl Cell {
    pub(super) fn new(starts: &[Duration], judge: Judge) -> Self {
        let verdict = match judge.judge(starts) {
            Ok(()) => "conforms",
            Err(Rejected::TooEarly(_)) => "too early",
            Err(Rejected::TooLate(_)) => "too late",
            Err(Rejected::TooFewConnections(_)) => "never again",
        };
        let (first, last) = (starts[0], starts[starts.len() - 1]);
        let took = (last - first).as_secs_f64();
        let measured = match starts.len() {
            1 => "1 attempt".to_owned(),
            count => format!("{count} in {took:.1} s"),
        };
        println!("{verdict}, {measured}: {starts:?}");
        Self { verdict, measured }
    }
}

/// Set, it has the table written instead of compared.
const WRITE: &str = "WRITE_CONFORMANCE";

/// Compares each verdict with the one in the page.
pub(super) fn check(servers: &[&str], columns: &[Column]) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/grpc-backoff/CONFORMANCE.md");
    let text = fs::read_to_string(&page).expect("the page is there");
    if std::env::var_os(WRITE).is_some() {
        let before_and_after = (text.split_once("| a server that"), text.rsplit_once("|\n"));
        let (Some((before, _)), Some((_, after))) = before_and_after else {
            panic!("the page has no table");
        };
        let text = format!("{before}{}{after}", render(servers, columns));
        fs::write(&page, text).expect("the page can be written");
        return;
    }
    let rows: Vec<Vec<&str>> = (text.lines().filter(|line| line.starts_with("| ")))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let mut wrong = Vec::new();
    for column in columns {
        let at = rows[0].iter().position(|title| *title == column.title);
        let at = at.unwrap_or_else(|| panic!("no column {}: set {WRITE}", column.title));
        for (server, cell) in servers.iter().zip(&column.cells) {
            let row = rows.iter().find(|row| row[0] == *server);
            let row = row.unwrap_or_else(|| panic!("no row {server}: set {WRITE}"));
            let Some(cell) = cell else { continue };
            if row[at].split(',').next() != Some(cell.verdict) {
                let (title, now) = (&column.title, cell.verdict);
                wrong.push(format!("{title}, {server}: {} there, {now} here", row[at]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn render(servers: &[&str], columns: &[Column]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let titles = columns.iter().map(|column| column.title.clone());
    let head = line(
        ["a server that".to_owned()]
            .into_iter()
            .chain(titles)
            .collect(),
    );
    let rule = format!("|{}\n", "---|".repeat(columns.len() + 1));
    let rows = servers.iter().enumerate().map(|(n, server)| {
        let cells = columns.iter().map(|column| match &column.cells[n] {
            Some(cell) => format!("{}, {}", cell.verdict, cell.measured),
            None => panic!("{server} could not be run here: the table would be incomplete"),
        });
        line([(*server).to_owned()].into_iter().chain(cells).collect())
    });
    head + &rule + &rows.collect::<String>()
}
