use crate::State;
use crate::connection::Machine;
use core::fmt;
use core::time::Duration;

impl Machine {
    /// Says in one line what the machine is doing and why, for a human.
    pub(crate) fn explain(&self, now: Duration) -> impl fmt::Display + use<'_> {
        fmt::from_fn(move |f| {
            let failures = Failures(self.failures());
            match self.state() {
                State::Idle => {
                    f.write_str("IDLE")?;
                    self.explain_wait(f, now)
                }
                State::Connecting { attempt, deadline } => {
                    let left = Seconds(deadline.saturating_sub(now));
                    write!(
                        f,
                        "CONNECTING, attempt {attempt} after {failures}; aborted in {left} unless SETTINGS arrives"
                    )
                }
                State::Ready { attempt, since } => {
                    let up = Seconds(now.saturating_sub(since));
                    write!(f, "READY for {up} by attempt {attempt}")
                }
                State::TransientFailure { .. } => {
                    write!(f, "TRANSIENT_FAILURE after {failures}")?;
                    self.explain_wait(f, now)
                }
                State::GaveUp { limit } => {
                    write!(f, "GAVE_UP after {failures}: {limit} reached")
                }
                State::Shutdown => f.write_str("SHUTDOWN"),
            }
        })
    }

    fn explain_wait(&self, f: &mut fmt::Formatter<'_>, now: Duration) -> fmt::Result {
        match self.poll_timeout() {
            _ if !self.is_wanted() => f.write_str("; no connection wanted"),
            Some(due_at) => next_attempt(f, due_at.saturating_sub(now)),
            None => f.write_str("; no next attempt before the end of time"),
        }
    }
}

/// Says in how long the next attempt starts.
pub(crate) fn next_attempt(f: &mut fmt::Formatter<'_>, left: Duration) -> fmt::Result {
    match left {
        Duration::ZERO => f.write_str("; next attempt now"),
        left => write!(f, "; next attempt in {}", Seconds(left)),
    }
}

/// A number of failures in words.
pub(crate) struct Failures(pub(crate) u32);

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 failure"),
            failures => write!(f, "{failures} failures"),
        }
    }
}

/// Shows tenths of a second, rounded up so that a wait never reads as none; `{:#}` shows whole
/// seconds without them.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.as_nanos().div_ceil(100_000_000);
        match tenths % 10 {
            0 if f.alternate() => write!(f, "{} s", tenths / 10),
            tenth => write!(f, "{}.{tenth} s", tenths / 10),
        }
    }
}
