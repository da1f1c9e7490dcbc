//! The text form of a job, for a file or a column (B19).

use super::{Job, Stage};
use crate::names::{Names, find, name_of};
use crate::unexpected::Unexpected;
use crate::{Class, Idempotency, Layer, Reason, Retry, Series};
use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;
use core::time::Duration;

const IDEMPOTENCY: Names<Idempotency> = &[
    ("always", Idempotency::Always),
    ("conditionally", Idempotency::Conditionally),
    ("never", Idempotency::Never),
];
const LAYERS: Names<Layer> = &[("outermost", Layer::Outermost), ("inner", Layer::Inner)];
const NONE: &str = "none";

/// One line: where it stands, and what its next attempt goes by. Times and spans are whole
/// nanoseconds, times since the UNIX epoch.
///
/// ```
/// # use {backoff_policy::{Job, Policy}, core::time::Duration};
/// let mut job = Job::new(Duration::from_millis(7));
/// assert_eq!(
///     job.to_string(),
///     "waiting due=7000000ns delay=0ns attempts=0 last=none started=7000000ns failed=7000000ns \
///      slept=0ns series=none idempotency=always layer=outermost"
/// );
/// # _ = job.start(&Policy::CALLS, Duration::from_millis(7));
/// assert!(job.to_string().starts_with("running attempts=0 last=none started="));
/// ```
impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stage {
            Stage::Waiting { due_at, delay } => {
                write!(f, "waiting due={due_at}ns delay={delay}ns")?
            }
            Stage::Running => f.write_str("running")?,
            Stage::Dead { at, reason } => {
                let name = name_of(Reason::NAMES, reason.kind());
                write!(f, "dead at={at}ns reason={name}")?;
                if let Reason::HintBeyondDeadline(hint) = reason {
                    write!(f, ":{}ns", hint.as_nanos())?;
                }
            }
        }
        let Retry {
            series,
            started_at,
            first_failed_at,
            slept,
            attempts,
            idempotency,
            layer,
        } = &self.retry;
        write!(
            f,
            " attempts={attempts} last={} started={started_at}ns failed={first_failed_at}ns \
             slept={slept}ns series=",
            self.failed
                .map_or(NONE, |class| name_of(Class::NAMES, class))
        )?;
        match series {
            Some(series) => write!(f, "{}ns", series.current().as_nanos())?,
            None => f.write_str(NONE)?,
        }
        let idempotency = name_of(IDEMPOTENCY, *idempotency);
        let layer = name_of(LAYERS, *layer);
        write!(f, " idempotency={idempotency} layer={layer}")
    }
}

/// Reads what `Display` writes, and nothing else.
impl FromStr for Job {
    type Err = ParseJobError;

    fn from_str(text: &str) -> Result<Self, ParseJobError> {
        let mut fields = Fields(text.split(' '));
        let stage = match fields.0.next() {
            Some("waiting") => Stage::Waiting {
                due_at: fields.read("due", nanoseconds)?,
                delay: fields.read("delay", nanoseconds)?,
            },
            Some("running") => Stage::Running,
            Some("dead") => Stage::Dead {
                at: fields.read("at", nanoseconds)?,
                reason: fields.read("reason", reason)?,
            },
            other => {
                let expected = "waiting, running or dead";
                return Err(ParseJobError::new(expected, other.unwrap_or_default()));
            }
        };
        let attempts = fields.read("attempts", number)?;
        let failed = fields.read("last", |name| {
            unless_none(name, |name| find(Class::NAMES, name))
        })?;
        let retry = Retry {
            attempts,
            started_at: fields.read("started", nanoseconds)?,
            first_failed_at: fields.read("failed", nanoseconds)?,
            slept: fields.read("slept", nanoseconds)?,
            series: fields.read("series", |text| unless_none(text, series))?,
            idempotency: fields.read("idempotency", |name| find(IDEMPOTENCY, name))?,
            layer: fields.read("layer", |name| find(LAYERS, name))?,
        };
        match fields.0.next() {
            None => Ok(Self {
                retry,
                stage,
                failed,
            }),
            Some(more) => Err(ParseJobError::new("its end", more)),
        }
    }
}

struct Fields<'a>(core::str::Split<'a, char>);

impl Fields<'_> {
    fn read<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ParseJobError> {
        let text = self.0.next().unwrap_or_default();
        let value = text
            .strip_prefix(name)
            .and_then(|text| text.strip_prefix('='));
        let value = value.and_then(read);
        value.ok_or_else(|| ParseJobError::new(name, text))
    }
}

/// One text for each number: no sign, no leading zero.
fn number<N: FromStr>(text: &str) -> Option<N> {
    let plain = text == "0" || text.starts_with(|first: char| ('1'..='9').contains(&first));
    text.parse().ok().filter(|_| plain)
}

fn nanoseconds<N: FromStr>(text: &str) -> Option<N> {
    number(text.strip_suffix("ns")?)
}

fn unless_none<T>(text: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    if text == NONE {
        return Some(None);
    }
    read(text).map(Some)
}

fn series(text: &str) -> Option<Series> {
    NonZeroU64::new(nanoseconds(text)?).map(Series::stored)
}

fn reason(text: &str) -> Option<Reason> {
    let (name, hint) = match text.split_once(':') {
        Some((name, hint)) => (name, Some(hint)),
        None => (text, None),
    };
    match (find(Reason::NAMES, name)?, hint) {
        (Reason::HintBeyondDeadline(_), Some(hint)) => {
            let hint = nanoseconds(hint).filter(|&hint: &u128| hint <= Duration::MAX.as_nanos())?;
            Some(Reason::HintBeyondDeadline(Duration::from_nanos_u128(hint)))
        }
        (Reason::HintBeyondDeadline(_), None) | (_, Some(_)) => None,
        (plain, None) => Some(plain),
    }
}

/// Why a text is no [`Job`], with the offending part (B19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseJobError(Unexpected);

impl ParseJobError {
    fn new(expected: &'static str, found: &str) -> Self {
        Self(Unexpected::new(expected, found))
    }
}

impl fmt::Display for ParseJobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (B19)", self.0)
    }
}

impl core::error::Error for ParseJobError {}
