//! The play as one page of HTML that needs nothing else.

use std::fmt::Write;

use super::{
    Record,
    check::findings,
    figures, outages,
    table::{Table, attempts, summary},
};
use crate::{
    plot::{page::page, svg::escaped},
    words::{bytes, rate, span, thousands},
};

/// Writes the page.
#[must_use]
pub fn html(record: &Record) -> String {
    let sections = [
        lead(record),
        figures::timer(record),
        figures::congestion(record),
        outages::dark(record),
        outages::knocking(record),
        figures::progress(record),
        figures::small_messages(record),
        promises(record),
        numbers(record),
    ];
    let footer =
        "<footer>Made by <code>rudp demo</code>. Point at a mark to see its numbers.</footer>\n";
    page("rudp demo", &(sections.concat() + footer))
}

fn lead(record: &Record) -> String {
    let network = &record.network;
    let mut text = format!(
        "<h1>A file crosses a hostile network</h1>\n<p class=\"lead\">{} ({}) went from a sender \
         through a relay to a receiver, over real UDP sockets: {} each way at {}, with a standstill, disorder, \
         loss, darkness and a server that died. Two rules brought it there: RFC 6298 says when to send a \
         packet again, gRPC connection backoff says when to connect again. Seed {}.</p>\n\
         <div class=\"cards\">\n",
        escaped(&record.name),
        bytes(record.length),
        span(network.delay),
        rate(network.rate),
        record.seed
    );
    let mut card = |number: String, what: &str| {
        _ = writeln!(
            text,
            "<div class=\"card\"><b>{}</b><span>{what}</span></div>",
            escaped(&number)
        );
    };
    let refused = record.attempts.iter().filter(|ended| !ended.connected());
    if let Some(report) = &record.report {
        card(span(report.elapsed), "from start to end");
        card(thousands(report.totals.samples), "round trips measured");
        card(thousands(report.totals.timeouts), "timeouts");
        card(
            thousands(report.totals.fast_retransmits),
            "fast retransmits",
        );
    }
    card(thousands(refused.count() as u64), "attempts refused");
    let intact = record
        .hashes
        .is_some_and(|(sent, received)| sent == received);
    let verdict = if intact { "intact" } else { "damaged" };
    card(verdict.to_owned(), "by its BLAKE3 hash");
    text + "</div>\n"
}

fn promises(record: &Record) -> String {
    let mut items = String::new();
    for finding in findings(record) {
        let (class, sign) = if finding.holds {
            ("yes", "✓")
        } else {
            ("no", "✗")
        };
        let text = escaped(&finding.text);
        _ = writeln!(items, "<li class=\"{class}\"><b>{sign}</b>{text}</li>");
    }
    format!(
        "<h2>What was promised, and what was seen</h2>\n<ul class=\"findings\">\n{items}</ul>\n"
    )
}

fn numbers(record: &Record) -> String {
    format!(
        "<h2>Numbers</h2>\n{}<h2>Attempts to connect</h2>\n{}",
        table(&summary(record)),
        table(&attempts(record))
    )
}

fn table(table: &Table) -> String {
    let row = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
        let cells: String = cells
            .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)))
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let head = row("th", &mut table.header.iter().copied());
    let body = table
        .rows
        .iter()
        .map(|cells| row("td", &mut cells.iter().map(String::as_str)));
    format!(
        "<div class=\"scroll\"><table>\n<thead>{head}</thead>\n<tbody>{}</tbody>\n</table></div>\n",
        body.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::demo::{SCRIPT, scenes::Network};

    fn empty() -> Record {
        let network = Network::for_file(5 << 20);
        Record::new("<a & b>".into(), 5 << 20, 1, network)
    }

    #[test]
    fn a_play_in_which_nothing_happened_has_a_page_too() {
        let mut record = empty();
        let page = html(&record);
        assert!(page.contains("the file never arrived"));
        record.begin(&SCRIPT[0], Duration::ZERO);
        for page in [page, html(&record)] {
            assert!(!page.contains("NaN"));
        }
    }

    #[test]
    fn the_name_of_the_file_is_text_and_not_markup() {
        let page = html(&empty());
        assert!(page.contains("&lt;a &amp; b&gt;"));
        assert!(!page.contains("<a "));
    }
}
