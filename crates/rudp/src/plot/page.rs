//! What every page has around its figures.

use std::fmt::Write;

use super::svg::{WIDTH, escaped};

const STYLE: &str = include_str!("style.css");
/// The height of a title in a picture of several figures.
const TITLE: f64 = 34.0;

/// A plot with its title.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) title: String,
    /// What there is to see.
    pub(crate) text: &'static str,
    /// A colour of the style sheet, a shape (`disc`, `block` or none: a line), and what it stands for.
    pub(crate) legend: &'static [(&'static str, &'static str, &'static str)],
    /// The height of the picture, and the picture.
    pub(crate) svg: (f64, String),
}

impl Figure {
    /// The figure as a section of a page.
    pub(crate) fn html(&self) -> String {
        let mut keys = String::new();
        for (colour, shape, words) in self.legend {
            let paint = if shape.is_empty() {
                "border-color"
            } else {
                "background"
            };
            _ = write!(
                keys,
                "<span><i class=\"{shape}\" style=\"{paint}:var({colour})\"></i>{words}</span>"
            );
        }
        format!(
            "<h2>{}</h2>\n<p>{}</p>\n<figure>\n<div class=\"legend\">{keys}</div>\n{}\n</figure>\n",
            escaped(&self.title),
            self.text,
            self.svg.1
        )
    }
}

/// A page of HTML that needs nothing else. `title` is text, `body` is HTML.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\
         </main>\n</body>\n</html>\n",
        escaped(title)
    )
}

/// One picture of all figures, one below the other, on white.
pub(crate) fn picture(figures: &[Figure]) -> String {
    let mut body = String::new();
    let mut y = 0.0;
    for figure in figures {
        let (height, svg) = &figure.svg;
        let mut x = 12.0;
        let title = escaped(&figure.title);
        _ = write!(
            body,
            "<text class=\"title\" x=\"{x}\" y=\"{}\">{title}</text>",
            y + 22.0
        );
        x += 24.0 + 10.5 * figure.title.chars().count() as f64;
        for (colour, shape, words) in figure.legend {
            let (height, radius) = if shape.is_empty() { (3, 0) } else { (9, 4) };
            let top = y + 18.0 - f64::from(height) / 2.0;
            _ = write!(
                body,
                "<rect x=\"{x}\" y=\"{top}\" width=\"14\" height=\"{height}\" rx=\"{radius}\" \
                 style=\"fill:var({colour})\"/><text x=\"{}\" y=\"{}\">{words}</text>",
                x + 20.0,
                y + 22.0
            );
            x += 40.0 + 6.5 * words.chars().count() as f64;
        }
        let placed = format!(
            "<svg y=\"{}\" width=\"{WIDTH}\" height=\"{height}\" ",
            y + TITLE
        );
        body.push_str(&svg.replacen("<svg ", &placed, 1));
        y += TITLE + height + 16.0;
    }
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" width=\"{WIDTH}\" height=\"{y}\">\n\
         <style>\nsvg {{ font-family: system-ui, sans-serif; }}\n{}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{y}\"/>\n{body}</svg>\n",
        STYLE
            .lines()
            .skip_while(|line| !line.starts_with("svg text"))
            .collect::<Vec<_>>()
            .join("\n")
    );
    plain(&svg)
}

/// Puts the light colours in the place of their names, which not every viewer of pictures knows.
fn plain(svg: &str) -> String {
    let (light, _) = STYLE.split_once('}').unwrap_or_default();
    let mut plain = svg.to_owned();
    for declaration in light.split(';') {
        if let Some((name, colour)) = declaration.rsplit_once(':')
            && let Some((_, name)) = name.rsplit_once("--")
        {
            plain = plain.replace(&format!("var(--{name})"), colour.trim());
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_stands_alone_and_names_no_colour() {
        let figure = |title: &str| Figure {
            title: title.to_owned(),
            text: "",
            legend: &[("--rtt", "disc", "round trip")],
            svg: (100.0, "<svg viewBox=\"0 0 1000 100\"></svg>".to_owned()),
        };
        let picture = picture(&[figure("one & two"), figure("three")]);
        assert!(picture.contains("one &amp; two") && picture.contains("<svg y=\"184\" "));
        assert!(picture.contains(".rtt { stroke: #7aa7f7;") && !picture.contains("var("));
        assert_eq!(picture.matches("<svg ").count(), 3);
        assert_eq!(picture.matches("xmlns").count(), 1);
    }
}
