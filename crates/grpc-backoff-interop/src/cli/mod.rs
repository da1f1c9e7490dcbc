//! The commands of the program.

pub(crate) mod client;
pub(crate) mod server;

use clap::{Arg, Args};
use grpc_backoff_interop::Scale;
use grpc_faults::Judge;
use std::io::{Write, stdout};
use std::num::NonZeroU32;
use std::time::Duration;

/// How the program ends, for `--help`.
pub(crate) const EXIT_CODES: &str =
    "Exit codes: 0 the client passed, 1 it did not or the test could not be run, 2 wrong usage";

/// Gives a flag the value that follows even if it is a number below 0, so that `--seconds -5` is
/// refused by the flag's range, not as an unknown flag.
pub(crate) fn takes_negatives(arg: Arg) -> Arg {
    let value = arg.get_action().takes_values();
    arg.allow_negative_numbers(value)
}

/// What both sides must agree on.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Times {
    /// Divide every time by this, for a quick look: the same on both sides
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    scale: u32,
    /// What a gap may miss its window by, in ms, at any scale
    #[arg(long = "tolerance_ms", value_name = "MS", default_value_t = 100)]
    tolerance_ms: u32,
}

impl Times {
    fn scale(self) -> Scale {
        Scale(NonZeroU32::new(self.scale).unwrap_or(NonZeroU32::MIN)) // the parser refuses 0
    }

    fn judge(self) -> Judge {
        let tolerance = Duration::from_millis(self.tolerance_ms.into());
        self.scale().judge(tolerance)
    }
}

/// Prints a line at once. Nobody reading it is no reason to fail.
pub(crate) fn say(line: std::fmt::Arguments<'_>) {
    let mut out = stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
