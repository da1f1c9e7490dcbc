//! `rudp plot`.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::BufReader,
    path::PathBuf,
};

use anyhow::Context;
use clap::builder::{PathBufValueParser, TypedValueParser};
use rudp::plot;

use super::{Exit, keep, print};

/// What `rudp plot` takes.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Exit codes: 0 all went well, 1 error, 2 wrong usage")]
pub(crate) struct Args {
    /// Trace to draw, as `--trace` writes it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the plots: a page (.html) or one picture (.svg); what was there is lost [default: FILE.html]
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(page_or_picture))]
    out: Option<PathBuf>,
}

fn page_or_picture(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.extension().and_then(OsStr::to_str) {
        Some("html" | "svg") => Ok(path),
        _ => Err("it ends neither in .html nor in .svg"),
    }
}

impl Args {
    /// Draws the trace.
    pub(crate) fn run(self) -> Exit {
        Exit::of(false, self.draw())
    }

    fn draw(self) -> anyhow::Result<()> {
        let out = self.out.unwrap_or_else(|| {
            let mut name = self.file.clone().into_os_string();
            name.push(".html");
            name.into()
        });
        keep(&self.file, &out, "--out")?;
        let picture = out.extension() == Some(OsStr::new("svg"));
        let draw = if picture { plot::svg } else { plot::html };
        let name = || self.file.display().to_string();
        let file = File::open(&self.file).with_context(name)?;
        let traces = plot::read(BufReader::new(file)).with_context(name)?;
        fs::write(&out, draw(&traces)).with_context(|| out.display().to_string())?;
        print(format_args!("{}: {traces}", self.file.display()));
        for history in &traces.connections {
            print(format_args!("  {}: {history}", history.name));
        }
        print(format_args!("The plots: {}", out.display()));
        Ok(())
    }
}
