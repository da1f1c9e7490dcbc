//! `rudp plot`.

use std::{
    fs::{self, File},
    io::BufReader,
    path::PathBuf,
};

use anyhow::{Context, bail};
use rudp::plot;

use super::{Exit, print};

/// What `rudp plot` takes.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    /// Trace to draw, as `--trace` writes it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the plots: a page (.html) or one picture (.svg) [default: FILE.html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
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
        let draw = match out.extension().and_then(|extension| extension.to_str()) {
            Some("html") => plot::html,
            Some("svg") => plot::svg,
            _ => bail!("{}: it ends neither in .html nor in .svg", out.display()),
        };
        let name = || self.file.display().to_string();
        let file = File::open(&self.file).with_context(name)?;
        let traces = plot::read(BufReader::new(file)).with_context(name)?;
        if fs::canonicalize(&out).ok() == fs::canonicalize(&self.file).ok() {
            bail!("{}: --out would overwrite the trace", out.display());
        }
        fs::write(&out, draw(&traces)).with_context(|| out.display().to_string())?;
        print(format_args!("{}: {traces}", self.file.display()));
        for history in &traces.connections {
            print(format_args!("  {}: {history}", history.name));
        }
        print(format_args!("The plots: {}", out.display()));
        Ok(())
    }
}
