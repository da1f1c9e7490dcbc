//! The numbers at the end, for the terminal and for the page.

use std::fmt;

use grpc_backoff::Outcome;

use super::{
    Encore, Record,
    check::window,
    encore::{EVERY, LENGTH},
};
use crate::words::{bytes, count, rate, seconds, span, thousands};

/// A table with a header and rows of as many cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The header.
    pub header: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header: Vec<_> = self.header.iter().map(|&cell| cell.to_owned()).collect();
        let lines = || [&header].into_iter().chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..header.len()).map(width).collect();
        for (index, line) in lines().enumerate() {
            let cells: Vec<_> = line
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            writeln!(f, "  {}", cells.join("   ").trim_end())?;
            if index == 0 {
                let rules: Vec<_> = widths.iter().map(|&width| "─".repeat(width)).collect();
                writeln!(f, "  {}", rules.join("───"))?;
            }
        }
        Ok(())
    }
}

/// What the whole transfer took.
#[must_use]
pub fn summary(record: &Record) -> Table {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("file", format!("{}, {}", record.name, bytes(record.length)));
    row(
        "network, each way",
        format!(
            "{}, {} delay, queue {}",
            rate(record.network.rate),
            span(record.network.delay),
            bytes(record.network.queue as u64)
        ),
    );
    if let Some(report) = &record.report {
        let totals = &report.totals;
        row("time", span(report.elapsed));
        row("RTT samples", thousands(totals.samples));
        row(
            "SRTT at the end",
            totals.srtt.map_or_else(|| "none".into(), span),
        );
        if let Some((min, max)) = totals.rto {
            row("RTO", format!("{} to {}", span(min), span(max)));
        }
        row("timeouts", thousands(totals.timeouts));
        row("fast retransmits", thousands(totals.fast_retransmits));
        row("path probes", thousands(record.path_probes.len() as u64));
        row(
            "packets sent",
            format!(
                "{}, of which {} were taken for lost, and {} of these came late",
                thousands(totals.packets_sent),
                thousands(totals.packets_lost),
                thousands(record.late.iter().map(|late| late.packets).sum())
            ),
        );
        let per_byte = totals.bytes_sent as f64 / record.length.max(1) as f64;
        row(
            "bytes on the wire per byte delivered",
            format!("{per_byte:.3}"),
        );
        row(
            "connections",
            format!(
                "{}, in {}",
                thousands(report.connections),
                count(report.attempts, "attempt", "attempts")
            ),
        );
    }
    let (there, back) = (record.relay.there, record.relay.back);
    row(
        "the relay lost",
        format!(
            "{} at random, {} in the dark, {} to a full queue",
            thousands(there.lost_random + back.lost_random),
            thousands(there.lost_blackout + back.lost_blackout),
            thousands(there.lost_queue + back.lost_queue)
        ),
    );
    if let Some(Encore { with, without }) = &record.encore {
        for (name, talk) in [("with", with), ("without", without)] {
            row(
                &format!("small messages {name} repeats"),
                format!(
                    "{} of {} each {}; half took {} at most, 99 % {}; {} on the wire for each",
                    talk.messages.len(),
                    bytes(LENGTH as u64),
                    span(EVERY),
                    span(talk.delay(50)),
                    span(talk.delay(99)),
                    bytes(talk.bytes_per_message())
                ),
            );
        }
    }
    Table {
        header: vec!["what", "how much"],
        rows,
    }
}

/// Every attempt to connect, planned and actual.
#[must_use]
pub fn attempts(record: &Record) -> Table {
    let delay = |delay: Option<_>| delay.map_or_else(|| "at once".to_owned(), seconds);
    let rows = record.attempts.iter().map(|ended| {
        let attempt = &ended.attempt;
        let in_series = ended.failed_before > 0;
        let allowed = match window(ended.failed_before) {
            Some(window) => format!("{} to {}", seconds(*window.start()), seconds(*window.end())),
            None => "at once".to_owned(),
        };
        vec![
            format!("#{}", attempt.number),
            seconds(attempt.started_at),
            allowed,
            delay(attempt.planned.filter(|_| in_series)),
            delay(attempt.actual.filter(|_| in_series)),
            match &attempt.outcome {
                Outcome::Connected => "connected: SETTINGS".to_owned(),
                other => other.to_string(),
            },
        ]
    });
    Table {
        header: vec![
            "attempt",
            "started at",
            "allowed after the last",
            "planned",
            "actual",
            "outcome",
        ],
        rows: rows.collect(),
    }
}
