//! The text form of a snapshot, for a file.

use crate::Snapshot;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// One line of four fields (D10); spans are whole nanoseconds.
///
/// ```
/// # use {core::time::Duration, grpc_backoff::Snapshot};
/// let snapshot = Snapshot { attempts: 9, wait: Duration::from_millis(3), ..Snapshot::default() };
/// assert_eq!(snapshot.to_string(), "attempts=9 failures=0 backoff=none wait=3000000ns");
/// assert_eq!(snapshot.to_string().parse(), Ok(snapshot));
/// ```
impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (attempts, failures) = (self.attempts, self.failures);
        write!(f, "attempts={attempts} failures={failures} backoff=")?;
        match self.backoff {
            Some(backoff) => write!(f, "{}ns", backoff.as_nanos())?,
            None => f.write_str("none")?,
        }
        write!(f, " wait={}ns", self.wait.as_nanos())
    }
}

/// Reads what `Display` writes, and nothing else.
impl FromStr for Snapshot {
    type Err = ParseSnapshotError;

    fn from_str(text: &str) -> Result<Self, ParseSnapshotError> {
        let mut fields = text.split(' ');
        let snapshot = Self {
            attempts: field(&mut fields, "attempts", number)?,
            failures: field(&mut fields, "failures", number)?,
            backoff: field(&mut fields, "backoff", |text| match text {
                "none" => Some(None),
                span => nanoseconds(span).map(Some),
            })?,
            wait: field(&mut fields, "wait", nanoseconds)?,
        };
        match fields.next() {
            None => Ok(snapshot),
            Some(more) => Err(ParseSnapshotError::new("the end", more)),
        }
    }
}

fn field<'a, T>(
    fields: &mut impl Iterator<Item = &'a str>,
    name: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, ParseSnapshotError> {
    let text = fields.next().unwrap_or_default();
    let value = text
        .strip_prefix(name)
        .and_then(|text| text.strip_prefix('='));
    let value = value.and_then(read);
    value.ok_or_else(|| ParseSnapshotError::new(name, text))
}

/// One text for each number: no sign, no leading zero.
fn number<N: FromStr>(text: &str) -> Option<N> {
    let plain = text == "0" || text.starts_with(|first: char| ('1'..='9').contains(&first));
    text.parse().ok().filter(|_| plain)
}

fn nanoseconds(text: &str) -> Option<Duration> {
    const SECOND: u128 = 1_000_000_000;
    let nanoseconds: u128 = number(text.strip_suffix("ns")?)?;
    let seconds = u64::try_from(nanoseconds.checked_div(SECOND)?).ok()?;
    let rest = u32::try_from(nanoseconds.checked_rem(SECOND)?).ok()?;
    Some(Duration::new(seconds, rest))
}

/// A text is no [`Snapshot`] (D10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseSnapshotError {
    expected: &'static str,
    found: String,
}

impl ParseSnapshotError {
    fn new(expected: &'static str, found: &str) -> Self {
        const SHOWN: usize = 40;
        let found = found.chars().take(SHOWN).collect();
        Self { expected, found }
    }
}

impl fmt::Display for ParseSnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, found } = self;
        write!(f, "{found:?} where a snapshot has {expected} (D10)")
    }
}

impl core::error::Error for ParseSnapshotError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_snapshot_is_read_as_it_was_written() {
        for backoff in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            for (attempts, failures, wait) in [
                (0, 0, Duration::ZERO),
                (u64::MAX, u32::MAX, Duration::MAX),
                (7, 3, Duration::from_nanos(1_600_000_001)),
            ] {
                let snapshot = Snapshot {
                    attempts,
                    failures,
                    backoff,
                    wait,
                };
                assert_eq!(snapshot.to_string().parse(), Ok(snapshot));
            }
        }
    }

    #[test]
    fn nothing_else_is_read_and_the_error_names_it() {
        let good = "attempts=9 failures=8 backoff=1600000000ns wait=5ns";
        assert!(good.parse::<Snapshot>().is_ok());
        for (from, to, error) in [
            (
                "attempts=9",
                "attempts=+9",
                r#""attempts=+9" where a snapshot has attempts (D10)"#,
            ),
            (
                "attempts=9",
                "attempts=09",
                r#""attempts=09" where a snapshot has attempts (D10)"#,
            ),
            (
                "failures=8",
                "failures=4294967296",
                r#""failures=4294967296" where a snapshot has failures (D10)"#,
            ),
            (
                "failures=8",
                "failure=8",
                r#""failure=8" where a snapshot has failures (D10)"#,
            ),
            (
                "1600000000ns",
                "NaN",
                r#""backoff=NaN" where a snapshot has backoff (D10)"#,
            ),
            (
                "1600000000ns",
                "1.6ns",
                r#""backoff=1.6ns" where a snapshot has backoff (D10)"#,
            ),
            (
                "wait=5ns",
                "wait=18446744073709551616000000000ns",
                r#""wait=18446744073709551616000000000ns" where a snapshot has wait (D10)"#,
            ),
            (
                "wait=5ns",
                "wait=none",
                r#""wait=none" where a snapshot has wait (D10)"#,
            ),
            (" wait=5ns", "", r#""" where a snapshot has wait (D10)"#),
            (
                "wait=5ns",
                "wait=5ns\n",
                r#""wait=5ns\n" where a snapshot has wait (D10)"#,
            ),
            (
                "wait=5ns",
                "wait=5ns more",
                r#""more" where a snapshot has the end (D10)"#,
            ),
        ] {
            let bad = good.replace(from, to);
            let read = bad.parse::<Snapshot>().map_err(|error| error.to_string());
            assert_eq!(read, Err(error.into()), "{bad}");
        }
    }
}
