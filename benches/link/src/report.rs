//! Tables and pictures of a session.

mod chart;
mod table;
mod tables;

use std::{fmt::Write, fs, path::Path};

use anyhow::Context;

use crate::{gates, plan::Plan, results::Results};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Where the pictures are, from the root.
const PICTURES: &str = "benches/link/pictures";
/// The part of BENCHMARKS.md that is written here.
const BEGIN: &str = "<!-- link-bench: what follows is written by it -->\n";
const END: &str = "<!-- link-bench: end -->\n";

/// Puts the tables into BENCHMARKS.md and draws the pictures.
pub fn write(results: &Results) -> anyhow::Result<()> {
    let root = Path::new(ROOT);
    let pictures = root.join(PICTURES);
    fs::create_dir_all(&pictures)?;
    for table in tables::of(results) {
        fs::write(pictures.join(table.file()), chart::svg(&table))?;
    }
    let path = root.join("BENCHMARKS.md");
    let text = fs::read_to_string(&path)?;
    fs::write(&path, replace(&text, &markdown(results))?)?;
    Ok(())
}

/// The text with what is between the marks replaced; without marks, they are appended.
fn replace(text: &str, part: &str) -> anyhow::Result<String> {
    let Some((before, rest)) = text.split_once(BEGIN) else {
        return Ok(format!("{text}\n{BEGIN}{part}{END}"));
    };
    let (_, after) = rest
        .split_once(END)
        .context("BENCHMARKS.md has no end mark")?;
    Ok(format!("{before}{BEGIN}{part}{END}{after}"))
}

/// All tables, with what they need to be understood.
pub fn markdown(results: &Results) -> String {
    let mut text = introduction(results);
    for table in tables::of(results) {
        _ = write!(text, "\n### {}\n\n{}\n\n", table.title, table.note);
        _ = write!(text, "![{}]({PICTURES}/{})\n\n", table.title, table.file());
        text += &table.markdown();
    }
    text += &held(results);
    text += &beaten(results);
    if !results.failures.is_empty() {
        text += "\nRuns that came to nothing:\n\n";
        for failure in &results.failures {
            _ = writeln!(text, "- {failure}");
        }
    }
    text
}

fn introduction(results: &Results) -> String {
    let machine = &results.machine;
    let seeds = results.seeds.len();
    let quick = if results.quick { " --quick" } else { "" };
    let flag = if seeds == Plan::new(results.quick).seeds.len() {
        quick.to_owned()
    } else {
        format!("{quick} --seeds {seeds}")
    };
    let medians = if seeds == 1 {
        "One seed".to_owned()
    } else {
        format!("{seeds} seeds, medians")
    };
    format!(
        "## Over real links

`netsim`'s links between two network namespaces (`netsim tun`), under the transport and its peers in one session:

```sh
cd benches/link && cargo run --release -- run{flag}
```

{medians}; a run takes 30 s at most, payloads are checked byte by byte, bytes are counted where they enter the link. \
{date}, {cpu}, {cores} cores, Linux {kernel}, {rustc}; this tree at {commit}; {peers}; sockets' buffers up to {rmem} bytes. \
It took {minutes:.0} minutes on a machine with a load of {load:.1} before; in the worst of the transfers {late:.1} % of \
the packets came more than 0.1 ms late.
",
        date = machine.date,
        cpu = machine.cpu,
        cores = machine.cores,
        kernel = machine.kernel,
        rustc = machine.rustc,
        commit = machine.commit,
        peers = machine.peers.join(", "),
        rmem = machine.rmem_max,
        minutes = results.minutes,
        load = results.load_before,
        late = results.bulk.iter().map(|run| run.late * 100.0).fold(0.0, f64::max),
    )
}

/// What the transport is held to, and whether it holds.
fn held(results: &Results) -> String {
    let gates = gates::of(results);
    if gates.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n### Gates\n\nWhat `rudp` is held to, and what it is to reach.\n\n\
         | | measured | gate | | ambition |\n|---|---|---|---|---|\n",
    );
    for gate in &gates {
        let ambition = gate.ambition.map_or("-".into(), |it| it.to_string());
        _ = writeln!(
            text,
            "| {} | {} | {} | {} | {ambition} |",
            gate.what,
            table::number(gate.measured),
            gate.gate,
            gate.verdict(),
        );
    }
    text
}

/// Where a peer of the same session does better.
fn beaten(results: &Results) -> String {
    let tables = tables::of(results);
    let lines = tables.iter().flat_map(table::Table::beaten);
    let list: String = lines.map(|line| format!("- {line}\n")).collect();
    if list.is_empty() {
        return list;
    }
    let noise = table::NOISE * 100.0;
    format!("\nWhere a peer does better by more than {noise} %, the best of them:\n\n{list}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let first = replace("before\n", "one\n").expect("marks are appended");
        assert_eq!(first, format!("before\n\n{BEGIN}one\n{END}"));
        let text = first + "after\n";
        let second = replace(&text, "two\n").expect("marks are there");
        assert_eq!(second, format!("before\n\n{BEGIN}two\n{END}after\n"));
        assert!(replace(&format!("{BEGIN}no end"), "x").is_err());
    }
}
