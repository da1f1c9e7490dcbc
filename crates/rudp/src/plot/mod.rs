//! Plots of what happened to connections: of a trace file, and of the demo.
//!
//! ```text
//! trace file ─▶ read: History of each connection ─▶ figures ─▶ html, svg
//! demo ─▶ Record ──────────────────────────────────▶  "
//! ```

pub(crate) mod congestion;
mod figures;
mod history;
mod lanes;
pub(crate) mod page;
mod places;
mod read;
mod scale;
pub(crate) mod svg;

use std::fmt::Write;

pub use history::{History, Traces};
pub use read::{ReadError, read};

use page::Figure;
use svg::escaped;

/// A page of HTML with the plots of every connection, which needs nothing else.
#[must_use]
pub fn html(traces: &Traces) -> String {
    let title = escaped(&traces.title);
    let mut body = format!(
        "<h1>{title}</h1>\n<p class=\"lead\">{}</p>\n",
        escaped(&traces.to_string())
    );
    for history in &traces.connections {
        let name = escaped(&history.name);
        _ = writeln!(
            body,
            "<h1 class=\"next\">{name}</h1>\n<p class=\"lead\">{}</p>",
            escaped(&history.to_string())
        );
        body.extend(figures::of(history).iter().map(Figure::html));
    }
    body.push_str(
        "<footer>Made by <code>rudp plot</code>. Point at a mark to see its numbers.</footer>\n",
    );
    page::page(&traces.title, &body)
}

/// The same plots as one picture.
#[must_use]
pub fn svg(traces: &Traces) -> String {
    let named = |history: &History| {
        let figures = figures::of(history).into_iter();
        let name = history.name.clone();
        figures.map(move |figure| Figure {
            title: format!("{name}: {}", figure.title),
            ..figure
        })
    };
    let figures: Vec<_> = traces.connections.iter().flat_map(named).collect();
    page::picture(&figures)
}
