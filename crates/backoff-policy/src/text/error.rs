use crate::ScheduleError;
use crate::unexpected::Unexpected;
use core::fmt;

/// Why a text is no [`Policy`](crate::Policy), with the offending part (B18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsePolicyError(Problem);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Unexpected(Unexpected),
    Schedule(ScheduleError),
}

impl ParsePolicyError {
    pub(super) fn new(expected: &'static str, found: &str) -> Self {
        Self(Problem::Unexpected(Unexpected::new(expected, found)))
    }
}

impl From<ScheduleError> for ParsePolicyError {
    fn from(error: ScheduleError) -> Self {
        Self(Problem::Schedule(error))
    }
}

impl fmt::Display for ParsePolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Problem::Unexpected(unexpected) => write!(f, "{unexpected} (B18)"),
            Problem::Schedule(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParsePolicyError {}
