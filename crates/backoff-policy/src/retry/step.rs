use super::GiveUp;
use crate::{Class, Hint};
use core::time::Duration;

/// A failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it means for the next one.
    pub class: Class,
    /// What the server said of when to come back.
    pub hint: Option<Hint>,
    /// How long it had worked before: zero where it never did, however long it took to fail (B8).
    pub healthy_for: Duration,
}

impl From<Class> for Failure {
    fn from(class: Class) -> Self {
        Self {
            class,
            hint: None,
            healthy_for: Duration::ZERO,
        }
    }
}

impl Failure {
    /// With what the server said.
    #[must_use]
    pub const fn hinted(self, hint: Option<Hint>) -> Self {
        Self { hint, ..self }
    }

    /// After it had worked for so long.
    #[must_use]
    pub const fn after_health(self, healthy_for: Duration) -> Self {
        Self {
            healthy_for,
            ..self
        }
    }
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// Wait, and try again.
    Retry(Wait),
    /// Stop.
    GiveUp(GiveUp),
}

/// Before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How long.
    pub delay: Duration,
    /// Until when, by the clock that said when the attempt failed.
    pub at: Duration,
    /// The number of the attempt that follows, the first being 1.
    pub attempt: u32,
}
