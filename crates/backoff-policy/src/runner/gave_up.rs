use crate::{Failure, GiveUp, Wait};
use core::error::Error;
use core::fmt;

/// An operation that did not succeed: the end, and the error of the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GaveUp<E> {
    /// Why it ended, after how many attempts and how long.
    pub end: GiveUp,
    /// What the last attempt said. `None` where it took longer than an attempt may, and where the
    /// budget refused the first.
    pub error: Option<E>,
}

impl<E> GaveUp<E> {
    pub(super) const fn new(end: GiveUp, error: Option<E>) -> Self {
        Self { end, error }
    }
}

impl<E> fmt::Display for GaveUp<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.end.fmt(f) // the error is the source
    }
}

impl<E: Error + 'static> Error for GaveUp<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.as_ref().map(|error| error as _)
    }
}

/// What happened to an operation, as an observer hears it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'e, E> {
    /// An attempt failed, and another follows after a wait.
    Retrying {
        /// What it said; `None` where it took longer than an attempt may.
        error: Option<&'e E>,
        /// What that means.
        failure: Failure,
        /// Until the next one.
        wait: Wait,
    },
    /// An attempt succeeded: this many were made.
    Succeeded {
        /// The successful one included.
        attempts: u32,
    },
    /// It was given up.
    GaveUp {
        /// As in [`GaveUp`].
        error: Option<&'e E>,
        /// As in [`GaveUp`].
        end: GiveUp,
    },
}

impl<E> Clone for Event<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Event<'_, E> {}
