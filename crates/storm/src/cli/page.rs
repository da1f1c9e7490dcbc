//! A report as one page of HTML that needs nothing else.

use super::{plot, report::Report};

const STYLE: &str = "\
    body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse}\
    th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid #ddd}\
    th:first-child,td:first-child{text-align:left}\
    svg{max-width:100%;height:auto}";

pub(crate) fn html(report: &Report) -> anyhow::Result<String> {
    let table = &report.table;
    let row = |tag: &str, cells: Vec<String>| {
        let cell = |text: &String| format!("<{tag}>{}</{tag}>", escaped(text));
        format!("<tr>{}</tr>\n", cells.iter().map(cell).collect::<String>())
    };
    let heads = table.columns.iter().map(|(_, head)| (*head).to_owned());
    let rows = table.texts().into_iter().map(|cells| row("td", cells));
    let rows: String = rows.collect();
    let notes = report.notes.iter();
    let notes: String = notes
        .map(|note| format!("<p>{}</p>\n", escaped(note)))
        .collect();
    let plots = match report.charts.is_empty() {
        true => String::new(),
        false => plot::svg(&report.charts)?,
    };
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>storm {name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>storm {name}</h1>\n\
         <p>{title}</p>\n<table>\n<thead>{head}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n\
         {notes}{plots}\n<p>Made by <code>{command}</code></p>\n</body>\n</html>\n",
        name = report.simulation,
        command = escaped(&command()),
        title = escaped(&report.title),
        head = row("th", heads.collect()).trim_end(),
    ))
}

/// As it was typed, but for the path of the program.
fn command() -> String {
    let arguments = std::env::args_os().skip(1); // the name of a file need not be UTF-8
    let words = arguments.map(|word| word.to_string_lossy().into_owned());
    let words: Vec<_> = ["storm".to_owned()].into_iter().chain(words).collect();
    words.join(" ")
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
