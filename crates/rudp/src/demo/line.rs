//! A line of the play as text.

use std::{fmt, time::Duration};

/// A line of the timeline; displayed, it is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A scene begins, or the play does: a title, and what there is to see.
    Title {
        /// The title.
        title: String,
        /// What there is to see.
        about: String,
    },
    /// Something happened.
    Event {
        /// When, since the start.
        at: Duration,
        /// Who did it: `sender`, `receiver`, `relay` or `script`.
        actor: &'static str,
        /// What and why.
        text: String,
    },
}

const WIDTH: usize = 100;
/// Where the text of an event begins.
const INDENT: usize = 22;

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Title { title, about } => {
                writeln!(
                    f,
                    "\n── {title} {}",
                    "─".repeat(WIDTH.saturating_sub(title.chars().count() + 4))
                )?;
                write!(f, "   {}", wrapped(about, WIDTH - 3, "\n   "))
            }
            Self::Event { at, actor, text } => {
                let indent = format!("\n{:INDENT$}", "");
                let text = wrapped(text, WIDTH - INDENT, &indent);
                write!(f, "{:>8.3} s  {actor:<8}  {text}", at.as_secs_f64())
            }
        }
    }
}

/// Breaks a text into lines of at most `width` characters.
fn wrapped(text: &str, width: usize, line_break: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            lines.push_str(line_break);
            column = 0;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_goes_on_below_where_it_began() {
        let at = Duration::from_millis(12_345);
        let line = Line::Event {
            at,
            actor: "sender",
            text: "word ".repeat(20),
        };
        let line = line.to_string();
        let lines: Vec<_> = line.lines().collect();
        assert_eq!(lines.len(), 2, "{line}");
        assert!(lines[0].starts_with("  12.345 s  sender    word"));
        assert!(lines[1].starts_with(&format!("{:INDENT$}word", "")));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
    }
}
