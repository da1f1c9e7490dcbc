use crate::ScheduleError;
use core::fmt;

/// Why a text is no [`Policy`](crate::Policy), with the offending part (B18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsePolicyError(Problem);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Unexpected {
        expected: &'static str,
        found: Excerpt,
    },
    Schedule(ScheduleError),
}

/// The start of a text, kept without allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Excerpt {
    bytes: [u8; Self::MOST],
    length: u8,
}

impl Excerpt {
    const MOST: usize = 47;

    fn of(text: &str) -> Self {
        let mut bytes = [0; Self::MOST];
        let length = text.floor_char_boundary(Self::MOST);
        let kept = text.as_bytes().iter().take(length);
        for (byte, kept) in bytes.iter_mut().zip(kept) {
            *byte = *kept;
        }
        Self {
            bytes,
            length: u8::try_from(length).unwrap_or(0),
        }
    }

    fn as_str(&self) -> &str {
        let kept = self.bytes.get(..usize::from(self.length));
        kept.and_then(|kept| core::str::from_utf8(kept).ok())
            .unwrap_or("")
    }
}

impl ParsePolicyError {
    pub(super) fn new(expected: &'static str, found: &str) -> Self {
        Self(Problem::Unexpected {
            expected,
            found: Excerpt::of(found),
        })
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
            Problem::Unexpected { expected, found } => {
                write!(
                    f,
                    "{:?} where a policy has {expected} (B18)",
                    found.as_str()
                )
            }
            Problem::Schedule(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParsePolicyError {}
